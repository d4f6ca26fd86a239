// Rules: SQL over messages and events, and actions with what it selects. The engine itself is part of the
// broker (src/rules); here it is put to work.

import { definePlugin, type PluginDefinition } from '#sdk';
import { keys, readSettings, type RuleEngineSettings } from './config.ts';
import type { RuleEngineService } from './control.ts';

const plugin: PluginDefinition = definePlugin<RuleEngineSettings, RuleEngineService>({
  name: 'broker_rule_engine',
  description: 'Broker Rule Engine',
  config: { keys: [keys], read: readSettings },
  metrics: {
    'rules.matched': 'Events that a rule has matched, once for each rule.',
    'actions.success': 'Actions of rules that succeeded.',
    'actions.failure': 'Actions of rules that failed.',
  },
  gauges: {
    rules: 'Rules.',
    actions: 'Actions of rules, those that run when others fail included.',
    resources: 'Resources of rules.',
  },
  worker: () => import('./worker.ts'),
  control: () => import('./control.ts'),
  operations: () => import('./operations.ts'),
});

export default plugin;
