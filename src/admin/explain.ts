// Explains a publish or a subscription before it happens: who may, what it becomes, whom it reaches and
// how each of them stands. All workers are asked and their answers put together; nothing is sent.

import type { QoS } from '#wire/packet';
import { filterFault, mountpointFor, topicNameFault } from '#topics/topic';
import type { Settings } from '#config/settings';
import { showPath } from '#config/sources';
import type { ClientInfo } from '#hooks/table';
import type { Receiver } from '#core/foresee';
import type { AccessFound } from '#node/access-found';
import type { Asker, GroupChoice, PublishPlan, SupposedPublish } from '#node/explain-verbs';
import type { WorkersFace } from '#node/node-face';
import { OperatingError } from './failures.ts';

/** Who publishes or subscribes: a client that is there, or one that might connect. */
export interface AskerWish {
  readonly clientId?: string | undefined;
  readonly username?: string | undefined;
  readonly ip?: string | undefined;
  /** Of the one that might connect. */
  readonly zone?: string | undefined;
}

export interface ExplainParts {
  readonly workers: WorkersFace;
  readonly settings: Pick<Settings, 'zones' | 'acl'>;
}

export interface AccessRow {
  readonly allow: boolean;
  /** superuser, off (`enable_acl`), nomatch (`acl_nomatch`), system (`$SYS/`), or the owner of the hook. */
  readonly by: string;
  /** Of a list of rules: the one that decided, and where it stands. */
  readonly rule?: string;
  readonly source?: string;
}

export interface ReceiverRow {
  readonly client_id: string;
  readonly filters: readonly string[];
  readonly group?: string;
  readonly qos: QoS;
  readonly connected: boolean;
  readonly queue: {
    readonly inflight: number;
    readonly window: number;
    readonly queued: number;
    readonly max: number;
    readonly full: boolean;
  };
  readonly would: 'send' | 'queue' | 'drop';
  readonly why?: string;
  readonly drops_oldest?: true;
}

export interface GroupRow {
  readonly group: string;
  readonly filter: string;
  readonly strategy: string;
  readonly members: number;
  /** Who would get it; several: one of them by chance. */
  readonly candidates: readonly ReceiverRow[];
}

export interface PublishExplained {
  readonly client: ClientRow;
  readonly acl: AccessRow;
  readonly topic: string;
  readonly hooks: readonly string[];
  readonly retained: { readonly would: PublishPlan['retained']; readonly why?: string };
  readonly count: number;
  readonly receivers: readonly ReceiverRow[];
  readonly groups: readonly GroupRow[];
  readonly dropped_because?: string;
  /** Workers that did not answer, with the reason. */
  readonly missing?: readonly string[];
}

export interface ClientRow {
  readonly client_id: string;
  readonly username: string | null;
  readonly zone: string;
  readonly mountpoint: string;
  readonly ipaddress: string;
  readonly state: Asker['state'];
}

export interface SubscribeExplained {
  readonly client: ClientRow;
  readonly acl: AccessRow;
  readonly filter: string;
  readonly topic: string;
  readonly group?: string;
  readonly hooks: readonly string[];
  /** Absent: refused. */
  readonly granted?: QoS;
  readonly refused_because?: string;
  readonly replaces: boolean;
  readonly subscriptions: { readonly count: number; readonly max: number };
  readonly retained: { readonly count: number; readonly more: boolean };
}

export async function explainPublish(
  { workers, settings }: ExplainParts,
  wish: AskerWish,
  publish: SupposedPublish,
  rowsMax: number,
): Promise<PublishExplained> {
  const fault = topicNameFault(publish.topic);
  if (fault !== undefined) throw badTopic('publish to', publish.topic, fault);
  const asker = await askerOf(workers, settings, wish);
  const { client } = asker;
  const plan = await atOrAnywhere(workers, client, 'explainPublish', [client, publish]);
  const said = {
    client: clientRow(asker),
    acl: accessRow(settings, plan.access),
    topic: plan.topic,
    hooks: plan.changers,
    retained: {
      would: plan.retained,
      ...(plan.retainedRefusal === undefined ? {} : { why: plan.retainedRefusal }),
    },
  };
  const refusal = plan.refusal ?? (plan.access.isAllowed ? undefined : 'not_authorized');
  if (refusal !== undefined) {
    const retained = { would: 'none' } as const;
    return { ...said, retained, count: 0, receivers: [], groups: [], dropped_because: refusal };
  }
  return {
    ...said,
    ...(await routeOf(workers, client, { ...publish, topic: plan.topic }, plan.groups, rowsMax)),
  };
}

type RouteRows = Pick<
  PublishExplained,
  'count' | 'receivers' | 'groups' | 'dropped_because' | 'missing'
>;

async function routeOf(
  workers: WorkersFace,
  { clientId }: ClientInfo,
  publish: SupposedPublish,
  choices: readonly GroupChoice[],
  rowsMax: number,
): Promise<RouteRows> {
  const args = [clientId, publish, choices, rowsMax] as const;
  const { answers, missing } = await workers.everywhere('explainRoute', args);
  const shares = answers.map(([, share]) => share);
  const count = shares.reduce((sum, share) => sum + share.count, 0);
  const members = shares.flatMap((share) => share.members);
  const receivers = shares.flatMap((share) => share.receivers).slice(0, rowsMax);
  const groups = choices.map(({ group, filter, strategy, members: size }) => ({
    group,
    filter,
    strategy,
    members: size,
    candidates: members
      .filter((one) => one.group === group && one.filters[0] === filter)
      .map((one) => ({ ...receiverRow(one), group })),
  }));
  return {
    count,
    receivers: receivers.map(receiverRow).sort(byClientId),
    groups,
    ...(count + groups.length === 0 ? { dropped_because: 'no_subscribers' } : {}),
    ...(missing.length === 0 ? {} : { missing: missing.map((one) => one.join(': ')) }),
  };
}

export async function explainSubscribe(
  { workers, settings }: ExplainParts,
  wish: AskerWish,
  filter: string,
  qos: QoS,
): Promise<SubscribeExplained> {
  const fault = filterFault(filter);
  if (fault !== undefined) throw badTopic('subscribe to', filter, fault);
  const asker = await askerOf(workers, settings, wish);
  const { client } = asker;
  const plan = await atOrAnywhere(workers, client, 'explainSubscribe', [client, filter, qos]);
  const refusal = plan.refusal ?? (plan.access.isAllowed ? undefined : 'not_authorized');
  return {
    client: clientRow(asker),
    acl: accessRow(settings, plan.access),
    filter: plan.filter,
    topic: plan.routed,
    ...(plan.group === undefined ? {} : { group: plan.group }),
    hooks: plan.changers,
    ...(refusal === undefined ? { granted: plan.qos } : { refused_because: refusal }),
    replaces: !plan.isNew,
    subscriptions: { count: plan.subscriptions, max: plan.subscriptionsMax },
    retained: { count: plan.retained, more: plan.hasMoreRetained },
  };
}

/** Where its session is; anywhere for one that has none. */
async function atOrAnywhere<V extends 'explainPublish' | 'explainSubscribe'>(
  workers: WorkersFace,
  { clientId }: ClientInfo,
  verb: V,
  args: Parameters<typeof workers.anywhere<V>>[1],
): ReturnType<typeof workers.anywhere<V>> {
  return (await workers.atClient(clientId, verb, args)) ?? workers.anywhere(verb, args);
}

export async function askerOf(
  workers: WorkersFace,
  settings: Pick<Settings, 'zones'>,
  wish: AskerWish,
): Promise<Asker> {
  const { clientId, username, ip } = wish;
  if (clientId === undefined && username === undefined && ip === undefined) {
    const text = "missing mandatory params: ['client_id' or 'username' and 'ip']";
    throw new OperatingError('missing', text);
  }
  const known =
    clientId === undefined
      ? undefined
      : await workers.atClient(clientId, 'explainAsker', [clientId]);
  if (known !== undefined) return known;
  if (username === undefined && ip === undefined) {
    const text = `Cannot find client "${clientId}": give username and ip of one that might connect`;
    throw new OperatingError('notOnline', text);
  }
  return { client: supposedClient(settings, wish), state: 'supposed' };
}

/** One that would connect to a listener of that zone. */
export function supposedClient(settings: Pick<Settings, 'zones'>, wish: AskerWish): ClientInfo {
  const { clientId = '', username, ip = '127.0.0.1', zone: zoneName = 'external' } = wish;
  const zone = settings.zones.get(zoneName);
  if (zone === undefined) {
    const names = [...settings.zones.keys()].join(', ');
    throw new OperatingError('invalid', `Cannot use zone = "${zoneName}": there are ${names}`);
  }
  const mountpoint = mountpointFor(zone.mountpoint ?? '', clientId, username);
  if (mountpoint === undefined) {
    const text = `Cannot connect to zone "${zoneName}": its mountpoint forbids this name`;
    throw new OperatingError('invalid', text);
  }
  return {
    clientId,
    username,
    address: ip,
    port: 0,
    zone: zoneName,
    listener: 'mqtt:tcp',
    version: 5,
    protocolName: 'MQTT',
    isBridge: false,
    cleanStart: true,
    keepaliveSeconds: 60,
    mountpoint,
    isSuperuser: false,
    isAnonymous: username === undefined,
    connectedAtMs: 0,
  };
}

export function badTopic(act: string, topic: string, fault: string): OperatingError {
  const shown = topic.length > 100 ? `${topic.slice(0, 100)}…` : topic;
  return new OperatingError('badTopic', `Cannot ${act} "${shown}": ${fault}`);
}

export function clientRow({ client, state }: Asker): ClientRow {
  const { clientId, username, zone, mountpoint, address } = client;
  return {
    client_id: clientId,
    username: username ?? null,
    zone,
    mountpoint,
    ipaddress: address,
    state,
  };
}

export function accessRow(
  { acl }: Pick<Settings, 'acl'>,
  { isAllowed, by, owner, rule }: AccessFound,
): AccessRow {
  const row = { allow: isAllowed, by: owner ?? by };
  if (rule === undefined) return row;
  const file = acl.file === undefined ? '' : showPath(acl.file);
  return { ...row, rule: rule.text, source: `${file}:${rule.line}` };
}

function receiverRow({ clientId, filters, isConnected, queue, fate }: Receiver): ReceiverRow {
  const { inflight, window, queued, max, isFull } = queue;
  return {
    client_id: clientId,
    filters,
    qos: fate.qos,
    connected: isConnected,
    queue: { inflight, window, queued, max, full: isFull },
    would: fate.would,
    ...(fate.why === undefined ? {} : { why: fate.why }),
    ...(fate.dropsOldest ? { drops_oldest: true } : {}),
  };
}

function byClientId(a: ReceiverRow, b: ReceiverRow): number {
  return a.client_id < b.client_id ? -1 : 1;
}
