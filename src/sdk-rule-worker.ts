// The room behind the door of plugins (sdk.ts) where rules run: what the worker part of the rule engine works
// with. Apart from it, and from where rules are kept, because every worker would load it; `loadRuleWorker` of
// #sdk opens it.

export { PreviewWorker } from '#rules/preview-worker';
export { RuleSet } from '#rules/rule-set';
