// Authentication by JSON Web Tokens, and access control by what they say.

import { definePlugin, type PluginDefinition } from '#sdk';
import { config, type Settings } from './config.ts';

const plugin: PluginDefinition = definePlugin<Settings>({
  name: 'broker_auth_jwt',
  description: 'Broker Authentication/ACL with JWT',
  type: 'auth',
  config,
  check: () => import('./check.ts'),
  metrics: {
    'auth.jwt.success': 'Clients that showed a good token.',
    'auth.jwt.failure': 'Clients that were refused for their token.',
    'auth.jwt.ignore': 'Clients that showed no token and were left to others.',
    'auth.jwt.jwks.fetched': "Times that the issuer's key set was fetched.",
    'auth.jwt.jwks.failed': "Times that the issuer's key set could not be fetched or read.",
    'acl.jwt.allow': 'Requests that a token allows.',
    'acl.jwt.deny': 'Requests that a token with topics does not allow.',
    'acl.jwt.ignore': 'Requests of clients whose token says nothing about topics.',
  },
  worker: () => import('./worker.ts'),
  control: () => import('./control.ts'),
});

export default plugin;
