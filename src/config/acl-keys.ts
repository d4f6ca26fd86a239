// acl_*: the file of access rules, and how long their decisions are remembered.

import { type KeysOf, key, optionalKey } from './key.ts';
import type { AclSettings } from './settings.ts';
import { durationMs, existingFile, flag, int } from './value-type.ts';

export const aclKeys: KeysOf<AclSettings> = {
  file: optionalKey('acl_file', existingFile, {
    shipped: 'etc/acl.conf',
    text:
      'The file of access rules; the first that matches a publish or subscribe decides. A file that ' +
      'cannot be read stops the start. "broker_ctl acl reload" reads it anew. Without a line there ' +
      'are no rules, and acl_nomatch decides.',
  }),
  isCached: key('enable_acl_cache', flag, 'on', {
    shipped: 'on',
    text: 'Whether decisions about a client are remembered while it is connected.',
  }),
  cacheMax: key('acl_cache_max_size', int(1, 1_000_000), '32', {
    shipped: '32',
    text: 'Most decisions that are remembered for each client. The oldest goes first.',
  }),
  cacheTtlMs: key('acl_cache_ttl', durationMs(1), '1m', {
    shipped: '1m',
    text: 'How long a decision is remembered.',
  }),
  isRechecked: key('acl.recheck', flag, 'on', {
    shipped: 'on',
    text:
      'Whether rules that are read anew hold for what is there already: subscriptions that are no ' +
      'longer allowed end, what waits for them is dropped, and retained messages of clients that may ' +
      'no longer publish them are not handed out. Off: they hold for what comes from then on.',
  }),
};
