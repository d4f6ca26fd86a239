// Publishing, subscribing and unsubscribing on behalf of clients, in the worker that is asked. A message
// crosses to the other workers by itself; a session is asked where it is.

import type { Properties, QoS } from '#wire/packet';
import type { Broker } from '#core/broker';
import { Message } from '#core/message';
import type { Session } from '#core/session';
import { type AtSession, subscribeSession, unsubscribeSession } from '#core/at-session';

/** A message that no connection brings. */
export interface PublishOrder {
  readonly topic: string;
  readonly payload: Uint8Array;
  readonly qos: QoS;
  readonly retain: boolean;
  /** Whose message it is said to be; undefined: the node's. */
  readonly clientId: string | undefined;
  readonly properties?: Properties | undefined;
  /** How many rules it has gone through; without a word 0. */
  readonly hops?: number | undefined;
}

/** moving: the session is on its way to another worker; ask again where it is by then. */
export type SessionAnswer = AtSession | 'no_session' | 'moving';

export type MessageVerbs = {
  /**
   * Through hooks and rules, past access control. Resolves, when it is safe to confirm, to the number
   * of copies; rejects when the topic is none or the store does not take it.
   */
  publish: (order: PublishOrder) => Promise<number>;
  subscribe: (clientId: string, filter: string, qos: QoS) => Promise<SessionAnswer>;
  unsubscribe: (clientId: string, filter: string) => Promise<SessionAnswer>;
};

export function messageVerbs({ broker }: { readonly broker: Broker }): MessageVerbs {
  const { core } = broker;
  const atSession = async (
    clientId: string,
    change: (session: Session) => Promise<AtSession>,
  ): Promise<SessionAnswer> => {
    const session = core.sessions.find(clientId);
    if (session === undefined) return 'no_session';
    // Its subscriptions have been told to the other worker: a change would be lost.
    return session.leaving === undefined ? change(session) : 'moving';
  };
  return {
    publish: (order) =>
      broker.publish(messageOf(order, core.settings.node.name, core.clock.nowMs())),
    subscribe: (clientId, filter, qos) =>
      atSession(clientId, (session) => subscribeSession(core, session, filter, qos)),
    unsubscribe: (clientId, filter) =>
      atSession(clientId, (session) => unsubscribeSession(core, session, filter)),
  };
}

function messageOf(order: PublishOrder, nodeName: string, nowMs: number): Message {
  const { topic, payload, qos, retain, clientId = nodeName, properties, hops = 0 } = order;
  const from = { clientId, username: undefined, address: '', port: 0, hops };
  return new Message(topic, asBuffer(payload), qos, retain, withBuffers(properties), from, nowMs);
}

function withBuffers(properties: Properties | undefined): Properties | undefined {
  const { correlationData } = properties ?? {};
  if (correlationData === undefined) return properties;
  return { ...properties, correlationData: asBuffer(correlationData) };
}

/** From another thread a Buffer comes as plain bytes. */
function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
