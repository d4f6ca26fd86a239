// Authentication by the client id: clients that the broker itself keeps with their passwords.

import {
  type CredentialSettings,
  type CredentialTable,
  definePlugin,
  type PluginDefinition,
  readCredentials,
} from '#sdk';
import { clientKeys } from './config.ts';

const plugin: PluginDefinition = definePlugin<CredentialSettings, CredentialTable>({
  name: 'broker_auth_clientid',
  description: 'Broker Authentication with ClientId/Password',
  type: 'auth',
  config: { keys: [{ ...clientKeys }], read: (values) => readCredentials(values, clientKeys) },
  metrics: {
    'auth.clientid.success': 'Clients let in by the password of their client id.',
    'auth.clientid.failure': 'Clients refused whose client id has another password.',
    'auth.clientid.ignore': 'Clients whose client id has no password here.',
  },
  worker: () => import('./worker.ts'),
  control: () => import('./control.ts'),
  operations: () => import('./operations.ts'),
});

export default plugin;
