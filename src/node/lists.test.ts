// Laws: a list is read a slice at a time, in order, and nothing is seen twice; the n-th row is found as if
// all had been counted.

import assert from 'node:assert/strict';
import test from 'node:test';
import { VirtualClock } from '#base/clock';
import type { ListKind } from './list-orders.ts';
import { brokerWithout, connected, subscribed } from './lists-fixture.ts';
import type { Row } from './list-rows.ts';
import { Lists } from './lists.ts';

function all(lists: Lists, kind: ListKind, between: () => void = () => undefined): Row[] {
  const rows: Row[] = [];
  for (let from: string | undefined; ; ) {
    const slice = lists.page(kind, from);
    rows.push(...slice.rows);
    if (slice.next === undefined) return rows;
    between();
    from = slice.next;
  }
}

const names = (rows: readonly Row[]): unknown[] => rows.map(({ clientId }) => clientId);

test('a list has every session once and in order, a thousand a slice', (t) => {
  const broker = brokerWithout(t);
  for (let i = 0; i < 2500; i++) subscribed(broker, `c${i}`, []);
  const lists = new Lists(broker);
  const slices = [lists.page('sessions')];
  while (slices.at(-1)?.next !== undefined) {
    slices.push(lists.page('sessions', slices.at(-1)?.next));
  }
  assert.deepEqual(
    slices.map(({ rows }) => rows.length),
    [1000, 1000, 500],
  );
  assert.deepEqual(
    names(slices.flatMap(({ rows }) => rows)),
    Array.from({ length: 2500 }, (_, i) => `c${i}`).sort(),
  );
});

test('a list without rows has one empty slice', (t) => {
  const lists = new Lists(brokerWithout(t));
  for (const kind of ['connections', 'sessions', 'subscriptions', 'routes'] as const) {
    assert.deepEqual(lists.page(kind), { rows: [], next: undefined });
    assert.deepEqual(lists.start(kind, 0), { total: 0, key: undefined });
    assert.deepEqual(lists.samples(kind, '', undefined), { keys: [], isWhole: true });
  }
});

test('subscriptions are listed by client id, then by topic, shared ones without their group', (t) => {
  const broker = brokerWithout(t);
  subscribed(broker, 'b', ['z', '$share/g/a', 'a', '$queue/m']);
  subscribed(broker, 'a', ['y']);
  subscribed(broker, 'ab', ['x']);
  const rows = all(new Lists(broker), 'subscriptions');
  assert.deepEqual(
    rows.map(({ clientId, topic, filter }) => [clientId, topic, filter]),
    [
      ['a', 'y', 'y'],
      ['ab', 'x', 'x'],
      ['b', 'a', '$share/g/a'],
      ['b', 'a', 'a'],
      ['b', 'm', '$queue/m'],
      ['b', 'z', 'z'],
    ],
  );
  assert.deepEqual(new Set(rows.map(({ qos }) => qos)), new Set([1]));
});

test('a subscription that is made again is listed once, with its new QoS', (t) => {
  const broker = brokerWithout(t);
  subscribed(broker, 'a', ['x', 'y']);
  const lists = new Lists(broker);
  assert.equal(lists.page('subscriptions').rows.length, 2);
  subscribed(broker, 'a', ['x'], 2);
  assert.deepEqual(
    lists.page('subscriptions').rows.map(({ topic, qos }) => [topic, qos]),
    [
      ['x', 2],
      ['y', 1],
    ],
  );
  assert.equal(lists.start('subscriptions', 0).total, 2);
});

test('a client with more subscriptions than a slice is listed over several', (t) => {
  const broker = brokerWithout(t);
  const filters = Array.from({ length: 2300 }, (_, i) => `t/${i}`);
  subscribed(broker, 'a', filters);
  const rows = all(new Lists(broker), 'subscriptions');
  assert.deepEqual(
    rows.map(({ topic }) => topic),
    filters.toSorted(),
  );
});

test('a session that comes or goes between two slices is seen once or not at all', (t) => {
  const broker = brokerWithout(t);
  for (let i = 0; i < 1500; i++) subscribed(broker, `c${i}`, []);
  const { sessions } = broker.core;
  const seen = names(
    all(new Lists(broker), 'sessions', () => {
      subscribed(broker, 'a-late', []);
      subscribed(broker, 'z-late', []);
      void sessions.discard('c999');
      void sessions.discard('c0');
    }),
  );
  assert.equal(new Set(seen).size, seen.length);
  for (let i = 0; i < 1500; i++) {
    if (i !== 0 && i !== 999) assert.ok(seen.includes(`c${i}`), `c${i}`);
  }
  assert.ok(!seen.includes('c999'));
  assert.ok(seen.includes('z-late'));
  assert.ok(!seen.includes('a-late'));
});

test('a slice ends before its bound, has no more rows than wanted, and those of one user', (t) => {
  const broker = brokerWithout(t);
  for (const id of ['a', 'b', 'c', 'd']) subscribed(broker, id, [], 1, id < 'c' ? 'one' : 'two');
  const lists = new Lists(broker);
  assert.deepEqual(names(lists.page('sessions', 'b', { to: 'd' }).rows), ['b', 'c']);
  const { rows, next } = lists.page('sessions', '', { rowsMax: 3 });
  assert.deepEqual([names(rows), next], [['a', 'b', 'c'], 'd']);
  assert.deepEqual(names(lists.page('sessions', '', { username: 'two' }).rows), ['c', 'd']);
  assert.deepEqual(lists.page('sessions', '', { username: 'three' }).rows, []);
});

test('a list in which little is shown ends its slices, too', (t) => {
  const broker = brokerWithout(t);
  for (let i = 0; i < 10_500; i++) subscribed(broker, `c${i}`, []);
  const lists = new Lists(broker);
  const first = lists.page('connections');
  assert.deepEqual(first.rows, []);
  assert.notEqual(first.next, undefined);
  assert.deepEqual(lists.page('connections', first.next), { rows: [], next: undefined });
  assert.deepEqual(all(lists, 'subscriptions'), []);
});

test('routes are the filters that somebody is subscribed to, each once, in order', (t) => {
  const broker = brokerWithout(t);
  subscribed(broker, 'a', ['t/2', 't/1', '$share/g/t/+']);
  subscribed(broker, 'b', ['t/1']);
  const lists = new Lists(broker);
  const topics = (): unknown[] => lists.page('routes').rows.map(({ topic }) => topic);
  assert.deepEqual(topics(), ['t/+', 't/1', 't/2']);
  void broker.core.sessions.discard('a');
  assert.deepEqual(topics(), ['t/1']);
  assert.equal(lists.start('routes', 0).total, 1);
});

test('samples are spread over the range, and ranks count what is before', (t) => {
  const broker = brokerWithout(t);
  const ids = Array.from({ length: 1000 }, (_, i) => `c${String(i).padStart(3, '0')}`);
  for (const id of ids) subscribed(broker, id, []);
  const lists = new Lists(broker);
  const { keys, isWhole } = lists.samples('sessions', 'c100', 'c900');
  assert.equal(isWhole, false);
  assert.equal(keys.length, 64);
  assert.equal(keys[0], 'c100');
  const gaps = keys.map((key, at) => Number(key.slice(1)) - (at * 800) / 64 - 100);
  assert.ok(gaps.every((gap) => Math.abs(gap) <= 1));
  assert.deepEqual(lists.ranks('sessions', ['', 'c100', 'c1005', 'd']), [0, 100, 101, 1000]);
  const few = lists.samples('sessions', 'c100', 'c110');
  assert.deepEqual(few, { keys: ids.slice(100, 110), isWhole: true });
});

test('a slice ends when it has taken its time', (t) => {
  class Hurrying extends VirtualClock {
    #passedMs = 0;

    override monotonicMs(): number {
      return this.#passedMs++;
    }
  }
  const broker = brokerWithout(t, new Hurrying());
  for (let i = 0; i < 900; i++) subscribed(broker, `c${i}`, []);
  const lists = new Lists(broker);
  const { rows } = lists.page('sessions');
  // A millisecond for each look, one look for 32 entries.
  assert.equal(rows.length, 6 * 32 - 1);
  assert.equal(all(lists, 'sessions').length, 900);
});

test('a connection is listed while it lasts, with what is known of it', (t) => {
  const broker = brokerWithout(t);
  const lists = new Lists(broker);
  const leave = connected(broker, 'a', { username: 'u', version: 5 });
  connected(broker, 'b', { cleanStart: true });
  const [first, second] = lists.page('connections').rows;
  assert.deepEqual(
    { ...first, connectedAtMs: 0 },
    {
      clientId: 'a',
      username: 'u',
      zone: 'external',
      listener: 'mqtt:tcp',
      address: '10.0.0.1',
      port: 1,
      certificate: 'nossl',
      version: 5,
      protocolName: 'MQTT',
      isBridge: false,
      cleanStart: false,
      keepaliveSeconds: 60,
      connectedAtMs: 0,
      receivedReads: 2,
      receivedBytes: 1,
      receivedPackets: 1,
      receivedMessages: 0,
      sentWrites: 4,
      sentBytes: 3,
      sentPackets: 1,
      sentMessages: 0,
      pendingBytes: first?.['pendingBytes'],
      queued: 0,
      heldBytes: first?.['pendingBytes'],
    },
  );
  assert.equal(second?.['username'], undefined);
  assert.equal(lists.start('connections', 0).total, 2);
  leave();
  assert.deepEqual(names(lists.page('connections').rows), ['b']);
  assert.equal(lists.start('connections', 0).total, 1);
});

test('a client that connects again in the place of itself is counted once', (t) => {
  const broker = brokerWithout(t);
  const lists = new Lists(broker);
  for (const cleanStart of [false, false, true, true, false])
    connected(broker, 'a', { cleanStart });
  assert.equal(lists.start('connections', 0).total, 1);
  assert.equal(lists.start('sessions', 0).total, 1);
  broker.kick('a');
  assert.equal(lists.start('connections', 0).total, 0);
});
