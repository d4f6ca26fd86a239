// Whether a client may publish to a topic or subscribe to a filter: superusers may, zones without
// access control let everybody, else the `client.check_acl` hook decides, and `acl_nomatch` when
// nobody does.

import type { Channel } from './channel.ts';

export function askAccess(
  channel: Channel,
  action: 'publish' | 'subscribe',
  topic: string,
): boolean | Promise<boolean> {
  const { zone, core, publisher } = channel;
  if (!zone.enableAcl || publisher.isSuperuser) return true;
  const otherwise = zone.aclNomatch === 'allow';
  const answer = core.hooks.ask('client.check_acl', 'deny', publisher, action, topic);
  if (answer instanceof Promise) {
    return answer.then((late) => (late === 'ignore' ? otherwise : late === 'allow'));
  }
  return answer === 'ignore' ? otherwise : answer === 'allow';
}
