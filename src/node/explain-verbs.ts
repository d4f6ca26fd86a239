// What a worker knows of a publish or a subscription that somebody only asks about. Law: nothing is
// sent, stored, counted or told; access hooks are asked, because nobody else knows their answer, and
// no other hook is.

import type { QoS } from '#wire/packet';
import { Reason, reasonText } from '#wire/reason-codes';
import { parseFilter, topicNameFault } from '#topics/topic';
import type { ZoneSettings } from '#config/settings';
import type { ClientInfo } from '#hooks/table';
import type { Broker } from '#core/broker';
import { groupsOf } from '#core/filter-node';
import { foresee, foreseeMember, matchesOf, type Receiver } from '#core/foresee';
import { Message } from '#core/message';
import { publishFault } from '#core/on-publish';
import type { Session } from '#core/session';
import { filterRefusal, isOverQuota, subscriptionOf } from '#core/subscribing';
import { Rewriter } from '#modules/rewrite';
import { type AccessFound, accessFound, type AccessPlace, knownClient } from './access-found.ts';

/** A client that would publish or subscribe. */
export interface Asker {
  readonly client: ClientInfo;
  /** connected; its session alone is here; or supposed: nobody of that name is. */
  readonly state: 'connected' | 'session' | 'supposed';
}

export interface SupposedPublish {
  /** As the client writes it. */
  readonly topic: string;
  readonly qos: QoS;
  readonly retain: boolean;
  readonly payloadBytes: number;
}

/** A shared subscription, and who would be chosen: one, or several of whom chance takes one. */
export interface GroupChoice {
  readonly group: string;
  readonly filter: string;
  readonly strategy: string;
  readonly members: number;
  readonly clientIds: readonly string[];
}

export interface PublishPlan {
  /** With mountpoint, as module.rewrite leaves it: where it goes. */
  readonly topic: string;
  readonly access: AccessFound;
  /** Why it is refused before anybody is asked. */
  readonly refusal: string | undefined;
  /** Whoever may change or drop it on its way: owners of `message.publish` hooks. */
  readonly changers: readonly string[];
  /** none: it has no retain flag. */
  readonly retained: 'none' | 'kept' | 'removed' | 'refused';
  readonly retainedRefusal: string | undefined;
  readonly groups: readonly GroupChoice[];
}

export interface RouteShare {
  /** Of plain subscribers in this worker; `receivers` are the first of them. */
  readonly count: number;
  readonly receivers: readonly Receiver[];
  readonly members: readonly (Receiver & { readonly group: string })[];
}

export interface SubscribePlan {
  readonly filter: string;
  readonly group: string | undefined;
  /** With mountpoint, as module.rewrite leaves it. */
  readonly routed: string;
  readonly access: AccessFound;
  readonly refusal: string | undefined;
  readonly qos: QoS;
  /** Replaces one that the session has. */
  readonly isNew: boolean;
  readonly subscriptions: number;
  /** 0: no limit. */
  readonly subscriptionsMax: number;
  /** Owners of `client.subscribe` hooks. */
  readonly changers: readonly string[];
  /** Retained messages that would be sent; counted up to a limit. */
  readonly retained: number;
  readonly hasMoreRetained: boolean;
}

export type ExplainVerbs = {
  /** At the client. Undefined: nobody of that name is here. */
  explainAsker: (clientId: string) => Asker | undefined;
  /** At the client, or anywhere: who may, and whom the shared subscriptions would choose. */
  explainPublish: (client: ClientInfo, publish: SupposedPublish) => Promise<PublishPlan>;
  /** Everywhere: who of this worker would get it. */
  explainRoute: (
    from: string,
    publish: SupposedPublish,
    groups: readonly GroupChoice[],
    rowsMax: number,
  ) => RouteShare;
  explainSubscribe: (client: ClientInfo, filter: string, qos: QoS) => Promise<SubscribePlan>;
};

/** Retained messages that are counted, and in one turn. */
const retainedMax = 10_000;
const retainedSlice = 1000;

interface ExplainPlace extends AccessPlace {
  /** By the rules of module.rewrite: a hook that can be asked without consequences. */
  readonly rewriter: Rewriter;
}

export function explainVerbs(given: AccessPlace): ExplainVerbs {
  const { broker } = given;
  const { core } = broker;
  const rewriter = new Rewriter(core.settings.modules.rewriteRules);
  const place: ExplainPlace = { ...given, rewriter };
  return {
    explainAsker: (clientId) => {
      const session = core.sessions.find(clientId);
      if (session === undefined) return undefined;
      const client = session.out.client ?? clientOf(session);
      return { client, state: session.isConnected ? 'connected' : 'session' };
    },
    explainPublish: (client, publish) => publishPlan(place, client, publish),
    explainRoute: (from, publish, groups, rowsMax) => {
      const message = supposedMessage(broker, from, publish);
      const found = matchesOf(core.filters.match(message.topic));
      const members = groups.flatMap(({ group, filter, clientIds }) =>
        clientIds.slice(0, rowsMax).flatMap((clientId) => {
          const choice = { group, filter, clientId };
          const receiver = foreseeMember(core.filters, choice, message);
          return receiver === undefined ? [] : [{ ...receiver, group }];
        }),
      );
      const receivers = found.slice(0, rowsMax).map((match) => foresee(match, message));
      return { count: found.length, receivers, members };
    },
    explainSubscribe: (client, filter, qos) => subscribePlan(place, client, filter, qos),
  };
}

async function publishPlan(
  place: ExplainPlace,
  asker: ClientInfo,
  publish: SupposedPublish,
): Promise<PublishPlan> {
  const { broker } = place;
  const { filters, retained, hooks } = broker.core;
  const client = knownClient(broker, asker);
  const zone = zoneOf(broker, client);
  const mounted = client.mountpoint + publish.topic;
  const fault = topicNameFault(publish.topic) ?? topicNameFault(mounted);
  const topic = fault === undefined ? place.rewriter.topicOf(mounted) : mounted;
  const refusal = fault ?? publishFault(zone, publish, publish.topic)?.message;
  const access = await accessFound(place, client, 'publish', publish.topic);
  const keeping = publish.retain ? retained.refusal(topic, publish.payloadBytes) : undefined;
  const message = supposedMessage(broker, client.clientId, { ...publish, topic });
  return {
    topic,
    access,
    refusal,
    changers: ownersOf(hooks.listeners('message.publish')),
    retained: retentionOf(publish, keeping),
    retainedRefusal: keeping,
    groups: groupsOf(filters.match(topic)).map((group) => ({
      group: group.name,
      filter: group.filter,
      strategy: group.strategy,
      members: group.size,
      clientIds: group.foresee(message).map(({ session }) => session.clientId),
    })),
  };
}

function retentionOf(
  { retain, payloadBytes }: SupposedPublish,
  refusal: string | undefined,
): PublishPlan['retained'] {
  if (!retain) return 'none';
  if (payloadBytes === 0) return 'removed'; // [MQTT-3.3.1-6]
  return refusal === undefined ? 'kept' : 'refused';
}

async function subscribePlan(
  place: ExplainPlace,
  asker: ClientInfo,
  filter: string,
  qos: QoS,
): Promise<SubscribePlan> {
  const { broker } = place;
  const { sessions, hooks } = broker.core;
  const client = knownClient(broker, asker);
  const zone = zoneOf(broker, client);
  const session = sessions.find(client.clientId);
  const wanted = {
    filter: place.rewriter.filterOf(filter, client.mountpoint),
    qos,
    noLocal: false,
    retainAsPublished: false,
    retainHandling: 0,
  } as const;
  const seat = { zone, mountpoint: client.mountpoint, isV5: client.version === 5 };
  const subscription = subscriptionOf(seat, wanted, undefined);
  const code = filterRefusal(zone, filter);
  const isOver =
    code === Reason.success && session !== undefined && isOverQuota(session, wanted.filter);
  const refusal = isOver ? Reason.quotaExceeded : code;
  const access = await accessFound(place, client, 'subscribe', parseFilter(filter).filter);
  const isSent = refusal === Reason.success && access.isAllowed && subscription.group === undefined;
  const retained = isSent ? await countRetained(broker, subscription.routed) : 0;
  return {
    filter: subscription.filter,
    group: subscription.group,
    routed: subscription.routed,
    access,
    refusal: refusal === Reason.success ? undefined : reasonText(refusal, 'suback'),
    qos: subscription.qos,
    isNew: session?.subscriptions.has(subscription.filter) !== true,
    subscriptions: session?.subscriptions.size ?? 0,
    subscriptionsMax: zone.maxSubscriptions,
    changers: ownersOf(hooks.listeners('client.subscribe')),
    retained: Math.min(retained, retainedMax),
    hasMoreRetained: retained > retainedMax,
  };
}

/** A turn of the loop for others before each slice. */
async function countRetained({ core }: Broker, filter: string): Promise<number> {
  let count = 0;
  let from: string | undefined = '';
  while (from !== undefined && count <= retainedMax) {
    await new Promise((resolve) => setImmediate(resolve));
    from = core.retained.slice(filter, from, retainedSlice, () => {
      count++;
      return true;
    });
  }
  return count;
}

function zoneOf(broker: Broker, { zone, clientId }: ClientInfo): ZoneSettings {
  return broker.zoneOf({ zone, clientId });
}

function ownersOf(entries: readonly { readonly owner: string }[] | null): string[] {
  return [...new Set(entries?.map(({ owner }) => owner) ?? [])];
}

/** One that is never published. `topic` with mountpoint. */
function supposedMessage({ core }: Broker, from: string, publish: SupposedPublish): Message {
  const { topic, qos, retain, payloadBytes } = publish;
  const publisher = { clientId: from, username: undefined, address: '', port: 0 };
  const payload = Buffer.alloc(payloadBytes);
  return new Message(topic, payload, qos, retain, undefined, publisher, core.timers.nowMs);
}

/** Of a client that is away: what its session knows of it. */
function clientOf(session: Session): ClientInfo {
  const { clientId, username, mountpoint, zone, provenUsername } = session;
  return {
    clientId,
    username,
    address: '',
    port: 0,
    zone: zone.name,
    listener: '',
    version: 5,
    protocolName: 'MQTT',
    isBridge: false,
    cleanStart: false,
    keepaliveSeconds: 0,
    mountpoint,
    isSuperuser: false,
    isAnonymous: provenUsername === undefined,
    connectedAtMs: 0,
  };
}
