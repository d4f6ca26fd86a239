// Whether a client may publish to a topic or subscribe to a filter: superusers may, zones without
// access control let everybody, else the `client.check_acl` hook decides, and `acl_nomatch` when
// nobody does. Topics under `$SYS/` have rules of their own, see system-topics.ts. Also the same question
// with the reason for its answer, for whoever wants to know why.

import type { BrokerSettings, ZoneSettings } from '#config/settings';
import type { Hooks } from '#hooks/runner';
import type { AclAnswer, ClientInfo } from '#hooks/table';
import type { Core } from './context.ts';
import { RightsMemory } from './rights.ts';
import { isUnderSystem, mayReadSystem } from './system-topics.ts';

export type AccessAction = 'publish' | 'subscribe';

/** Who asks: a connection. */
export interface Asker {
  readonly core: Core;
  readonly zone: ZoneSettings;
  readonly publisher: ClientInfo;
  rights: RightsMemory | null;
}

/** off: the zone has no access control; nomatch: nobody decided; system: it is under `$SYS/`; hook: `owner` did. */
export interface AccessReason {
  readonly isAllowed: boolean;
  readonly by: 'superuser' | 'off' | 'nomatch' | 'system' | 'hook';
  readonly owner: string | undefined;
}

/** Also tells of a denial. */
export function askAccess(
  asker: Asker,
  action: AccessAction,
  topic: string,
): boolean | Promise<boolean> {
  const answer = decideAccess(asker, action, topic);
  if (typeof answer === 'boolean') return tellDenied(asker, action, topic, answer);
  return answer.then((late) => tellDenied(asker, action, topic, late));
}

/** By memory where there is one, else by asking; what was asked is remembered. */
export function decideAccess(
  asker: Asker,
  action: AccessAction,
  topic: string,
): boolean | Promise<boolean> {
  const { zone, core, publisher } = asker;
  const settled = beforehand(zone, publisher, action, topic);
  if (settled !== undefined) return settled.isAllowed;
  if (core.hooks.lists['client.check_acl'] === null) return settle(asker, topic, 'ignore');
  if (!core.rights.settings.isCached) return ask(asker, action, topic, unwatched);
  const known = asker.rights?.recall(action, topic);
  if (known !== undefined) return known;
  // An answer that nobody could give is asked for again.
  let isFinal = true;
  const answer = ask(asker, action, topic, () => {
    isFinal = false;
  });
  asker.rights ??= new RightsMemory(core.rights);
  asker.rights.remember(action, topic, answer, () => isFinal);
  return answer;
}

const unwatched = (): void => {};

/** unknown: nobody could tell. */
export type Standing = 'allowed' | 'denied' | 'unknown';

/** For what is there already: nothing is remembered, and an answer that nobody could give is told apart. */
export function reconsider(
  asker: Asker,
  action: AccessAction,
  topic: string,
): Standing | Promise<Standing> {
  const settled = beforehand(asker.zone, asker.publisher, action, topic);
  if (settled !== undefined) return settled.isAllowed ? 'allowed' : 'denied';
  let isKnown = true;
  const standing = (isAllowed: boolean): Standing =>
    isAllowed ? 'allowed' : isKnown ? 'denied' : 'unknown';
  const answer = ask(asker, action, topic, () => {
    isKnown = false;
  });
  return typeof answer === 'boolean' ? standing(answer) : answer.then(standing);
}

function ask(
  asker: Asker,
  action: AccessAction,
  topic: string,
  onUnavailable: () => void,
): boolean | Promise<boolean> {
  const { core, publisher } = asker;
  const take = (answer: AclAnswer): boolean => {
    if (answer === 'unavailable') onUnavailable();
    return settle(asker, topic, answer);
  };
  const answer = core.hooks.ask('client.check_acl', 'unavailable', publisher, action, topic);
  return answer instanceof Promise ? answer.then(take) : take(answer);
}

function settle({ zone, core, publisher }: Asker, topic: string, answer: AclAnswer): boolean {
  if (answer !== 'ignore') return answer === 'allow';
  return otherwise(zone, publisher, topic, core.settings.broker.sysTopics).isAllowed;
}

function tellDenied(
  { core, publisher }: Asker,
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
  const { answer, owner } = await hooks.askWho(
    'client.check_acl',
    'unavailable',
    client,
    action,
    topic,
  );
  if (owner === undefined) return otherwise(zone, client, topic, sysTopics);
  return { isAllowed: answer === 'allow', by: 'hook', owner };
}

/** The same for a hook that is asked about one topic and wants to know about another. Nothing is remembered. */
export async function judgeAccess(
  { hooks, settings }: Core,
  client: ClientInfo,
  action: AccessAction,
  topic: string,
): Promise<'allow' | 'deny' | 'unavailable'> {
  const zone = settings.zones.get(client.zone);
  if (zone === undefined) return 'deny';
  const settled = beforehand(zone, client, action, topic);
  if (settled !== undefined) return settled.isAllowed ? 'allow' : 'deny';
  const answer = await hooks.ask('client.check_acl', 'unavailable', client, action, topic);
  if (answer !== 'ignore') return answer;
  const { isAllowed } = otherwise(zone, client, topic, settings.broker.sysTopics);
  return isAllowed ? 'allow' : 'deny';
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
export function beforehand(
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
export function otherwise(
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
