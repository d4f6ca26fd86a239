// The folder to copy for a plugin of your own: each of the things that a plugin can have, once, small.

import { definePlugin, type PluginDefinition } from '#sdk';
import { keys, readSettings, type TemplateSettings } from './config.ts';
import type { TemplateService } from './control.ts';

const plugin: PluginDefinition = definePlugin<TemplateSettings, TemplateService>({
  name: 'broker_plugin_template',
  description: 'Broker Plugin Template: a folder to copy',
  config: { keys: [keys], read: readSettings },
  metrics: { 'template.hooks': 'Calls of hooks that the template has seen.' },
  worker: () => import('./worker.ts'),
  control: () => import('./control.ts'),
  operations: () => import('./operations.ts'),
});

export default plugin;
