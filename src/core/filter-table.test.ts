// Law: the other workers are told of a filter once when the first plain subscription to it appears here,
// once when the last one goes, and in between when the first or last one does whose messages have to
// be stored. What they are told is what they know.

import assert from 'node:assert/strict';
import test from 'node:test';
import { FilterTable } from './filter-table.ts';
import type { Interest, MemberName, MemberState, Peers } from './peers-port.ts';
import type { Wait } from './ports.ts';
import { deliveryTo, FakePeer, FakeSubscriber, noPeers } from './session-fixture.ts';
import { Stats } from './stats.ts';

/** Writes down what it is told; the waits are the test's. */
class ToldPeers {
  readonly told: string[] = [];
  readonly waits: PromiseWithResolvers<void>[] = [];

  readonly peers: Peers = {
    ...noPeers,
    isAlone: false,
    interest: (filter: string, level: Interest): Wait => this.#tell(`${filter} ${level}`),
    member: ({ group, filter, clientId, joinNo }: MemberState): Wait =>
      this.#tell(`+${group} ${filter} ${clientId} ${joinNo}`),
    left: ({ group, filter, clientId }: MemberName): void => {
      this.told.push(`-${group} ${filter} ${clientId}`);
    },
  };

  #tell(what: string): Wait {
    this.told.push(what);
    const wait = Promise.withResolvers<void>();
    this.waits.push(wait);
    return wait.promise;
  }

  take(): string[] {
    return this.told.splice(0);
  }
}

interface Bench {
  readonly table: FilterTable;
  readonly told: ToldPeers;
  readonly stats: Stats;
  readonly changed: string[];
}

function bench(index = 1): Bench {
  const told = new ToldPeers();
  const stats = new Stats();
  const shared = { strategy: 'round_robin', needsReady: false } as const;
  const table = new FilterTable({ peers: told.peers, stats, shared, index });
  const changed: string[] = [];
  table.onChange = (filter) => changed.push(filter);
  return { table, told, stats, changed };
}

function subscriber(clientId: string, isStored = false): FakeSubscriber {
  return Object.assign(new FakeSubscriber(clientId), { isStored });
}

function levelsOf(table: FilterTable, topic: string): (readonly [number, Interest])[] {
  return table
    .match(topic)
    .flatMap(({ peers }) => [...(peers ?? [])])
    .map(([{ index }, level]) => [index, level] as const);
}

test('the others are told of the first subscription and of the last that goes', () => {
  const { table, told } = bench();
  const [a, b] = [subscriber('a'), subscriber('b')];
  void table.add('t/+', undefined, deliveryTo(a));
  void table.add('t/+', undefined, deliveryTo(b));
  void table.add('t/+', undefined, deliveryTo(a, { qos: 2 }));
  assert.deepEqual(told.take(), ['t/+ 1']);
  table.remove('t/+', undefined, a);
  table.remove('t/+', undefined, a);
  assert.deepEqual(told.take(), []);
  table.remove('t/+', undefined, b);
  assert.deepEqual(told.take(), ['t/+ 0']);
  table.remove('t/+', undefined, b);
  assert.deepEqual(told.take(), []);
  assert.deepEqual(table.match('t/1'), []);
});

test('the others are told when the first or last subscriber comes or goes that has a store', () => {
  const { table, told } = bench();
  const plain = subscriber('plain');
  const stored = [subscriber('s0', true), subscriber('s1', true)] as const;
  void table.add('t', undefined, deliveryTo(plain));
  void table.add('t', undefined, deliveryTo(stored[0]));
  void table.add('t', undefined, deliveryTo(stored[1]));
  void table.add('t', undefined, deliveryTo(stored[1], { qos: 1 }));
  assert.deepEqual(told.take(), ['t 1', 't 2']);
  table.remove('t', undefined, stored[0]);
  assert.deepEqual(told.take(), []);
  table.remove('t', undefined, stored[1]);
  assert.deepEqual(told.take(), ['t 1']);
  table.remove('t', undefined, plain);
  assert.deepEqual(told.take(), ['t 0']);
  void table.add('t', undefined, deliveryTo(stored[0]));
  assert.deepEqual(told.take(), ['t 2'], 'at once');
});

test('a second subscriber waits for the announcement that is under way, a third for none', async () => {
  const { table, told } = bench();
  const first = table.add('t', undefined, deliveryTo(subscriber('a')));
  const second = table.add('t', undefined, deliveryTo(subscriber('b')));
  assert.ok(first !== undefined);
  assert.equal(second, first);
  told.waits[0]?.resolve();
  await first;
  assert.equal(table.add('t', undefined, deliveryTo(subscriber('c'))), undefined);
});

test('less interest keeps nobody waiting, and does not end the wait for more', () => {
  const { table } = bench();
  const stored = subscriber('s', true);
  void table.add('t', undefined, deliveryTo(subscriber('a')));
  const raised = table.add('t', undefined, deliveryTo(stored));
  table.remove('t', undefined, stored);
  assert.equal(table.add('t', undefined, deliveryTo(subscriber('b'))), raised);
});

test('an announcement that fails keeps nobody who comes later waiting', async () => {
  const { table, told } = bench();
  const wait = table.add('t', undefined, deliveryTo(subscriber('a')));
  told.waits[0]?.reject(new Error('gone'));
  await assert.rejects(Promise.resolve(wait), /gone/);
  assert.equal(table.add('t', undefined, deliveryTo(subscriber('b'))), undefined);
});

test('what other workers want stands on the nodes that match, and is gone when they do not', () => {
  const { table, changed } = bench();
  const [p, q] = [new FakePeer(0), new FakePeer(2)];
  table.setInterest(p, 'a/+', 1);
  table.setInterest(q, 'a/b', 2);
  table.setInterest(p, 'a/b', 2);
  table.setInterest(p, 'a/b', 1);
  assert.deepEqual(
    levelsOf(table, 'a/b').toSorted(([x], [y]) => x - y),
    [
      [0, 1],
      [0, 1],
      [2, 2],
    ],
  );
  assert.deepEqual(changed, ['a/+', 'a/b', 'a/b', 'a/b'], 'Routes have to know');
  table.setInterest(q, 'a/b', 0);
  table.setInterest(q, 'never/heard/of', 0);
  assert.deepEqual(table.match('never/heard/of'), []);
  table.forgetPeer(p);
  assert.deepEqual(table.match('a/b'), []);
});

test('what other workers want is nothing that we announce', () => {
  const { table, told } = bench();
  table.setInterest(new FakePeer(0), 't', 2);
  const state = { group: 'g', filter: 't', clientId: 'm', joinNo: 4 };
  table.setMember(new FakePeer(0), { ...state, isStored: true, isConnected: true });
  assert.deepEqual([...table.interests()], []);
  assert.deepEqual([...table.members()], []);
  assert.deepEqual([...table.names()], []);
  assert.deepEqual(told.take(), []);
});

test('a new worker is told all levels and members of ours', () => {
  const { table } = bench();
  const away = subscriber('away', true);
  away.link = null;
  void table.add('t', undefined, deliveryTo(subscriber('a')));
  void table.add('w/#', undefined, deliveryTo(subscriber('b', true)));
  void table.add('t', 'g', deliveryTo(away), 7);
  assert.deepEqual(
    [...table.interests()],
    [
      ['t', 1],
      ['w/#', 2],
    ],
  );
  assert.deepEqual(
    [...table.members()],
    [{ group: 'g', filter: 't', clientId: 'away', joinNo: 7, isStored: true, isConnected: false }],
  );
});

test('members are announced when they come, change and go, and shared filters are no interest', () => {
  const { table, told } = bench();
  const m = subscriber('m');
  void table.add('t', 'g', deliveryTo(m));
  void table.add('t', 'g', deliveryTo(m, { qos: 1 }));
  table.memberChanged('t', 'g', m);
  table.memberChanged('t', 'g', subscriber('nobody'));
  assert.deepEqual(told.take(), ['+g t m 1', '+g t m 1', '+g t m 1']);
  table.remove('t', 'g', subscriber('m'));
  assert.deepEqual(told.take(), [], 'another session of that name is not the member');
  table.remove('t', 'g', m);
  assert.deepEqual(told.take(), ['-g t m']);
  assert.equal(table.group('t', 'g'), undefined);
});

test('a member elsewhere is dropped by the worker that has it, and by no other', () => {
  const { table, told } = bench();
  const [p, q] = [new FakePeer(0), new FakePeer(2)];
  const state = { group: 'g', filter: 't', clientId: 'm', joinNo: 4, isStored: true } as const;
  table.setMember(p, { ...state, isConnected: true });
  table.setMember(q, { ...state, isConnected: false });
  table.dropMember(p, state);
  assert.equal(table.group('t', 'g')?.size, 1, 'it has moved to the other');
  table.forgetPeer(p);
  assert.equal(table.group('t', 'g')?.size, 1);
  table.dropMember(q, state);
  assert.equal(table.group('t', 'g'), undefined);
  table.dropMember(q, state);
  assert.deepEqual(told.take(), []);
});

test('a member that moves here takes its place among the others with it', () => {
  const { table } = bench();
  const p = new FakePeer(0);
  const member = (clientId: string, joinNo: number): MemberState => ({
    group: 'g',
    filter: 't',
    clientId,
    joinNo,
    isStored: true,
    isConnected: true,
  });
  for (const [i, name] of ['a', 'b', 'c'].entries()) table.setMember(p, member(name, i + 10));
  void table.add('t', 'g', deliveryTo(subscriber('b')), 11);
  const group = table.group('t', 'g');
  const names = [0, 1, 2].map((i) => group?.memberAt(i).session.clientId);
  assert.deepEqual(names, ['a', 'b', 'c']);
  assert.equal(group?.joinNoOf('b'), 11);
  table.dropMember(p, member('b', 11));
  assert.equal(group?.size, 3, 'it is ours now');
});

test('a member that begins anew here is not lost to late news of where it was', () => {
  const { table } = bench();
  const p = new FakePeer(0);
  const state = { group: 'g', filter: 't', clientId: 'm', joinNo: 1, isStored: true } as const;
  // So that the next number is not the one that it had.
  void table.add('t', 'g', deliveryTo(subscriber('other')));
  table.setMember(p, { ...state, isConnected: true });
  const again = subscriber('m');
  void table.add('t', 'g', deliveryTo(again));
  table.setMember(p, { ...state, isConnected: false });
  table.dropMember(p, state);
  assert.equal(table.group('t', 'g')?.sessionOf('m'), again);
});

test('a filter of several workers is counted by the first of them alone', () => {
  const { table, stats } = bench(1);
  const a = subscriber('a');
  const counts = (): number[] => [stats.count('topics'), stats.count('subscribers')];
  void table.add('t', undefined, deliveryTo(a));
  assert.deepEqual(counts(), [1, 1]);
  table.setInterest(new FakePeer(2), 't', 1);
  assert.deepEqual(counts(), [1, 1], 'we are first');
  const first = new FakePeer(0);
  table.setInterest(first, 't', 1);
  assert.deepEqual(counts(), [0, 1]);
  table.forgetPeer(first);
  assert.deepEqual(counts(), [1, 1]);
  const state = { group: 'g', filter: 't', clientId: 'm', joinNo: 4 };
  table.setMember(first, { ...state, isStored: false, isConnected: true });
  assert.deepEqual(counts(), [0, 1], 'a shared subscription is one as well');
  table.dropMember(first, state);
  table.remove('t', undefined, a);
  assert.deepEqual(counts(), [0, 0]);
});
