// Law: a member in another worker is chosen like any other, and what it is given goes there; of those
// who could take over what another could not, one here is asked first.

import assert from 'node:assert/strict';
import test from 'node:test';
import { SharedGroupMemory } from './group-memory.ts';
import type { Message } from './message.ts';
import { RemoteMember } from './remote-member.ts';
import { deliveryTo, FakePeer, FakeSubscriber, messageOn } from './session-fixture.ts';
import { SharedGroup, type SharedOptions } from './shared-groups.ts';

const roundRobin: SharedOptions = { strategy: 'round_robin', needsReady: false };

interface Bench {
  readonly group: SharedGroup;
  readonly here: FakeSubscriber;
  readonly peer: FakePeer;
  readonly remote: RemoteMember;
}

function remoteIn(
  group: SharedGroup,
  peer: FakePeer,
  clientId: string,
  joinNo: number,
  isConnected = true,
): RemoteMember {
  const { name, filter } = group;
  const state = { group: name, filter, clientId, joinNo, isStored: true, isConnected };
  const remote = new RemoteMember(peer, state);
  group.set(deliveryTo(remote, { group, qos: 2 }), joinNo);
  return remote;
}

/** One member here, `a`, and one elsewhere, `b`. */
function bench(options: SharedOptions = roundRobin, isConnected = true): Bench {
  const group = new SharedGroup('g', 't', options);
  const here = new FakeSubscriber('a');
  group.set(deliveryTo(here, { group }), 1);
  const peer = new FakePeer(2);
  return { group, here, peer, remote: remoteIn(group, peer, 'b', 2, isConnected) };
}

function textOf({ message }: { readonly message: Message }): string {
  return message.payload.toString();
}

test('members here and elsewhere take turns', () => {
  const { group, here, peer } = bench();
  for (const payload of ['0', '1', '2', '3']) void group.dispatch(messageOn('t', { payload }));
  assert.deepEqual(here.received.map(textOf), ['0', '2']);
  assert.deepEqual(peer.directed.map(textOf), ['1', '3']);
  assert.deepEqual(
    peer.directed.map(({ member, isHandedOn }) => [member.clientId, isHandedOn]),
    [
      ['b', false],
      ['b', false],
    ],
  );
});

test('the wait for a message that goes elsewhere is that of the other worker', async () => {
  const { group, peer } = bench();
  peer.stored = Promise.resolve();
  assert.equal(group.dispatch(messageOn('t', { qos: 1 })), undefined);
  assert.equal(group.dispatch(messageOn('t', { qos: 1 })), peer.stored);
});

test('two workers with one memory take turns together, whoever publishes', () => {
  const memory = SharedGroupMemory.memory();
  const slots = [0, 1].map(() => new SharedGroupMemory(memory).slotOf('g', 't'));
  const groups = slots.map((slot) => new SharedGroup('g', 't', roundRobin, slot));
  const members = [new FakeSubscriber('a'), new FakeSubscriber('b')] as const;
  const ways = [new FakePeer(1), new FakePeer(0)] as const;
  const [first, second] = groups as [SharedGroup, SharedGroup];
  first.set(deliveryTo(members[0], { group: first }), 1);
  remoteIn(first, ways[0], 'b', 2);
  remoteIn(second, ways[1], 'a', 1);
  second.set(deliveryTo(members[1], { group: second }), 2);
  const publish = (group: SharedGroup): void => void group.dispatch(messageOn('t'));
  for (const group of [first, first, second, second, second, first]) publish(group);
  const got = {
    a: members[0].received.length + ways[1].directed.length,
    b: members[1].received.length + ways[0].directed.length,
  };
  assert.deepEqual(got, { a: 3, b: 3 });
});

test('all workers have the members in one order, in whatever order they hear of them', () => {
  const orders = [
    [1, 2, 3],
    [3, 1, 2],
    [2, 3, 1],
  ];
  for (const order of orders) {
    const group = new SharedGroup('g', 't', roundRobin);
    for (const joinNo of order) remoteIn(group, new FakePeer(1), `m${joinNo}`, joinNo);
    const names = [0, 1, 2].map((i) => group.memberAt(i).session.clientId);
    assert.deepEqual(names, ['m1', 'm2', 'm3']);
  }
});

test('late news of a place that a member had before do not bring it back', () => {
  const { group, peer } = bench();
  const again = new FakeSubscriber('b');
  group.set(deliveryTo(again, { group }), 9);
  remoteIn(group, peer, 'b', 2);
  assert.equal(group.sessionOf('b'), again);
  assert.equal(group.joinNoOf('b'), 9);
});

test('a member elsewhere that is known to be away is passed over', () => {
  const { group, here, peer } = bench(roundRobin, false);
  for (let i = 0; i < 4; i++) void group.dispatch(messageOn('t'));
  assert.equal(here.received.length, 4);
  assert.equal(peer.directed.length, 0);
});

test('a message goes to one that is away elsewhere rather than to nobody', () => {
  const { group, here, peer } = bench(roundRobin, false);
  group.delete(here);
  void group.dispatch(messageOn('t', { qos: 1 }));
  assert.equal(peer.directed.length, 1);
});

test('a group sticks to a member elsewhere', () => {
  const { group, here, peer } = bench({ strategy: 'sticky', needsReady: false });
  group.slot.stick(0, 2);
  for (let i = 0; i < 5; i++) void group.dispatch(messageOn('t'));
  assert.deepEqual([here.received.length, peer.directed.length], [0, 5]);
});

test('the turn is put right once when a member goes: by the worker that had it', () => {
  const { group, here, peer } = bench();
  const first = remoteIn(group, peer, 'first', 0);
  void group.dispatch(messageOn('t'));
  void group.dispatch(messageOn('t'));
  group.delete(first);
  assert.equal(group.slot.turn, 2, 'the other worker does it');
  group.slot.skip(-1);
  group.delete(here);
  assert.equal(group.slot.turn, 0, 'b is next, as it was');
});

test('a message from another worker is for the member it names', () => {
  const { group, here } = bench();
  const second = new FakeSubscriber('c');
  group.set(deliveryTo(second, { group }), 3);
  void group.deliverTo('c', messageOn('t'), false);
  assert.deepEqual([here.received.length, second.received.length], [0, 1]);
  assert.equal(group.slot.turn, 0, 'the turn was taken there');
});

test('a message for a member that is gone or away is for another one here', () => {
  const { group, here, peer } = bench();
  const away = new FakeSubscriber('c', null);
  group.set(deliveryTo(away, { group }), 3);
  for (const name of ['gone', 'c', 'b']) void group.deliverTo(name, messageOn('t'), false);
  assert.equal(here.received.length, 3);
  assert.equal(away.received.length + peer.directed.length, 0);
});

test('a message for a member that is away goes to it when nobody else is here', () => {
  const { group, here, peer } = bench();
  here.link = null;
  void group.deliverTo('a', messageOn('t', { qos: 1 }), false);
  assert.deepEqual([here.received.length, peer.directed.length], [1, 0]);
});

test('a message for a member that is gone is sent on when nobody is here', () => {
  const { group, here, peer } = bench();
  group.delete(here);
  void group.deliverTo('a', messageOn('t', { qos: 1 }), true);
  assert.deepEqual(
    peer.directed.map(({ member, isHandedOn }) => [member.clientId, isHandedOn]),
    [['b', true]],
  );
});

test('a member here that has no room is passed over where members have to be ready', () => {
  const { group, here } = bench({ strategy: 'round_robin', needsReady: true });
  const second = new FakeSubscriber('c');
  group.set(deliveryTo(second, { group }), 3);
  here.isReady = false;
  void group.deliverTo('a', messageOn('t', { qos: 1 }), false);
  void group.deliverTo('a', messageOn('t', { qos: 0 }), false);
  assert.deepEqual([here.received.length, second.received.length], [1, 1]);
});

test('what a leaving member had goes to one here first, and is handed on', () => {
  const { group, here, peer } = bench();
  const leaving = new FakeSubscriber('c');
  group.set(deliveryTo(leaving, { group }), 3);
  for (let i = 0; i < 4; i++) group.redispatch(messageOn('t', { qos: 1 }), leaving);
  assert.deepEqual([here.received.length, peer.directed.length], [4, 0]);
  group.redispatch(messageOn('t', { qos: 1 }), here);
  assert.deepEqual(
    peer.directed.map(({ isHandedOn }) => isHandedOn),
    [true],
  );
});

test('a publish that somebody of the group has had goes to nobody', () => {
  const asked: unknown[] = [];
  const { group, here, peer } = bench({
    ...roundRobin,
    hasPassed: (passage, { name }) => asked.push([passage, name]) > 0,
  });
  const message = messageOn('t', { qos: 2 });
  message.passage = { sessionNo: 4, packetId: 1 };
  void group.dispatch(message);
  assert.equal(here.received.length, 1, 'not asked about one that comes for the first time');
  message.mayBeHad = true;
  void group.dispatch(message);
  assert.deepEqual([here.received.length, peer.directed.length], [1, 0]);
  assert.deepEqual(asked, [[{ sessionNo: 4, packetId: 1 }, 'g']]);
});

test('who is where is known by worker', () => {
  const { group, here, peer, remote } = bench();
  remoteIn(group, new FakePeer(0), 'c', 3);
  assert.deepEqual(group.peerIndexes, [2, 0]);
  assert.deepEqual(group.remotesOf(peer), [remote]);
  assert.deepEqual(
    [...group.locals()].map(([{ session }, joinNo]) => [session, joinNo]),
    [[here, 1]],
  );
  assert.equal(group.hasLocals, true);
  group.delete(here);
  assert.equal(group.hasLocals, false);
});
