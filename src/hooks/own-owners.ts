// Under which names the broker's own parts listen to hooks. Law: no plugin has one of them, because
// everything of an owner is replaced and revoked together: the access rules with a plugin of their name.

export const ownOwners: readonly string[] = [
  'acl_internal',
  'bans',
  'flapping',
  'presence',
  'rewrite',
  'subscription',
  'tracer',
];
