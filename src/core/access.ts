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

/** off: the zone has no access control; nomatch: nobody decided; system: it is under `$SYS/`; hook: `owner` did. */
export interface AccessReason {
  readonly isAllowed: boolean;
  readonly by: 'superuser' | 'off' | 'nomatch' | 'system' | 'hook';
  readonly owner: string | undefined;
}

export function askAccess(
  channel: Channel,
  action: AccessAction,
  topic: string,
): boolean | Promise<boolean> {
  const { zone, core, publisher } = channel;
  const settled = beforehand(zone, publisher, action, topic);
  if (settled !== undefined) return tellDenied(channel, action, topic, settled.isAllowed);
  const answer = core.hooks.ask('client.check_acl', 'deny', publisher, action, topic);
  if (answer instanceof Promise) return answer.then((late) => settle(channel, action, topic, late));
  return settle(channel, action, topic, answer);
}

function settle(
  channel: Channel,
  action: AccessAction,
  topic: string,
  answer: 'allow' | 'deny' | 'ignore',
): boolean {
  const { zone, core, publisher } = channel;
  const isAllowed =
    answer === 'ignore'
      ? otherwise(zone, publisher, topic, core.settings.broker.sysTopics).isAllowed
      : answer === 'allow';
  return tellDenied(channel, action, topic, isAllowed);
}

function tellDenied(
  { core, publisher }: Channel,
  action: AccessAction,
  topic: string,
  isAllowed: boolean,
): boolean {
  if (!isAllowed) core.hooks.tell('client.denied', publisher, action, topic);
  return isAllowed;
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
  const settled = beforehand(zone, client, action, topic);
  if (settled !== undefined) return settled;
  const { answer, owner } = await hooks.askWho('client.check_acl', 'deny', client, action, topic);
  if (owner === undefined) return otherwise(zone, client, topic, sysTopics);
  return { isAllowed: answer === 'allow', by: 'hook', owner };
}

/** Made once: rights are asked for with every publish of a zone that has access control. */
const reasons = {
  systemDenied: { isAllowed: false, by: 'system', owner: undefined },
  system: { isAllowed: true, by: 'system', owner: undefined },
  off: { isAllowed: true, by: 'off', owner: undefined },
  superuser: { isAllowed: true, by: 'superuser', owner: undefined },
  nomatch: { isAllowed: true, by: 'nomatch', owner: undefined },
  nomatchDenied: { isAllowed: false, by: 'nomatch', owner: undefined },
} as const satisfies Record<string, AccessReason>;

/** Undefined: hooks are asked. */
function beforehand(
  zone: ZoneSettings,
  client: ClientInfo,
  action: AccessAction,
  topic: string,
): AccessReason | undefined {
  if (action === 'publish' && isUnderSystem(client.mountpoint, topic)) return reasons.systemDenied;
  if (!zone.enableAcl) return reasons.off;
  return client.isSuperuser ? reasons.superuser : undefined;
}

/** None of the hooks has decided. */
function otherwise(
  zone: ZoneSettings,
  client: ClientInfo,
  topic: string,
  sysTopics: BrokerSettings['sysTopics'],
): AccessReason {
  if (isUnderSystem(client.mountpoint, topic)) {
    return mayReadSystem(sysTopics, client) ? reasons.system : reasons.systemDenied;
  }
  return zone.aclNomatch === 'allow' ? reasons.nomatch : reasons.nomatchDenied;
}
