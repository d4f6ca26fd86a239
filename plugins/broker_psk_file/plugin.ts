// Pre-shared keys of TLS clients from a file. The key is looked up inside the handshake, before MQTT has
// begun: it opens the connection, and says nothing about who may log in over it.

import { definePlugin, type PluginDefinition } from '#sdk';
import { keys, type PskSettings, readSettings } from './config.ts';

const plugin: PluginDefinition = definePlugin<PskSettings>({
  name: 'broker_psk_file',
  description: 'Broker PSK File: pre-shared keys of TLS clients',
  type: 'auth',
  config: { keys: [keys], read: readSettings },
  metrics: {
    'auth.psk_file.success': 'Handshakes whose identity is in the file.',
    'auth.psk_file.ignore': 'Handshakes whose identity is not in the file.',
    'auth.psk_file.skipped_lines': 'Lines passed over when the file was read.',
  },
  check: () => import('./check.ts'),
  worker: () => import('./worker.ts'),
  control: () => import('./control.ts'),
});

export default plugin;
