// What the plugin is: its name, which is that of the folder, its keys, metrics and parts.

import { definePlugin, type PluginDefinition } from '#sdk';
import { keys, readSettings, type TemplateSettings } from './config.ts';
import type { TemplateService } from './control.ts';

const plugin: PluginDefinition = definePlugin<TemplateSettings, TemplateService>({
  name: 'broker_plugin_template',
  description: 'Template: one of everything that a plugin can have',
  config: { keys: [keys], read: readSettings },
  metrics: {
    'template.seen': 'Clients that came.',
    'template.hooks': 'Calls of hooks.',
  },
  worker: () => import('./worker.ts'),
  control: () => import('./control.ts'),
  operations: () => import('./operations.ts'),
});

export default plugin;
