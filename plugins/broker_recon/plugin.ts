// Looks into the memory and the event loops of all threads of a running node, from the command line.

import { definePlugin, type PluginDefinition } from '#sdk';
import type { Recon } from './control.ts';

const plugin: PluginDefinition = definePlugin<undefined, Recon>({
  name: 'broker_recon',
  description: 'Broker Recon: memory and threads of a running node',
  worker: () => import('./worker.ts'),
  control: () => import('./control.ts'),
  operations: () => import('./operations.ts'),
});

export default plugin;
