// Laws: what a worker sent before it changed over belongs to the one side, what it sends after that to
// the other; nothing that is held is acknowledged.

import assert from 'node:assert/strict';
import test from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import type { Delivery } from './delivery.ts';
import { HeldMessages, WaitingRoom } from './held-messages.ts';
import { Message, publishedHere } from './message.ts';
import type { Wait } from './ports.ts';
import { deliveryTo, FakeSubscriber, messageOn, publisher } from './session-fixture.ts';
import { SharedGroup } from './shared-groups.ts';

const group = new SharedGroup('g', 't', { strategy: 'round_robin', needsReady: false });

function from(via: number, payload = 'x'): Message {
  return Object.assign(messageOn('t', { payload, qos: 1 }), { via });
}

async function isOver(wait: Wait): Promise<boolean> {
  assert.ok(wait !== undefined, 'somebody waits');
  const over = wait.then(
    () => true,
    () => true,
  );
  return Promise.race([over, turn(false)]);
}

test('a message is for the new place once the worker that sent it has changed over', () => {
  const held = new HeldMessages();
  const delivery = deliveryTo(new FakeSubscriber('s'));
  assert.equal(held.isFor(from(2), delivery), false);
  held.switchOver(2);
  assert.equal(held.isFor(from(2), delivery), true);
  assert.equal(held.isFor(from(1), delivery), false);
  assert.equal(held.isFor(from(publishedHere), delivery), false);
  held.switchOver();
  assert.equal(held.isFor(from(publishedHere), delivery), true);
});

test('a worker that changes over twice counts once', () => {
  const held = new HeldMessages();
  held.switchOver(2);
  held.switchOver(2);
  held.switchOver();
  assert.equal(held.switchedCount, 2);
  const delivery = deliveryTo(new FakeSubscriber('s'));
  assert.deepEqual(
    [2, 1].map((worker) => held.isFor(from(worker), delivery)),
    [true, false],
  );
});

test('a message through a shared subscription is for whoever gets it', () => {
  const held = new HeldMessages();
  held.switchOver(2);
  assert.equal(held.isFor(from(2), deliveryTo(new FakeSubscriber('s'), { group })), false);
});

test('held messages are put into a session in the order they came, and wait for its store', async () => {
  const held = new HeldMessages();
  const room = new FakeSubscriber('room');
  const delivery = deliveryTo(room, { qos: 1, subscriptionIds: [4] });
  const waits = ['0', '1'].map((payload) => held.hold(from(2, payload), delivery, false));
  assert.equal(await isOver(waits[0]), false);
  const session = new FakeSubscriber('s');
  const flush = Promise.withResolvers<void>();
  session.stored = flush.promise;
  held.deliverTo(session);
  const got = session.received.map(({ message }) => message.payload.toString());
  assert.deepEqual(got, ['0', '1']);
  const [first] = session.received;
  assert.deepEqual(first?.delivery, { ...delivery, session }, 'as the subscription wanted it');
  assert.equal(await isOver(waits[1]), false);
  flush.resolve();
  for (const wait of waits) await wait;
  held.deliverTo(session);
  assert.equal(session.received.length, 2, 'once');
});

test('a session that throws refuses the one message and gets the others', async () => {
  const held = new HeldMessages();
  const session = new FakeSubscriber('s');
  const got: string[] = [];
  session.deliver = (message: Message): Wait => {
    got.push(message.payload.toString());
    if (got.length === 1) throw new Error('cannot take it');
    return undefined;
  };
  const delivery = deliveryTo(session);
  const first = held.hold(from(2, '0'), delivery, false);
  const second = held.hold(from(2, '1'), delivery, false);
  held.deliverTo(session);
  await assert.rejects(Promise.resolve(first), /cannot take it/);
  await second;
  assert.deepEqual(got, ['0', '1']);
});

test('what was acknowledged before is handed on as such', () => {
  const held = new HeldMessages();
  const session = new FakeSubscriber('s');
  const handedOn: (boolean | undefined)[] = [];
  session.deliver = (_: Message, __: Delivery, isHandedOn?: boolean): Wait => {
    handedOn.push(isHandedOn);
    return undefined;
  };
  void held.hold(from(2), deliveryTo(session, { group }), true);
  void held.hold(from(2), deliveryTo(session), false);
  held.deliverTo(session);
  assert.deepEqual(handedOn, [true, false]);
});

test('what the other side has is acknowledged, what somebody else fails to take is refused', async () => {
  const delivery = deliveryTo(new FakeSubscriber('s'));
  const held = new HeldMessages();
  const had = held.hold(from(2), delivery, false);
  held.forget();
  await had;
  const lost = held.hold(from(2), delivery, false);
  held.release(() => Promise.reject(new Error('nobody')));
  await assert.rejects(Promise.resolve(lost), /nobody/);
  const session = new FakeSubscriber('s');
  held.deliverTo(session);
  assert.equal(session.received.length, 0);
});

test('a held message does not lie in the memory it came in', () => {
  const bytes = Buffer.from('0\u0003tmine');
  const message = Message.borrowed(
    't',
    0x30,
    undefined,
    publisher,
    0,
    bytes,
    0,
    0,
    3,
    7,
    false,
    true,
  );
  const held = new HeldMessages();
  void held.hold(message, deliveryTo(new FakeSubscriber('s')), false);
  bytes.fill('?');
  const session = new FakeSubscriber('s');
  held.deliverTo(session);
  assert.equal(session.received[0]?.message.payload.toString(), 'mine');
});

test('a waiting room lets pass what the old place has and holds the rest', async () => {
  const room = new WaitingRoom('s', true);
  const delivery = deliveryTo(room);
  assert.equal(room.deliver(from(2, 'before'), delivery), undefined);
  const shared = room.deliver(from(2, 'shared'), { ...delivery, group });
  room.held.switchOver(2);
  const after = room.deliver(from(2, 'after'), delivery);
  assert.deepEqual([await isOver(shared), await isOver(after)], [false, false]);
  const session = new FakeSubscriber('s');
  room.held.deliverTo(session);
  const got = session.received.map(({ message }) => message.payload.toString());
  assert.deepEqual(got, ['shared', 'after']);
  assert.deepEqual(
    [room.isConnected, room.isReady, room.isStored, room.link],
    [false, false, true, null],
  );
});

test('what its publisher repeats is not held any more, and the rest is', async () => {
  const held = new HeldMessages();
  const session = new FakeSubscriber('s');
  const [repeated, other] = [from(2, 'repeated'), from(2, 'other')];
  repeated.passage = { sessionNo: 4, packetId: 1 };
  other.passage = { sessionNo: 5, packetId: 1 };
  const waits = [repeated, other].map((one) => held.hold(one, deliveryTo(session), false));
  held.disown(({ passage }) => passage?.sessionNo === 4);
  assert.deepEqual(await Promise.all(waits.map(isOver)), [true, false]);
  held.deliverTo(session);
  assert.deepEqual(
    session.received.map(({ message }) => message.payload.toString()),
    ['other'],
  );
});
