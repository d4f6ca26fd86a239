// Takes up changed code of running plugins by itself, while somebody develops them.

import { definePlugin, type PluginDefinition } from '#sdk';
import { keys, type ReloaderSettings, readSettings } from './config.ts';
import type { Reloader } from './control.ts';

const plugin: PluginDefinition = definePlugin<ReloaderSettings, Reloader>({
  name: 'broker_reloader',
  description: 'Broker Reloader: takes up changed code of plugins',
  config: { keys: [keys], read: readSettings },
  control: () => import('./control.ts'),
  operations: () => import('./operations.ts'),
});

export default plugin;
