// The room behind the door of plugins (sdk.ts) where rules are kept: what the control part of the rule engine
// works with. Apart from it because one plugin needs it; `loadRules` of #sdk opens it.

export { RuleEngine } from '#rules/rule-engine';
export { Previews } from '#rules/preview-service';
export { aliveEveryMs, ResourceEngine } from '#rules/resources/resource-engine';
export { sampleMs } from '#rules/rates';
