// Whether a client may publish to a topic or subscribe to a filter: superusers may, zones without
// access control let everybody, else the `client.check_acl` hook decides, and `acl_nomatch` when
// nobody does. Topics under `$SYS/` have rules of their own, see system-topics.ts. Also the same question
// with the reason for its answer, for whoever wants to know why.

import type { BrokerSettings, ZoneSettings } from '#config/settings';
import type { Hooks } from '#hooks/runner';
import type { ClientInfo } from '#hooks/table';
import type { Channel } from './channel.ts';
import { isUnderSystem, mayReadSystem } from './system-topics.ts';

export type AccessAction = 'publish' | 'subscribe';

export function askAccess(
  channel: Channel,
  action: AccessAction,
  topic: string,
): boolean | Promise<boolean> {
  const { zone, core, publisher, mountpoint } = channel;
  const { hooks, settings } = core;
  const isOfSystem = isUnderSystem(mountpoint, topic);
  if (isOfSystem && action === 'publish') {
    hooks.tell('client.denied', publisher, action, topic);
    return false;
  }
  if (!zone.enableAcl || publisher.isSuperuser) return true;
  const otherwise = isOfSystem
    ? mayReadSystem(settings.broker.sysTopics, publisher)
    : zone.aclNomatch === 'allow';
  const settle = (answer: 'allow' | 'deny' | 'ignore'): boolean => {
    const isAllowed = answer === 'ignore' ? otherwise : answer === 'allow';
    if (!isAllowed) hooks.tell('client.denied', publisher, action, topic);
    return isAllowed;
  };
  const answer = hooks.ask('client.check_acl', 'deny', publisher, action, topic);
  return answer instanceof Promise ? answer.then(settle) : settle(answer);
}

/** off: the zone has no access control; nomatch: nobody decided; system: it is under `$SYS/`; hook: `owner` did. */
export interface AccessReason {
  readonly isAllowed: boolean;
  readonly by: 'superuser' | 'off' | 'nomatch' | 'system' | 'hook';
  readonly owner: string | undefined;
}

/** What `askAccess` would answer, and why. Nobody is told of a denial. */
export async function explainAccess(
  hooks: Hooks,
  zone: ZoneSettings,
  client: ClientInfo,
  action: AccessAction,
  topic: string,
  sysTopics: BrokerSettings['sysTopics'],
): Promise<AccessReason> {
  const owner = undefined;
  const isOfSystem = isUnderSystem(client.mountpoint, topic);
  if (isOfSystem && action === 'publish') return { isAllowed: false, by: 'system', owner };
  if (!zone.enableAcl) return { isAllowed: true, by: 'off', owner };
  if (client.isSuperuser) return { isAllowed: true, by: 'superuser', owner };
  const decided = await hooks.askWho('client.check_acl', 'deny', client, action, topic);
  if (decided.owner === undefined) {
    if (isOfSystem) return { isAllowed: mayReadSystem(sysTopics, client), by: 'system', owner };
    return { isAllowed: zone.aclNomatch === 'allow', by: 'nomatch', owner };
  }
  return { isAllowed: decided.answer === 'allow', by: 'hook', owner: decided.owner };
}
