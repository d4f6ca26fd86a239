// Messages as clients bring them and hooks make them, and a sink that writes down what it is given, for
// the tests of the links between workers.

import { encodePublish } from '#wire/encode-publish';
import type { Properties, QoS } from '#wire/packet';
import type { FrameRun } from '#core/delivery';
import { Message, type Passage, type Publisher } from '#core/message';
import type { MemberName } from '#core/peers-port';
import type { Route } from '#core/router';
import type { LinkSink } from './link-reader.ts';

export interface Published {
  readonly topic: string;
  readonly payload: Buffer;
  readonly qos: QoS;
  readonly retain: boolean;
  readonly properties: Properties;
  /** 0: of no client, or changed by a hook; it came in no frame. */
  readonly version: 0 | 4 | 5;
  readonly from: Publisher;
  readonly timestampMs: number;
  readonly id: string | undefined;
  readonly passage: Passage | undefined;
  readonly mayBeHad: boolean;
}

export const sender: Publisher = {
  clientId: 'sender',
  username: undefined,
  address: '127.0.0.1',
  port: 4711,
};

export function published(topic: string, more: Partial<Published> = {}): Published {
  return {
    topic,
    payload: Buffer.from('x'),
    qos: 0,
    retain: false,
    properties: {},
    version: 4,
    from: sender,
    timestampMs: 1,
    id: undefined,
    passage: undefined,
    mayBeHad: false,
    ...more,
  };
}

/** The frame that a client of that version sends. */
export function frameOf(
  { topic, payload, qos, retain, properties }: Published,
  isV5: boolean,
): Buffer {
  const packetId = qos === 0 ? 0 : 77;
  const packet = { type: 'publish', topic, payload, qos, dup: qos > 0, retain, packetId } as const;
  return encodePublish({ ...packet, properties }, isV5 ? 5 : 4);
}

export function messageOf(one: Published): Message {
  const { topic, qos, retain, properties, from, timestampMs } = one;
  const isBare = Object.keys(properties).length === 0;
  const known = isBare ? undefined : properties;
  let message: Message;
  if (one.version === 0) {
    message = new Message(topic, one.payload, qos, retain, known, from, timestampMs);
  } else {
    const frame = frameOf(one, one.version === 5);
    const start = frame.length - one.payload.length;
    const idAt = qos === 0 ? 0 : frame.indexOf(Buffer.from([0, 77]), Buffer.byteLength(topic));
    const header = frame[0] as number;
    message = Message.borrowed(
      topic,
      header,
      known,
      from,
      timestampMs,
      frame,
      0,
      idAt,
      start,
      frame.length,
      one.version === 5,
      true,
    );
  }
  if (one.id !== undefined) message.name(one.id);
  message.passage = one.passage;
  message.mayBeHad = one.mayBeHad;
  return message;
}

/** What can be told of a message that has come over a link. */
export function seenOf(message: Message): Omit<Published, 'version'> & { readonly via: number } {
  return {
    topic: message.topic,
    payload: Buffer.from(message.payload),
    qos: message.qos,
    retain: message.retain,
    properties: message.properties ?? {},
    from: message.from,
    timestampMs: message.timestampMs,
    id: message.givenId,
    passage: message.passage,
    mayBeHad: message.mayBeHad,
    via: message.via,
  };
}

export type Seen =
  | {
      readonly kind: 'run';
      readonly topic: string;
      readonly frames: Buffer;
      readonly count: number;
      readonly isV5: boolean;
      readonly from: Publisher;
    }
  | {
      readonly kind: 'message';
      readonly message: ReturnType<typeof seenOf>;
      readonly routed: string;
      readonly flags: number;
      readonly member: MemberName | undefined;
    }
  | { readonly kind: 'word'; readonly word: unknown };

/** Writes down all it is given, in memory of its own. */
export class SeeingSink implements LinkSink {
  readonly seen: Seen[] = [];
  readonly messages: Message[] = [];

  onRun(run: FrameRun, { topic }: Route, isV5: boolean, from: Publisher): void {
    const frames = Buffer.from(run.bytes.subarray(run.start, run.end));
    this.seen.push({ kind: 'run', topic, frames, count: run.count, isV5, from });
  }

  onMessage(message: Message, route: Route, flags: number, member: MemberName | undefined): void {
    this.messages.push(message);
    this.seen.push({
      kind: 'message',
      message: seenOf(message),
      routed: route.topic,
      flags,
      member,
    });
  }

  onWord(word: unknown): void {
    this.seen.push({ kind: 'word', word });
  }
}
