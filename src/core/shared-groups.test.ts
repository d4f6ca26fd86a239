import assert from 'node:assert/strict';
import test from 'node:test';
import type { SharedStrategy } from '#config/settings';
import type { QoS } from '#wire/packet';
import { deliveryTo, FakeSubscriber, messageOn, publisher } from './session-fixture.ts';
import { SharedGroup } from './shared-groups.ts';

function groupOf(
  strategy: SharedStrategy,
  names: readonly string[],
  needsReady = false,
): { group: SharedGroup; members: FakeSubscriber[] } {
  const group = new SharedGroup('g', 't', { strategy, needsReady });
  const members = names.map((name) => new FakeSubscriber(name));
  for (const member of members) group.set(deliveryTo(member, { group }));
  return { group, members };
}

/** Who got each of so many messages, by name. */
function receivers(
  group: SharedGroup,
  members: readonly FakeSubscriber[],
  count: number,
  options: { qos?: QoS; clientId?: string } = {},
): string[] {
  const got: string[] = [];
  for (let i = 0; i < count; i++) {
    const before = members.map(({ received }) => received.length);
    const from = { ...publisher, clientId: options.clientId ?? 'p' };
    void group.dispatch(messageOn('t', { qos: options.qos ?? 0, from }));
    const changed = members.filter(({ received }, j) => received.length !== before[j]);
    assert.equal(changed.length, 1, 'exactly one member gets a message');
    got.push((changed[0] as FakeSubscriber).clientId);
  }
  return got;
}

test('a round robin group gives each member its turn', () => {
  const { group, members } = groupOf('round_robin', ['a', 'b', 'c']);
  assert.deepEqual(receivers(group, members, 7), ['a', 'b', 'c', 'a', 'b', 'c', 'a']);
});

test('a round robin group skips no turn when a member leaves or subscribes again', () => {
  const { group, members } = groupOf('round_robin', ['a', 'b', 'c', 'd']);
  assert.deepEqual(receivers(group, members, 2), ['a', 'b']);
  group.delete(members[0] as FakeSubscriber);
  assert.deepEqual(receivers(group, members, 2), ['c', 'd']);
  group.set(deliveryTo(members[2] as FakeSubscriber, { group, qos: 2 }));
  assert.deepEqual(receivers(group, members, 3), ['b', 'c', 'd']);
  assert.equal(group.deliveryOf(members[2] as FakeSubscriber)?.qos, 2);
  assert.equal(group.size, 3);
});

test('a round robin group passes over absent members and goes on behind the chosen one', () => {
  const { group, members } = groupOf('round_robin', ['a', 'b', 'c']);
  (members[0] as FakeSubscriber).link = null;
  assert.deepEqual(receivers(group, members, 4), ['b', 'c', 'b', 'c']);
});

test('a random group reaches every member', () => {
  const { group, members } = groupOf('random', ['a', 'b', 'c']);
  // Missing one of three in 400 tries has a chance of 10^-70.
  assert.deepEqual(new Set(receivers(group, members, 400)), new Set(['a', 'b', 'c']));
});

test('a sticky group stays with one member until it leaves', () => {
  const { group, members } = groupOf('sticky', ['a', 'b', 'c']);
  const [first] = receivers(group, members, 1) as [string];
  assert.deepEqual(new Set(receivers(group, members, 50)), new Set([first]));
  group.delete(members.find(({ clientId }) => clientId === first) as FakeSubscriber);
  const [second] = receivers(group, members, 1) as [string];
  assert.notEqual(second, first);
  assert.deepEqual(new Set(receivers(group, members, 50)), new Set([second]));
});

test('a hash group chooses by publisher, and not all publishers alike', () => {
  const { group, members } = groupOf('hash', ['a', 'b', 'c']);
  const chosen = new Set<string>();
  for (let i = 0; i < 100; i++) {
    const clientId = `publisher-${i}`;
    const [first] = receivers(group, members, 1, { clientId }) as [string];
    assert.deepEqual(receivers(group, members, 3, { clientId }), [first, first, first]);
    chosen.add(first);
  }
  assert.equal(chosen.size, 3);
});

for (const strategy of ['random', 'round_robin', 'sticky', 'hash'] as const) {
  test(`a ${strategy} group prefers connected members and loses nothing when all are absent`, () => {
    const { group, members } = groupOf(strategy, ['a', 'b', 'c']);
    for (const member of members) member.link = null;
    assert.equal(receivers(group, members, 20).length, 20);
    (members[1] as FakeSubscriber).link = new FakeSubscriber('x').link;
    assert.deepEqual(new Set(receivers(group, members, 20)), new Set(['b']));
  });

  test(`a ${strategy} group that needs ready members finds the ready one for QoS 1`, () => {
    const { group, members } = groupOf(strategy, ['a', 'b', 'c'], true);
    for (const member of members) member.isReady = false;
    (members[2] as FakeSubscriber).isReady = true;
    assert.deepEqual(new Set(receivers(group, members, 20, { qos: 1 })), new Set(['c']));
    (members[2] as FakeSubscriber).isReady = false;
    assert.equal(receivers(group, members, 20, { qos: 2 }).length, 20);
  });
}

test('a group that needs ready members does not ask for QoS 0', () => {
  const { group, members } = groupOf('round_robin', ['a', 'b'], true);
  (members[0] as FakeSubscriber).isReady = false;
  assert.deepEqual(receivers(group, members, 4), ['a', 'b', 'a', 'b']);
});

test('a group hands what a leaving member left to another member', () => {
  const { group, members } = groupOf('round_robin', ['a', 'b']);
  const [a, b] = members as [FakeSubscriber, FakeSubscriber];
  group.redispatch(messageOn('t', { payload: 'left', qos: 1 }), a);
  assert.equal(a.received.length, 0);
  assert.deepEqual(
    b.received.map(({ message }) => message.payload.toString()),
    ['left'],
  );
  assert.equal(b.received[0]?.delivery.session, b);
});

test('a group hands on without the passage, which says that the group has had it', () => {
  const { group, members } = groupOf('round_robin', ['a', 'b']);
  const [a, b] = members as [FakeSubscriber, FakeSubscriber];
  const left = messageOn('t', { payload: 'left', qos: 2 });
  left.passage = { sessionNo: 1, packetId: 7 };
  left.mayBeHad = true;
  group.redispatch(left, a);
  const message = b.received[0]?.message;
  assert.equal(message?.payload.toString(), 'left');
  assert.equal(message?.passage, undefined);
  assert.equal(message?.mayBeHad, false);
});

test('a group without another member keeps nothing of a leaving one', () => {
  const { group, members } = groupOf('round_robin', ['a']);
  group.redispatch(messageOn('t', { qos: 1 }), members[0] as FakeSubscriber);
  assert.equal(members[0]?.received.length, 0);
});

test('a group forgets a member once and ignores strangers', () => {
  const { group, members } = groupOf('sticky', ['a', 'b']);
  const [a] = members as [FakeSubscriber];
  group.delete(new FakeSubscriber('stranger'));
  assert.equal(group.size, 2);
  group.delete(a);
  group.delete(a);
  assert.equal(group.size, 1);
  assert.equal(group.has(a), false);
});

test('a group whose last member has left takes a message that is under way and loses it', () => {
  const { group, members } = groupOf('sticky', ['a']);
  group.delete(members[0] as FakeSubscriber);
  assert.equal(group.dispatch(messageOn('t', { qos: 1 })), undefined);
});
