// Heads of sessions and messages for the tests of stores, with the values that matter to nobody filled
// in.

import { deliveryTo, FakeSubscriber, type MessageOptions, messageOn } from '#core/session-fixture';
import type { Delivery } from '#core/delivery';
import type { Message } from '#core/message';
import type { SessionHead, SessionStore } from '#core/store-port';

export function headOf(clientId: string, more: Partial<SessionHead> = {}): SessionHead {
  return {
    clientId,
    username: undefined,
    provenUsername: undefined,
    mountpoint: '',
    zone: 'external',
    createdAtMs: 1_700_000_000_000,
    expirySeconds: 100,
    leftAtMs: undefined,
    sentSeq: 0,
    ...more,
  };
}

export function delivery(options: Partial<Delivery> = {}): Delivery {
  return deliveryTo(new FakeSubscriber('s'), { qos: 2, ...options });
}

export function ownMessage(payload: string, options: MessageOptions = {}): Message {
  return messageOn('t', { qos: 1, payload, ...options });
}

/** A message that several sessions are going to hold. */
export function sharedMessage(payload: string, options: MessageOptions = {}): Message {
  const message = ownMessage(payload, options);
  message.isShared = true;
  return message;
}

/** The payloads of all that is flushed for a session; `released` for one that the client has. */
export function payloadsOf(session: SessionStore): string[] {
  return session
    .read(0, 2 ** 48 - 2, Number.POSITIVE_INFINITY)
    .map(({ message }) => message?.payload.toString() ?? 'released');
}
