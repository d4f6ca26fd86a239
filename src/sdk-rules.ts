// The room behind the door of plugins (sdk.ts) where the rule engine is. Apart from it because one plugin
// needs it, and every worker would load it; `loadRules` of #sdk opens it.

export { RuleEngine } from '#rules/rule-engine';
export { PreviewWorker } from '#rules/preview-worker';
export { Previews } from '#rules/preview-service';
export { aliveEveryMs, ResourceEngine } from '#rules/resources/resource-engine';
export { sampleMs } from '#rules/rates';
export { type EventListener, RuleSet } from '#rules/rule-set';
