// Law: what the store does not have goes along: messages that wait, in their order, those under way with
// their packet ids in whatever phase they are, and the ids of publishes that are not released.

import assert from 'node:assert/strict';
import test from 'node:test';
import type { QoS } from '#wire/packet';
import { HeldBytes } from './held-bytes.ts';
import { Phase } from './inflight.ts';
import {
  clientInfo,
  deliveryTo,
  FakeLink,
  messageOn,
  type SessionBench,
  sessionBench,
} from './session-fixture.ts';
import { packBaggage, unpackBaggage } from './session-baggage.ts';
import { storedDelivery } from './stored-delivery.ts';
import type { Session } from './session.ts';

const zone = { sessionDurability: 'memory', mqueueStoreQos0: true } as const;

function bench(): SessionBench {
  return sessionBench(zone, { expirySeconds: 100 });
}

function attach(session: Session, window = 10): FakeLink {
  const link = new FakeLink();
  session.attach(link, clientInfo('s', 5), window);
  return link;
}

function send(session: Session, payload: string, qos: QoS): void {
  void session.deliver(messageOn('t', { payload, qos }), deliveryTo(session, { qos: 2 }));
}

/** From one session into another one, as if it had gone from worker to worker. */
function move(from: Session, to: Session, held = new HeldBytes()): void {
  const baggage = packBaggage(from, new HeldBytes());
  unpackBaggage(to, baggage, held, (options) => storedDelivery(to, options, () => undefined));
}

test('messages under way keep their packet ids, and go on where they were', () => {
  const { session: before } = bench();
  const link = attach(before);
  for (const [payload, qos] of [
    ['one', 1],
    ['two', 2],
    ['received', 2],
    ['done', 1],
    ['last', 1],
  ] as const) {
    send(before, payload, qos);
  }
  before.onPubrec(3, 0);
  before.onPuback(4, 0);
  before.detach();
  assert.deepEqual(
    link.published.map(({ packetId }) => packetId),
    [1, 2, 3, 4, 5],
  );
  const { session: after } = bench();
  move(before, after);
  const phases = after.out.window.inflight
    .inOrder()
    .map(({ packetId, phase }) => [packetId, phase]);
  assert.deepEqual(phases, [
    [1, Phase.awaitPuback],
    [2, Phase.awaitPubrec],
    [3, Phase.awaitPubcomp],
    [5, Phase.awaitPuback],
  ]);
  const next = attach(after);
  after.out.pump();
  assert.deepEqual(
    next.published.map(({ message, packetId, isDuplicate, qos }) => [
      message.payload.toString(),
      packetId,
      isDuplicate,
      qos,
    ]),
    [
      ['one', 1, true, 1],
      ['two', 2, true, 2],
      ['last', 5, true, 1],
    ],
  );
  assert.deepEqual(next.released, [3]);
  assert.equal(after.onPubcomp(3), 'done');
  assert.equal(after.onPuback(1, 0), 'done');
});

test('a packet id that came along is not given to another message', () => {
  const { session: before } = bench();
  attach(before);
  for (let i = 0; i < 5; i++) send(before, `${i}`, 1);
  for (const packetId of [1, 2, 4]) before.onPuback(packetId, 0);
  before.detach();
  const { session: after } = bench();
  move(before, after);
  const link = attach(after, 100);
  after.out.pump();
  for (let i = 0; i < 20; i++) send(after, 'new', 1);
  const ids = link.published.map(({ packetId }) => packetId);
  assert.equal(new Set(ids).size, 22, ids.join());
});

test('messages that wait come in their order, behind those under way, QoS 0 among them', () => {
  const { session: before } = bench();
  attach(before, 1);
  send(before, 'under way', 1);
  before.detach();
  for (const [payload, qos] of [
    ['1', 1],
    ['0', 0],
    ['2', 2],
  ] as const) {
    send(before, payload, qos);
  }
  const { session: after } = bench();
  move(before, after);
  const link = attach(after);
  after.out.pump();
  assert.deepEqual(link.payloads, ['under way', '1', '0', '2']);
  assert.deepEqual(
    link.published.map(({ qos }) => qos),
    [1, 1, 0, 2],
  );
});

test('how a subscription wanted a message goes along', () => {
  const { session: before } = bench();
  const options = { qos: 1, subscriptionIds: [7, 8], retainAsPublished: true } as const;
  void before.deliver(messageOn('t', { qos: 2 }), deliveryTo(before, options));
  const { pieces } = packBaggage(before, new HeldBytes());
  assert.deepEqual(
    pieces.map(({ options: kept }) => kept),
    [{ ...options, isReplay: false, group: undefined }],
  );
});

test('what waited is not counted where it was, and is where it goes', () => {
  const { session: before } = bench();
  const here = new HeldBytes();
  const there = new HeldBytes();
  attach(before, 1);
  for (const payload of ['under way', 'waiting', 'waiting too']) send(before, payload, 1);
  before.detach();
  // The bench has an account of its own; these two see what pack and unpack do.
  const bytes = before.out.queue.length;
  assert.equal(bytes, 2);
  const baggage = packBaggage(before, here);
  assert.ok(here.messages < 0, 'two are let go of');
  assert.equal(before.out.queue.length, 0);
  const { session: after } = bench();
  unpackBaggage(after, baggage, there, (options) =>
    storedDelivery(after, options, () => undefined),
  );
  assert.ok(there.messages > 0, 'the one under way; those that wait are counted by the session');
  assert.equal(after.out.queue.length, 2);
});

test('ids of publishes that are not released stay taken, and have their age', () => {
  const { session: before, clock } = sessionBench(
    { ...zone, awaitRelTimeoutMs: 1000 },
    { expirySeconds: 100 },
  );
  void before.take(4, undefined);
  clock.advance(600);
  void before.take(9, undefined);
  const baggage = packBaggage(before, new HeldBytes());
  assert.deepEqual(
    baggage.taken.map(([packetId]) => packetId),
    [4, 9],
  );
  const { session: after } = sessionBench(
    { ...zone, awaitRelTimeoutMs: 1000 },
    { expirySeconds: 100 },
  );
  unpackBaggage(after, baggage, new HeldBytes(), (options) =>
    storedDelivery(after, options, () => undefined),
  );
  assert.deepEqual([after.awaitingRel.has(4), after.awaitingRel.has(9)], [true, true]);
  assert.deepEqual([...after.awaitingRel.entries()], baggage.taken);
});

test('of a session that the store has only what it has not goes along', () => {
  const { session } = sessionBench(
    { sessionDurability: 'sync', mqueueStoreQos0: true },
    { expirySeconds: 100 },
  );
  assert.ok(session.journal !== undefined);
  attach(session);
  send(session, 'stored and under way', 1);
  assert.equal(session.out.window.inflight.size, 1);
  session.detach();
  send(session, 'stored', 1);
  send(session, 'in memory', 0);
  void session.take(4, undefined);
  const { pieces, taken } = packBaggage(session, new HeldBytes());
  assert.deepEqual(
    pieces.map(({ message }) => message?.payload.toString()),
    ['in memory'],
  );
  assert.deepEqual(taken, []);
});
