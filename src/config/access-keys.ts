// The keys without a prefix: who may come in and do what when nothing else decides. A zone can
// override each. The shipped file is open, as the interface of the platform asks; without a line
// the closed answer holds.

import { type KeysOf, key } from './key.ts';
import type { ZoneSettings } from './settings.ts';
import { oneOf, truth } from './value-type.ts';

export const accessKeys: KeysOf<
  Pick<ZoneSettings, 'allowAnonymous' | 'aclNomatch' | 'aclDenyAction'>
> = {
  allowAnonymous: key('allow_anonymous', truth, 'false', {
    shipped: 'true',
    text: 'Whether a client that no authentication decided about may connect.',
  }),
  aclNomatch: key('acl_nomatch', oneOf('allow', 'deny'), 'deny', {
    shipped: 'allow',
    text: 'What happens to a publish or subscribe that no access rule matches.',
  }),
  aclDenyAction: key('acl_deny_action', oneOf('ignore', 'disconnect'), 'ignore', {
    shipped: 'ignore',
    text:
      'What a client meets that publishes or subscribes without the right to: the request alone ' +
      'is refused, or the connection ends.',
  }),
};
