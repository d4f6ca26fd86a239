// Law: what a session takes along arrives as it was, though JSON has neither bytes nor undefined.

import assert from 'node:assert/strict';
import test from 'node:test';
import type { Baggage } from '#core/session-baggage';
import { Phase } from '#core/inflight';
import { messageOn } from '#core/session-fixture';
import { messageOf, published, seenOf } from './link-fixture.ts';
import { pack, packMessage, unpack, unpackMessage } from './packed-baggage.ts';

function overTheLink(baggage: Baggage): Baggage {
  return unpack(JSON.parse(JSON.stringify(pack(baggage))));
}

const options = {
  qos: 1,
  retainAsPublished: false,
  isReplay: false,
  subscriptionIds: undefined,
  group: undefined,
} as const;

test('messages keep everything that clients can see of them', () => {
  for (const version of [0, 4, 5] as const) {
    const one = published('größe/🌡', {
      version,
      payload: Buffer.from([0, 255, 254, 0]),
      qos: 2,
      retain: true,
      properties: version === 4 ? {} : { messageExpirySeconds: 60, userProperties: [['k', 'v']] },
      from: { clientId: 'ü', username: 'u', address: '::1', port: 9 },
      timestampMs: 1_700_000_000_000,
      id: '0005F1',
    });
    const message = messageOf(one);
    assert.deepEqual(seenOf(unpackMessage(packMessage(message))), seenOf(message));
  }
});

test('an empty and a large payload come through', () => {
  for (const payload of [Buffer.alloc(0), Buffer.alloc(1024 * 1024, 'x')]) {
    const { payload: got } = unpackMessage(packMessage(messageOn('t', { payload })));
    assert.ok(got.equals(payload));
  }
});

test('pieces keep their order, phases and packet ids, and say what is not there', () => {
  const group = { name: 'g', filter: 't' };
  const baggage: Baggage = {
    pieces: [
      { message: undefined, options, packetId: 3, phase: Phase.awaitPubcomp },
      {
        message: messageOn('t', { payload: 'a', qos: 2 }),
        options,
        packetId: 4,
        phase: Phase.awaitPubrec,
      },
      {
        message: messageOn('t', { payload: 'b', qos: 1 }),
        options: { ...options, subscriptionIds: [1, 2], group, isReplay: true },
        packetId: 0,
        phase: 0,
      },
    ],
    taken: [
      [7, 1000],
      [2, 2000],
    ],
  };
  const { pieces, taken } = overTheLink(baggage);
  assert.deepEqual(taken, baggage.taken);
  const seen = ({ message, ...rest }: Baggage['pieces'][number]): unknown[] => [
    message?.payload.toString(),
    message?.qos,
    rest,
  ];
  assert.deepEqual(pieces.map(seen), baggage.pieces.map(seen));
  assert.ok(
    pieces.every((piece) => 'group' in piece.options && 'subscriptionIds' in piece.options),
  );
});
