// Authentication and access control by a web service: it is asked for every connect, and for rights.

import { definePlugin, type PluginDefinition } from '#sdk';
import { configKeys, type HttpAuthSettings, readSettings } from './config.ts';

const plugin: PluginDefinition = definePlugin<HttpAuthSettings>({
  name: 'broker_auth_http',
  description: 'Broker Authentication/ACL with HTTP API',
  type: 'auth',
  config: { keys: configKeys, read: readSettings },
  metrics: {
    'auth.http.success': 'Clients that the HTTP service let in.',
    'auth.http.failure': 'Clients refused by the HTTP service, or because it did not answer.',
    'auth.http.ignore': 'Clients that the HTTP service left to others.',
    'acl.http.allow': 'Publishes and subscriptions that the HTTP service allowed.',
    'acl.http.deny':
      'Publishes and subscriptions denied by the HTTP service, or because it did not answer.',
    'acl.http.ignore': 'Publishes and subscriptions that the HTTP service left to others.',
  },
  worker: () => import('./worker.ts'),
  control: () => import('./control.ts'),
});

export default plugin;
