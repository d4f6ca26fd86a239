// A PUBLISH from a client: from the frame in the read buffer to the acknowledgement. The stages
// stand below in the order in which things happen. Each publish is offered to express-lane.ts first,
// which takes QoS 0 ones that nothing but subscribers waits for. Law: the acknowledgement is written
// after the message was accepted for everybody it concerns, never before.

import { isUtf8 } from 'node:buffer';
import type { Properties, QoS } from '#wire/packet';
import { readProperties } from '#wire/properties';
import { ProtocolError } from '#wire/protocol-error';
import { type PublishParts, publishParts, scanPublish } from '#wire/publish-scan';
import { Reason } from '#wire/reason-codes';
import { levelCount, topicNameFault } from '#topics/topic';
import type { ZoneSettings } from '#config/settings';
import type { MessageRefusal } from '#hooks/table';
import { askAccess } from './access.ts';
import { InboundAliases } from './aliases.ts';
import type { Channel } from './channel.ts';
import { isOverlong } from './express-lane.ts';
import { Message } from './message.ts';
import { Metric } from './metrics.ts';
import type { Wait } from './ports.ts';
import type { Route } from './router.ts';
import type { Session } from './session.ts';
import { runStages, type Stage, type Staged } from './stages.ts';
import { routeOfTopic } from './topic-route.ts';
import { unpromised } from './wait.ts';

/** A publish under way. */
class Inbound implements Staged {
  readonly channel: Channel;
  readonly session: Session;
  readonly packetId: number;
  /** Of the packet: a hook may change the message's, the client is answered as it asked. */
  readonly qos: QoS;
  /** As the client wrote it, without mountpoint: what access control is asked about. */
  readonly topic: string;
  message: Message;
  route: Route;
  /** The client says that it may have sent it before. */
  readonly isDuplicate: boolean;
  #isSettled = false;

  constructor(
    channel: Channel,
    packetId: number,
    topic: string,
    message: Message,
    route: Route,
    isDuplicate: boolean,
  ) {
    this.channel = channel;
    this.isDuplicate = isDuplicate;
    this.session = channel.session as Session;
    this.packetId = packetId;
    this.topic = topic;
    this.qos = message.qos;
    this.message = message;
    this.route = route;
  }

  get isDone(): boolean {
    return this.#isSettled || this.channel.isClosed;
  }

  settle(): void {
    this.#isSettled = true;
  }

  keep(): void {
    this.message.own();
  }
}

/**
 * An inbound PUBLISH, in the order things happen to it. Add a stage here or nowhere.
 * NOTE: `isOrdinary` passes all but the last one by; a new stage has to be asked about there too.
 */
const publishStages: readonly Stage<Inbound>[] = [
  tellReceived,
  checkLimits,
  paceClient,
  recogniseDuplicate,
  checkPayloadFormat,
  askRights,
  askHooks,
  routeAndAcknowledge,
];

const parts: PublishParts = publishParts();
const dupBit = 8;

export function onPublish(
  channel: Channel,
  bytes: Buffer,
  start: number,
  body: number,
  end: number,
): Wait {
  const { express, metrics } = channel.core;
  if (express.take(channel, bytes, start, body, end)) return undefined;
  express.flush();
  const header = bytes[start] as number;
  scanPublish(parts, header, bytes, body, end, channel.isV5);
  metrics.add(Metric.qos0Received + ((header >> 1) & 3));
  channel.receivedMessages++;
  const properties = publishProperties(bytes);
  const named = resolveTopic(channel, bytes, properties?.topicAlias);
  const route = channel.mountpoint === '' ? named : mountedRoute(channel, named.topic);
  const message = messageOf(channel, route.topic, properties, bytes, start, header, end);
  const { packetId } = parts;
  if (!isOrdinary(channel, message, route)) {
    const isDuplicate = (header & dupBit) !== 0;
    const inbound = new Inbound(channel, packetId, named.topic, message, route, isDuplicate);
    return runStages(publishStages, inbound);
  }
  const { publishing } = channel.core;
  const copies = publishing.accept(message, route);
  channel.acknowledge('puback', packetId, codeFor(copies), publishing.wait);
  return undefined;
}

/** A QoS 1 publish for which every stage but the last would find nothing to do: the usual one. */
function isOrdinary(channel: Channel, { qos, properties }: Message, route: Route): boolean {
  return (
    qos === 1 &&
    !route.isSystem &&
    properties === undefined &&
    channel.isUnchecked &&
    channel.core.express.isOpen &&
    (!channel.isControlled || channel.mayPublish(route))
  );
}

/** What `parts` found, as a message that still lies in the read buffer. */
function messageOf(
  channel: Channel,
  topic: string,
  properties: Properties | undefined,
  bytes: Buffer,
  start: number,
  header: number,
  end: number,
): Message {
  const { topicStart, topicEnd, packetId, payloadStart } = parts;
  const isAliased = properties?.topicAlias !== undefined;
  if (isAliased) delete properties.topicAlias;
  return Message.borrowed(
    topic,
    header,
    properties,
    channel.publisher,
    channel.core.timers.nowMs,
    bytes,
    start,
    packetId === 0 ? 0 : topicEnd,
    payloadStart,
    end,
    channel.isV5,
    !isAliased &&
      channel.mountpoint === '' &&
      !isOverlong(topicStart - 2 - start, end - topicStart + 2),
  );
}

function mountedRoute({ mountpoint, core }: Channel, topic: string): Route {
  return core.router.routeTo(mounted(mountpoint, topic));
}

/** A name that was short enough may not be so under its mountpoint. */
function mounted(mountpoint: string, topic: string): string {
  const fault = topicNameFault(mountpoint + topic);
  if (fault !== undefined) throw new ProtocolError(Reason.topicNameInvalid, fault);
  return mountpoint + topic;
}

function publishProperties(bytes: Buffer): Properties | undefined {
  const { propertiesStart, propertiesEnd } = parts;
  if (propertiesStart === propertiesEnd) return undefined;
  const properties = readProperties(bytes, propertiesStart, propertiesEnd, 'publish');
  if (properties.subscriptionIds !== undefined) {
    // [MQTT-3.3.4-6]
    throw new ProtocolError(Reason.protocolError, 'Cannot accept a subscription id from a client');
  }
  const { responseTopic } = properties;
  const fault = responseTopic === undefined ? undefined : topicNameFault(responseTopic);
  if (fault !== undefined) {
    // [MQTT-3.3.2-14]
    throw new ProtocolError(Reason.protocolError, `Cannot accept the response topic: ${fault}`);
  }
  return properties;
}

function resolveTopic(channel: Channel, bytes: Buffer, alias: number | undefined): Route {
  const { topicStart, topicEnd } = parts;
  const { router } = channel.core;
  if (topicStart === topicEnd) {
    if (alias === undefined || channel.inboundAliases === null) {
      throw new ProtocolError(Reason.protocolError, 'Cannot publish to an empty topic'); // [MQTT-4.7.3-1]
    }
    return router.refresh(channel.inboundAliases.get(alias));
  }
  const route = routeOfTopic(router, channel, bytes, topicStart, topicEnd);
  if (alias !== undefined) {
    channel.inboundAliases ??= new InboundAliases(channel.zone.maxTopicAlias);
    channel.inboundAliases.set(alias, route);
  }
  return route;
}

function tellReceived({ channel, session, message, packetId }: Inbound): undefined {
  const { hooks } = channel.core;
  if (hooks.lists['message.received'] === null) return;
  const isRepeated = message.qos === 2 && session.awaitingRel.has(packetId);
  hooks.tell('message.received', message.own(), isRepeated);
}

/** What a zone forbids whoever publishes. */
export function publishFault(
  zone: ZoneSettings,
  { qos, retain }: Pick<Message, 'qos' | 'retain'>,
  topic: string,
): ProtocolError | undefined {
  if (qos > zone.maxQosAllowed) {
    const text = `Cannot publish with QoS ${qos}: the highest allowed is ${zone.maxQosAllowed}`;
    return new ProtocolError(Reason.qosNotSupported, text); // [MQTT-3.2.2-11]
  }
  if (retain && !zone.retainAvailable) {
    const text = 'Cannot retain the message: retaining is switched off';
    return new ProtocolError(Reason.retainNotSupported, text); // [MQTT-3.2.2-14]
  }
  if (zone.maxTopicLevels > 0 && levelCount(topic) > zone.maxTopicLevels) {
    const text = `Cannot publish to ${levelCount(topic)} levels: the limit is ${zone.maxTopicLevels}`;
    return new ProtocolError(Reason.topicNameInvalid, text);
  }
  return undefined;
}

function checkLimits({ channel, session, message, topic, packetId }: Inbound): undefined {
  const { zone } = channel;
  const fault = publishFault(zone, message, topic);
  if (fault !== undefined) throw fault;
  if (channel.isV5 && message.qos > 0 && zone.receiveMaximum !== undefined) {
    const isRepeated = message.qos === 2 && session.awaitingRel.has(packetId);
    const underWay = session.awaitingRel.size + channel.unacknowledgedQos1;
    if (!isRepeated && underWay >= zone.receiveMaximum) {
      const text = `Cannot take more publishes in flight: the limit is ${zone.receiveMaximum}`;
      throw new ProtocolError(Reason.receiveMaximumExceeded, text); // [MQTT-3.3.4-7]
    }
  }
}

/** The longest that a timer can wait. */
const waitMsMax = 2 ** 31 - 1;

/** `publish_limit`: over it the client waits, and so does everything behind this message. */
function paceClient({ channel }: Inbound): Wait {
  const { pace, core } = channel;
  if (pace === undefined) return undefined;
  const waitMs = pace.take(1, core.clock.monotonicMs());
  if (waitMs === 0) return undefined;
  return new Promise((resolve) => void core.clock.setTimer(Math.min(waitMs, waitMsMax), resolve));
}

/** A QoS 2 message that is already here is confirmed again, not routed again [MQTT-4.3.3-10]. */
function recogniseDuplicate(inbound: Inbound): undefined {
  const { channel, session, message, packetId } = inbound;
  if (message.qos < 2) return;
  if (session.awaitingRel.has(packetId)) {
    const wait = session.awaitingRel.waitOf(packetId);
    channel.acknowledge('pubrec', packetId, Reason.success, wait);
    inbound.settle();
  } else if (session.awaitingRel.isFull) {
    channel.core.metrics.add(Metric.qos2Dropped);
    const text = `Cannot take more QoS 2 messages: ${session.awaitingRel.size} await their PUBREL`;
    // Before MQTT 5 no PUBREC can say no, and one that says yes would be a lie.
    if (!channel.isV5) throw new ProtocolError(Reason.quotaExceeded, text);
    refuse(inbound, Reason.quotaExceeded, text);
  }
}

/** Text that claims to be UTF-8 has to be. */
function checkPayloadFormat(inbound: Inbound): undefined {
  const { message } = inbound;
  if (message.properties?.payloadFormat !== 1 || isUtf8(message.payload)) return;
  const text = 'Cannot accept the payload: it is declared as UTF-8 and is not';
  if (message.qos === 0) throw new ProtocolError(Reason.payloadFormatInvalid, text);
  refuse(inbound, Reason.payloadFormatInvalid, text);
}

function askRights(inbound: Inbound): Wait {
  const { channel, topic } = inbound;
  const allowed = askAccess(channel, 'publish', topic);
  if (allowed === true) return undefined;
  if (allowed === false) return deny(inbound);
  return allowed.then((late) => (late ? undefined : deny(inbound)));
}

function deny(inbound: Inbound): undefined {
  const { channel, topic, message } = inbound;
  const text = `Cannot publish to "${topic}": not authorized`;
  channel.core.log.info('publish.denied', { clientId: message.clientId, topic });
  if (channel.zone.aclDenyAction === 'disconnect') {
    throw new ProtocolError(Reason.notAuthorized, text);
  }
  refuse(inbound, Reason.notAuthorized, text);
}

function askHooks(inbound: Inbound): Wait {
  const { publishing, router, hooks } = inbound.channel.core;
  if (hooks.lists['message.publish'] === null) return undefined;
  const refusals: MessageRefusal[] = [];
  const take = (asked: Message | undefined): void => {
    const [refusal] = refusals;
    if (refusal !== undefined) {
      refuseAsAsked(inbound, refusal);
    } else if (asked === undefined) {
      acknowledge(inbound, Reason.success, undefined);
      inbound.settle();
    } else if (asked !== inbound.message) {
      inbound.message = asked;
      inbound.route = router.routeTo(asked.topic);
    }
  };
  const asked = publishing.ask(inbound.message, (refusal) => refusals.push(refusal));
  if (asked instanceof Promise) return asked.then(take);
  take(asked);
  return undefined;
}

function refuseAsAsked(inbound: Inbound, { refuse: code, text, isFault }: MessageRefusal): void {
  const { channel, qos } = inbound;
  // Before MQTT 5 no PUBACK can say no, and one that says yes would be a lie.
  if (isFault === true && qos > 0 && !channel.isV5) throw new ProtocolError(code, text);
  refuse(inbound, code, text);
}

function routeAndAcknowledge(inbound: Inbound): undefined {
  const { publishing } = inbound.channel.core;
  if (inbound.qos === 2) namePassage(inbound);
  const copies = publishing.accept(inbound.message, inbound.route);
  acknowledge(inbound, codeFor(copies), publishing.wait);
}

function codeFor(copies: number): number {
  return copies === 0 ? Reason.noMatchingSubscribers : Reason.success;
}

/**
 * Here a message and its packet id reach the disk together; another worker writes the message by
 * itself. So it marks it with this name, by which the message is known when the client repeats it after
 * a crash that left us without the packet id.
 */
function namePassage(inbound: Inbound): void {
  const { channel, session, message, packetId } = inbound;
  const stored = session.journal?.isSync === true ? session.journal.stored : undefined;
  if (stored === undefined) return;
  const { router } = channel.core;
  inbound.route = router.refresh(inbound.route);
  const { peers, groups } = inbound.route;
  const mayBeHad = session.mayRepeat() || inbound.isDuplicate;
  const isCrossing = peers.length > 0 || groups.some(({ mayCross }) => mayCross);
  if (!mayBeHad && !isCrossing) return;
  stored.mayHavePassed = true;
  message.passage = { sessionNo: stored.no, packetId };
  message.mayBeHad = mayBeHad;
}

function acknowledge(inbound: Inbound, code: number, wait: Wait): void {
  const { channel, session, packetId, qos } = inbound;
  if (qos === 0) {
    unpromised(wait);
    return;
  }
  if (qos === 1) {
    channel.acknowledge('puback', packetId, code, wait);
    return;
  }
  const taken = session.take(packetId, wait);
  channel.acknowledge('pubrec', packetId, code, taken);
}

/** Not accepted, and the client is told where its version has a word for it [MQTT-3.4.2-1]. */
function refuse(inbound: Inbound, code: number, text: string): void {
  inbound.settle();
  const { channel, packetId, qos, message } = inbound;
  const { hooks } = channel.core;
  if (hooks.lists['message.refused'] !== null) {
    hooks.tell('message.refused', message.own(), code, text);
  }
  if (qos === 0) return;
  if (!channel.isV5) acknowledge(inbound, Reason.success, undefined);
  else channel.acknowledge(qos === 1 ? 'puback' : 'pubrec', packetId, code, undefined, text);
}
