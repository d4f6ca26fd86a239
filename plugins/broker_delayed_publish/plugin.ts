// Messages that are published later: `$delayed/<n>/<topic>`. What was accepted is on disk before its
// publisher is told so, and is published by this node when it is due, at least once.

import { definePlugin, type PluginDefinition } from '#sdk';
import { type DelayedSettings, keys, readSettings } from './config.ts';
import type { DelayedService } from './control.ts';

const plugin: PluginDefinition = definePlugin<DelayedSettings, DelayedService>({
  name: 'broker_delayed_publish',
  description: 'Broker Delayed Publish: $delayed/<seconds>/<topic>',
  config: { keys: [keys], read: readSettings },
  metrics: {
    'delayed.accepted': 'Messages accepted to be published later.',
    'delayed.published': 'Delayed messages published.',
    'delayed.refused': 'Messages for later that were not accepted, or not when they were due.',
  },
  worker: () => import('./worker.ts'),
  control: () => import('./control.ts'),
  operations: () => import('./operations.ts'),
});

export default plugin;
