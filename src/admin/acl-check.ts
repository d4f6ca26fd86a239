// Whether somebody may, asked before anybody tries: a client that is there, or one that might connect.
// Law: one that is only supposed has what is said of it and nothing else; whoever leaves out the address
// is not taken for somebody on this machine.

import { filterFault, topicNameFault } from '#topics/topic';
import type { Settings } from '#config/settings';
import type { AccessAction } from '#core/access';
import type { Asker } from '#node/explain-verbs';
import type { WorkersFace } from '#node/node-face';
import {
  accessRow,
  type AccessRow,
  askerOf,
  type AskerWish,
  badTopic,
  clientRow,
  type ClientRow,
  supposedClient,
} from './explain.ts';
import { OperatingError } from './failures.ts';
import { operating } from './operating.ts';

export interface SupposedAccess {
  /** `clientId` alone: a client that is there. */
  readonly wish: AskerWish;
  readonly action: AccessAction;
  readonly topic: string;
}

export type Access = AccessRow & ClientRow;

export interface CheckParts {
  readonly workers: WorkersFace;
  readonly settings: Pick<Settings, 'zones' | 'acl'>;
}

export async function checkAccess(
  { workers, settings }: CheckParts,
  { wish, action, topic }: SupposedAccess,
): Promise<Access> {
  const isPublish = action === 'publish';
  const fault = isPublish ? topicNameFault(topic) : filterFault(topic);
  if (fault !== undefined) throw badTopic(isPublish ? 'publish to' : 'subscribe to', topic, fault);
  const { username, ip, zone } = wish;
  const isSupposed = username !== undefined || ip !== undefined || zone !== undefined;
  const asker: Asker = isSupposed
    ? { client: supposedClient(settings, { ...wish, ip: ip ?? '' }), state: 'supposed' }
    : await operating(askerOf(workers, settings, wish));
  const { client } = asker;
  const args = [client, isSupposed, action, topic] as const;
  const there = isSupposed
    ? undefined
    : await operating(workers.atClient(client.clientId, 'explainAccess', args));
  const found = there ?? (await operating(workers.anywhere('explainAccess', args)));
  return { ...accessRow(settings, found), ...clientRow(asker) };
}

const names = { client: 'clientId', user: 'username', ip: 'ip', zone: 'zone' } as const;
type Name = keyof typeof names;

/**
 * `sensor-1`: a client that is there. `client=sensor-1,user=ann,ip=10.0.0.7,zone=external`, or some of it:
 * one that might connect. A comma counts only where another of these follows it.
 */
export function parseWho(who: string): AskerWish {
  if (!/^(?:client|user|ip|zone)=/.test(who)) return { clientId: who };
  const wish: { -readonly [F in keyof AskerWish]: string } = { zone: 'external' };
  for (const part of who.split(/,(?=(?:client|user|ip|zone)=)/)) {
    const at = part.indexOf('=');
    const name = names[part.slice(0, at) as Name];
    if (name !== 'zone' && wish[name] !== undefined) {
      throw new OperatingError(
        'invalid',
        `Cannot use "${who}": ${part.slice(0, at)} is said twice`,
      );
    }
    wish[name] = part.slice(at + 1);
  }
  return wish;
}
