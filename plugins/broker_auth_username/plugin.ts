// Authentication by the username: users that the broker itself keeps with their passwords, for CONNECT and
// for SCRAM-SHA-256 of MQTT 5.

import { type CredentialTable, definePlugin, type PluginDefinition } from '#sdk';
import { readUsers, userKeys, type UsernameSettings } from './config.ts';

const plugin: PluginDefinition = definePlugin<UsernameSettings, CredentialTable>({
  name: 'broker_auth_username',
  description: 'Broker Authentication with Username/Password',
  type: 'auth',
  config: { keys: userKeys, read: readUsers },
  metrics: {
    'auth.username.success': 'Clients let in by the password of their username.',
    'auth.username.failure': 'Clients refused whose username has another password.',
    'auth.username.ignore': 'Clients whose username is not known here.',
  },
  worker: () => import('./worker.ts'),
  control: () => import('./control.ts'),
  operations: () => import('./operations.ts'),
});

export default plugin;
