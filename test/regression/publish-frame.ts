// PUBLISH packets as bytes, for tests that need several of them in one read of the broker.

import { encodePacket } from '#wire/encode';
import type { PublishPacket } from '#wire/packet';

export function publishFrame(
  topic: string,
  payload: string | Buffer = '',
  options: Partial<Omit<PublishPacket, 'type' | 'topic' | 'payload'>> = {},
): Buffer {
  const publish: PublishPacket = {
    type: 'publish',
    topic,
    payload: Buffer.from(payload),
    qos: 0,
    dup: false,
    retain: false,
    packetId: 0,
    properties: {},
    ...options,
  };
  return encodePacket(publish, 5);
}

/** One frame after another, `count` of them. */
export function frames(count: number, frameAt: (i: number) => Buffer): Buffer {
  return Buffer.concat(Array.from({ length: count }, (_, i) => frameAt(i)));
}
