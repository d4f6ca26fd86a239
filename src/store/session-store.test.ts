import assert from 'node:assert/strict';
import test from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { unstored } from '#core/store-port';
import { foundIn, sessionIn, storeBench, tableSizes } from '#test/store-bench';
import { Batch } from './batch.ts';
import { numberKey, pairKey } from './keys.ts';
import {
  delivery,
  headOf,
  ownMessage,
  payloadsOf,
  sharedMessage,
} from './session-store-fixture.ts';
import { StoreDamaged } from './store-damaged.ts';
import { Table } from './table.ts';

test('a message comes back with everything that its delivery asked for', async () => {
  const bench = storeBench();
  const session = sessionIn(bench);
  const wanted = [
    { qos: 1, retainAsPublished: false, isReplay: false },
    { qos: 2, retainAsPublished: true, isReplay: false, subscriptionIds: [7] },
    { qos: 0, retainAsPublished: false, isReplay: true, subscriptionIds: [1, 268_435_455] },
    { qos: 2, group: { name: 'g', filter: 'up/t/#', redispatch: () => undefined } },
  ] as const;
  const properties = { contentType: 'text', userProperties: [['a', 'b']] as [string, string][] };
  for (const message of [ownMessage('x', { properties }), sharedMessage('x', { properties })]) {
    for (const [i, options] of wanted.entries()) session.put(i + 1, message, delivery(options));
    await bench.store.flushed();
    const entries = session.read(1, wanted.length, 100);
    assert.deepEqual(
      entries.map(({ seq, options }) => ({ seq, ...options })),
      wanted.map((options, i) => ({
        seq: i + 1,
        retainAsPublished: false,
        isReplay: false,
        subscriptionIds: undefined,
        ...options,
        group: 'group' in options ? { name: 'g', filter: 'up/t/#' } : undefined,
      })),
    );
    for (const entry of entries) {
      assert.equal(entry.message?.topic, 't');
      assert.equal(entry.message?.payload.toString(), 'x');
      assert.deepEqual(entry.message?.properties, properties);
      assert.deepEqual(entry.message?.from, message.from);
    }
  }
});

test('messages are read in the order of their numbers, from one to another, so many at most', async () => {
  const bench = storeBench();
  const session = sessionIn(bench);
  const other = sessionIn(bench, 'other');
  for (const seq of [1, 2, 3, 255, 256, 65_536, 2 ** 40]) {
    session.put(seq, ownMessage(`${seq}`), delivery());
    other.put(seq, ownMessage('not ours'), delivery());
  }
  assert.deepEqual(session.read(0, 2 ** 41, 100), [], 'nothing is flushed');
  await bench.store.flushed();
  const seqs = (from: number, through: number, max: number): number[] =>
    session.read(from, through, max).map(({ seq }) => seq);
  assert.deepEqual(seqs(0, 2 ** 41, 100), [1, 2, 3, 255, 256, 65_536, 2 ** 40]);
  assert.deepEqual(seqs(2, 256, 100), [2, 3, 255, 256]);
  assert.deepEqual(seqs(2, 256, 2), [2, 3]);
  assert.deepEqual(seqs(4, 254, 100), []);
  assert.deepEqual(session.extent(0), { count: 7, lastSeq: 2 ** 40 });
  assert.deepEqual(session.extent(256), { count: 3, lastSeq: 2 ** 40 });
  assert.deepEqual(session.extent(2 ** 40 + 1), { count: 0, lastSeq: 0 });
});

for (const [kind, make] of [
  ['of its own', ownMessage],
  ['that several hold', sharedMessage],
] as const) {
  test(`a message ${kind} that is settled before it is written is never written`, async () => {
    const bench = storeBench();
    const session = sessionIn(bench);
    await bench.store.flushed();
    bench.engine.hold();
    const message = make('x');
    session.settle(1, message, session.put(1, message, delivery()));
    session.put(2, ownMessage('stays'), delivery());
    const commit = await bench.engine.next();
    assert.equal(commit.writes.filter((write) => write.endsWith('queue')).length, 1);
    commit.resolve();
    await bench.store.flushed();
    assert.deepEqual(payloadsOf(session), ['stays']);
    assert.deepEqual(tableSizes(bench), { sessions: 1, queue: 1 });
  });

  test(`a message ${kind} that is settled while it is written goes with the next flush`, async () => {
    const bench = storeBench();
    const session = sessionIn(bench);
    bench.engine.hold();
    const message = make('x');
    const receipt = session.put(1, message, delivery());
    const commit = await bench.engine.next();
    session.settle(1, message, receipt);
    assert.equal(session.isSettled, false);
    commit.resolve();
    await turn();
    assert.deepEqual(payloadsOf(session), ['x']);
    assert.equal(session.isSettled, false);
    bench.engine.pass();
    await bench.store.flushed();
    assert.equal(session.isSettled, true);
    assert.deepEqual(tableSizes(bench), { sessions: 1 });
  });

  test(`a message ${kind} that is settled by the next process is gone`, async () => {
    const before = storeBench();
    const session = sessionIn(before);
    session.put(1, make('x'), delivery());
    await before.store.flushed();
    const bench = before.again();
    const { store } = foundIn(bench);
    const [entry] = store.read(0, 10, 10);
    assert.ok(entry !== undefined);
    store.settle(entry.seq, entry.message, entry.receipt);
    await bench.store.flushed();
    assert.deepEqual(tableSizes(bench), { sessions: 1 });
  });

  test(`a message ${kind} that the client has is a number until it is settled`, async () => {
    const before = storeBench();
    const session = sessionIn(before);
    const message = make('x');
    const receipt = session.put(1, message, delivery());
    await before.store.flushed();
    const released = session.release(1, message, receipt);
    await before.store.flushed();
    assert.deepEqual(tableSizes(before), { sessions: 1, queue: 1 });
    const bench = before.again();
    const { store } = foundIn(bench);
    const [entry] = store.read(0, 10, 10);
    assert.deepEqual([entry?.seq, entry?.message, entry?.options.qos], [1, undefined, 2]);
    store.settle(1, undefined, released);
    await bench.store.flushed();
    assert.deepEqual(tableSizes(bench), { sessions: 1 });
  });

  test(`a message ${kind} is shed as it is settled, but nobody waits for that`, async () => {
    const bench = storeBench();
    const session = sessionIn(bench);
    const message = make('x');
    const receipt = session.put(1, message, delivery());
    await bench.store.flushed();
    session.shed(1, message, receipt);
    assert.equal(session.isSettled, true);
    await bench.store.flushed();
    assert.deepEqual(tableSizes(bench), { sessions: 1 });
  });
}

test('a message that was not stored leaves nothing to settle or release', async () => {
  const bench = storeBench();
  const session = sessionIn(bench);
  session.settle(1, ownMessage('x'), unstored);
  session.shed(1, ownMessage('x'), unstored);
  assert.equal(session.release(1, ownMessage('x'), unstored), unstored);
  await bench.store.flushed();
  assert.deepEqual(tableSizes(bench), { sessions: 1 });
});

test('who watches is told how far the messages of each batch are on disk, or which are not', async () => {
  const bench = storeBench();
  const [session, other] = [sessionIn(bench), sessionIn(bench, 'other')];
  await bench.store.flushed();
  const told: string[] = [];
  session.watcher = {
    onFlushed: (through) => told.push(`through ${through}`),
    onRefused: (from, through) => told.push(`not ${from} to ${through}`),
  };
  bench.engine.hold();
  for (const seq of [1, 2, 3]) session.put(seq, ownMessage('x'), delivery());
  const one = await bench.engine.next();
  for (const seq of [4, 5]) session.put(seq, ownMessage('x'), delivery());
  one.resolve();
  const two = await bench.engine.next();
  assert.deepEqual(told, ['through 3']);
  other.put(1, ownMessage('x'), delivery());
  two.reject();
  await turn();
  assert.deepEqual(told, ['through 3', 'not 4 to 5']);
  bench.clock.advance(100);
  (await bench.engine.next()).resolve();
  await turn();
  assert.deepEqual(told, ['through 3', 'not 4 to 5'], 'the other batch had none of its messages');
});

test('packet ids that are taken are known to the next process, oldest first', async () => {
  const before = storeBench();
  const [session, other] = [sessionIn(before), sessionIn(before, 'other')];
  session.take(9, 1000);
  session.take(3, 3000);
  session.take(5, 2000);
  session.take(65_535, 4000);
  other.take(1, 1);
  session.free(5);
  await before.store.flushed();
  session.free(3);
  await before.store.flushed();
  const { store } = foundIn(before.again());
  assert.deepEqual(
    [...store.taken()],
    [
      [9, 1000],
      [65_535, 4000],
    ],
  );
});

test('an id that could not be taken is free for the next process', async () => {
  const before = storeBench();
  const session = sessionIn(before);
  await before.store.flushed();
  before.engine.fail();
  session.take(9, 1000);
  await assert.rejects(before.store.flushed());
  before.engine.pass();
  before.clock.advance(100);
  await before.store.flushed();
  assert.deepEqual([...foundIn(before.again()).store.taken()], []);
});

test('the next process finds heads and subscriptions as they were told last', async () => {
  const before = storeBench();
  const left = headOf('ä', {
    username: '',
    provenUsername: 'u',
    mountpoint: 'up/',
    zone: 'inner',
    expirySeconds: Number.POSITIVE_INFINITY,
    leftAtMs: 5,
    sentSeq: 2 ** 48 - 1,
  });
  const session = before.store.createSession(headOf('ä'));
  session.update(left);
  const subscription = {
    filter: '$share/g/a/+',
    routed: 'up/a/+',
    group: 'g',
    qos: 1,
    noLocal: false,
    retainAsPublished: true,
    retainHandling: 2,
    subscriptionId: 268_435_455,
  } as const;
  const plain = {
    filter: 'ü/#',
    routed: 'up/ü/#',
    group: undefined,
    qos: 2,
    noLocal: true,
    retainAsPublished: false,
    retainHandling: 0,
    subscriptionId: undefined,
  } as const;
  const long = { ...plain, filter: `${'x'.repeat(5000)}/#`, routed: `up/${'x'.repeat(5000)}/#` };
  session.subscribe({ ...plain, qos: 0 });
  session.subscribe(plain);
  session.subscribe(subscription);
  session.subscribe(long);
  session.subscribe({ ...plain, filter: 'gone', routed: 'up/gone' });
  session.unsubscribe('gone');
  session.unsubscribe('never there');
  await before.store.flushed();
  const found = foundIn(before.again(), 'ä');
  assert.deepEqual(found.head, left);
  assert.deepEqual(
    found.subscriptions.toSorted((a, b) => a.filter.length - b.filter.length),
    [plain, subscription, long],
  );
});

test('more sessions than are read at once are all found, each with its own subscriptions', async () => {
  const before = storeBench();
  const count = 2500;
  for (let i = 0; i < count; i++) {
    const session = sessionIn(before, `client-${i}`);
    if (i % 3 === 0) {
      const options = { qos: 1, noLocal: false, retainAsPublished: false, retainHandling: 0 };
      const filter = `f/${i}`;
      const more = { filter, routed: filter, group: undefined, subscriptionId: undefined };
      session.subscribe({ ...options, ...more } as Parameters<typeof session.subscribe>[0]);
    }
  }
  await before.store.flushed();
  const found = [...before.again().store.sessions()];
  assert.equal(found.length, count);
  for (const { head, subscriptions } of found) {
    const i = Number(head.clientId.slice(7));
    const filters = subscriptions.map(({ filter }) => filter);
    assert.deepEqual(filters, i % 3 === 0 ? [`f/${i}`] : []);
  }
});

test('a session of the next process does not inherit what an older one left', async () => {
  const before = storeBench();
  const old = sessionIn(before, 'old');
  old.put(1, ownMessage('x'), delivery());
  old.take(1, 1);
  await before.store.flushed();
  const bench = before.again();
  const young = sessionIn(bench, 'young');
  await bench.store.flushed();
  assert.deepEqual(payloadsOf(young), []);
  assert.deepEqual([...young.taken()], []);
  assert.deepEqual(payloadsOf(foundIn(bench, 'old').store), ['x']);
});

test('a record that nobody can read is told about and passed over, the others come', async () => {
  const before = storeBench();
  const session = sessionIn(before);
  for (const seq of [1, 10]) session.put(seq, ownMessage(`${seq}`), delivery());
  await before.store.flushed();
  const damaged: Buffer[] = [
    Buffer.alloc(0),
    Buffer.of(9, 0),
    Buffer.of(1),
    Buffer.of(1, 0x04),
    Buffer.of(1, 0x07, 1, 2, 3, 4, 5, 6),
    Buffer.of(1, 0x05, 1, 2),
    Buffer.concat([Buffer.of(1, 0x05), numberKey(4711)]),
    Buffer.of(1, 0x45, 0xff, 0xff),
  ];
  const batch = new Batch();
  for (const [i, value] of damaged.entries()) {
    batch.put(Table.queue, pairKey(session.no, 2 + i), value);
  }
  await before.engine.commit(batch);
  const bench = before.again();
  assert.deepEqual(payloadsOf(foundIn(bench).store), ['1', '10']);
  assert.equal(bench.faults.length, damaged.length);
  for (const fault of bench.faults) assert.ok(fault instanceof StoreDamaged);
});
