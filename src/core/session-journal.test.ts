import assert from 'node:assert/strict';
import test from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { foundIn, sessionIn, type StoreBench, storeBench } from '#test/store-bench';
import { deliveryTo, FakeSubscriber, messageOn } from './session-fixture.ts';
import { type JournalOwner, packetIdOf, SessionJournal, sentUnknown } from './session-journal.ts';
import type { SessionStore, StoredEntry } from './store-port.ts';

const delivery = deliveryTo(new FakeSubscriber('s'), { qos: 2 });
const nowMs = 1_700_000_000_000;

interface Bench extends StoreBench {
  readonly journal: SessionJournal;
  readonly stored: SessionStore;
  readonly told: string[];
  /** Stores messages with these payloads; those that begin with `!` expire after a second. */
  readonly put: (...payloads: string[]) => number[];
}

function journalOn(
  bench: StoreBench,
  stored: SessionStore,
  options: { isSync?: boolean; restored?: { sentSeq: number } } = {},
): Bench {
  const told: string[] = [];
  const owner: JournalOwner = {
    onFlushed: () => told.push('flushed'),
    onRefused: (from, through) => told.push(`refused ${from} to ${through}`),
    onFault: (error) => told.push(`fault ${(error as Error).message}`),
  };
  const { isSync = true, restored } = options;
  const journal = new SessionJournal(bench.store, stored, owner, isSync, restored);
  const put = (...payloads: string[]): number[] =>
    payloads.map((payload) => {
      const properties = payload.startsWith('!') ? { messageExpirySeconds: 1 } : undefined;
      const given = { payload, qos: 1, timestampMs: nowMs, ...(properties && { properties }) };
      return journal.put(messageOn('t', given as object), delivery, nowMs);
    });
  return { ...bench, journal, stored, told, put };
}

function newSession(isSync = true): Bench {
  const bench = storeBench();
  return journalOn(bench, sessionIn(bench), { isSync });
}

/** The session of the last process, which put these messages, and how it left. */
async function restored(
  payloads: readonly string[],
  how: { sentSeq: number } = { sentSeq: 0 },
): Promise<Bench> {
  const before = newSession();
  before.put(...payloads);
  await before.store.flushed();
  const bench = before.again();
  return journalOn(bench, foundIn(bench).store, { restored: how });
}

const texts = (entries: readonly StoredEntry[]): string[] =>
  entries.map(({ message }) => message?.payload.toString() ?? 'released');

/** Everything that is parked, in slices of so many. */
function unparkAll({ journal }: Bench, slice: number): string[] {
  const all: string[] = [];
  while (journal.parkedCount > 0) all.push(...texts(journal.unpark(slice)));
  return all;
}

const numbered = (count: number): string[] => Array.from({ length: count }, (_, i) => `${i}`);

test('the messages of a new session are numbered from one on', async () => {
  const { journal, put, store } = newSession();
  assert.deepEqual(put('a', 'b', 'c'), [1, 2, 3]);
  assert.equal(journal.parkedCount, 0);
  await store.flushed();
  assert.equal(journal.parkedCount, 0, 'they are in memory as well');
});

test('packet ids are made of numbers, and are those of the protocol', () => {
  assert.deepEqual([1, 2, 65_535, 65_536, 65_537].map(packetIdOf), [1, 2, 65_535, 1, 2]);
  assert.equal(packetIdOf(nowMs * 16), ((nowMs * 16 - 1) % 65_535) + 1);
});

test('the numbers of the next process are beyond all that the last one could have given', async () => {
  const { put } = await restored(['a', 'b']);
  assert.deepEqual(put('c', 'd'), [nowMs * 16, nowMs * 16 + 1]);
});

test('numbers stay beyond those on disk, also when the clock was set back and all came back', async () => {
  for (const isUnparked of [false, true]) {
    const first = await restored([]);
    const [highest] = first.put('a') as [number];
    await first.store.flushed();
    const bench = first.again();
    const how = { sentSeq: 0 };
    const next = journalOn(bench, foundIn(bench).store, { restored: how });
    if (isUnparked) assert.deepEqual(unparkAll(next, 10), ['a']);
    const seq = next.journal.put(messageOn('t', { qos: 1 }), delivery, nowMs - 1_000_000);
    assert.equal(seq, highest + 1);
    await next.store.flushed();
    assert.equal(next.stored.extent(0).count, 2, 'nothing was written over');
  }
});

test('a message is safe to send once it is on disk; where nobody waits for the disk, at once', async () => {
  const sync = newSession();
  const [seq] = sync.put('a') as [number];
  assert.equal(sync.journal.isSafe(seq), false);
  assert.equal(sync.journal.mayPark({ seq, receipt: sync.journal.receipt }), false);
  await sync.store.flushed();
  assert.equal(sync.journal.isSafe(seq), true);
  assert.equal(sync.journal.mayPark({ seq, receipt: sync.journal.receipt }), true);
  assert.deepEqual(sync.told, ['flushed']);
  const loose = newSession(false);
  const [early] = loose.put('a') as [number];
  assert.equal(loose.journal.isSafe(early), true);
  assert.equal(loose.journal.wait, undefined);
});

test('who waits is told of the flush that has the message, or that it failed', async () => {
  const { journal, engine, told, put } = newSession();
  engine.hold();
  put('a');
  const wait = journal.wait;
  (await engine.next()).reject();
  await assert.rejects(Promise.resolve(wait));
  assert.deepEqual(told, ['refused 1 to 1']);
});

test('what has to be on disk first is done when it is, however often that fails', async () => {
  const { journal, engine, clock, stored, told } = newSession();
  let done = 0;
  engine.fail();
  stored.free(1);
  journal.whenFlushed(() => done++);
  for (let i = 0; i < 3; i++) {
    await turn();
    clock.advance(1000);
  }
  assert.equal(done, 0);
  engine.pass();
  await turn();
  clock.advance(1000);
  for (let i = 0; i < 3; i++) await turn();
  assert.equal(done, 1);
  journal.whenFlushed(() => {
    throw new Error('careless');
  });
  await turn();
  assert.deepEqual(told, ['fault careless']);
});

test('where nobody waits for the disk, nothing has to be on it first', () => {
  const { journal } = newSession(false);
  let done = 0;
  journal.whenFlushed(() => done++);
  assert.equal(done, 1);
});

test('the id of a finished QoS 2 message is kept from others until that is on disk', async () => {
  const { journal, engine, stored, told } = newSession();
  engine.hold();
  stored.free(1);
  journal.finished(7);
  assert.deepEqual([journal.isFinishing(7), journal.isFinishing(8)], [true, false]);
  (await engine.next()).resolve();
  await turn();
  assert.equal(journal.isFinishing(7), false);
  assert.deepEqual(told, ['flushed'], 'somebody may have waited for the id');
});

test('messages that another process left come back in order, a slice at a time', async () => {
  for (const slice of [1, 7, 100, 1000]) {
    const all = numbered(250);
    const bench = await restored(all);
    assert.equal(bench.journal.parkedCount, 250);
    const first = bench.journal.unpark(slice);
    assert.deepEqual(texts(first), all.slice(0, slice));
    assert.equal(bench.journal.parkedCount, Math.max(0, 250 - slice));
    assert.deepEqual(unparkAll(bench, slice), all.slice(slice));
    assert.deepEqual(bench.journal.unpark(slice), []);
  }
});

test('what came after the restart is not among what lies on disk alone', async () => {
  const bench = await restored(['old']);
  bench.put('young');
  await bench.store.flushed();
  assert.equal(bench.journal.parkedCount, 1);
  assert.deepEqual(unparkAll(bench, 10), ['old']);
});

test('of a session that was cut off, everything on disk may have been sent', async () => {
  const { journal } = await restored(['a', 'b', 'c'], { sentSeq: sentUnknown });
  assert.equal(journal.seenSeq, sentUnknown, 'nobody has looked yet');
  assert.equal(journal.parkedCount, 3);
  assert.deepEqual([journal.seenSeq, journal.mayBeSent(3), journal.mayBeSent(4)], [3, true, false]);
  const left = await restored(['a', 'b', 'c'], { sentSeq: 1 });
  assert.equal(left.journal.parkedCount, 3);
  assert.equal(left.journal.seenSeq, 1, 'one that left in order knows it');
});

test('of a session that was cut off, the oldest goes when the queue is full, but not one of QoS 2', async () => {
  const { journal } = await restored(['a', 'b'], { sentSeq: sentUnknown });
  assert.equal(journal.shedParked()?.seq, 1);
  assert.deepEqual(
    journal.unpark(10).map(({ seq }) => seq),
    [2],
  );
});

test('messages that are parked lie on disk alone, older ones before those that were there', async () => {
  const bench = newSession();
  const seqs = bench.put(...numbered(6));
  const { receipt } = bench.journal;
  await bench.store.flushed();
  const entries = seqs.map((seq) => ({ seq, receipt }));
  bench.journal.park(entries.slice(3));
  assert.equal(bench.journal.parkedCount, 3);
  bench.journal.park(entries.slice(0, 3));
  assert.equal(bench.journal.parkedCount, 6);
  assert.deepEqual(unparkAll(bench, 4), numbered(6));
  bench.journal.park(entries.slice(4));
  assert.deepEqual(unparkAll(bench, 4), ['4', '5']);
});

test('the oldest that nobody has seen are shed, and the rest comes back to the last', async () => {
  const bench = await restored(numbered(250), { sentSeq: 5 });
  const { journal } = bench;
  const shed: string[] = [];
  for (let i = 0; i < 60; i++) {
    shed.push(...texts([journal.shedParked() as StoredEntry]));
  }
  assert.deepEqual(shed, numbered(65).slice(5));
  assert.equal(journal.parkedCount, 190);
  const kept = [...numbered(5), ...numbered(250).slice(65)];
  assert.deepEqual(unparkAll(bench, 100), kept, 'although they are still on disk');
  await bench.store.flushed();
  const next = bench.again();
  assert.deepEqual(texts(foundIn(next).store.read(0, 1000, 1000)), kept);
});

test('when all that nobody has seen is shed, there is nothing to shed', async () => {
  const { journal } = await restored(['a', 'b', 'c'], { sentSeq: 1 });
  assert.deepEqual([journal.shedParked()?.seq, journal.shedParked()?.seq], [2, 3]);
  assert.equal(journal.shedParked(), undefined);
  assert.equal(journal.parkedCount, 1);
});

test('what expires on disk is settled there, but not what the client may have', async () => {
  const payloads = numbered(250).map((text, i) => (i % 3 === 0 ? `!${text}` : text));
  const bench = await restored(payloads, { sentSeq: 4 });
  const { journal } = bench;
  const expired: string[] = [];
  const sweep = (atMs: number): number => {
    let steps = 1;
    const note = ({ payload }: { payload: Buffer }): unknown => expired.push(payload.toString());
    while (journal.sweepParked(atMs, note)) steps++;
    return steps;
  };
  assert.equal(sweep(nowMs), 3, 'a slice at a time');
  assert.deepEqual(expired, []);
  sweep(nowMs + 2000);
  const due = payloads.filter((text, i) => text.startsWith('!') && i >= 4);
  assert.deepEqual(expired, due);
  sweep(nowMs + 2000);
  assert.deepEqual(expired, due, 'each is told once, although it is still on disk');
  assert.equal(journal.parkedCount, 250 - due.length);
  const kept = payloads.filter((text) => !due.includes(text));
  assert.deepEqual(unparkAll(bench, 100), kept);
  await bench.store.flushed();
  assert.deepEqual(texts(foundIn(bench.again()).store.read(0, 1000, 1000)), kept);
});

test('where nothing expires, a sweep looks once and not again', async () => {
  const { journal, stored } = await restored(numbered(10));
  let reads = 0;
  const read = stored.read.bind(stored);
  stored.read = (...given) => {
    reads++;
    return read(...given);
  };
  for (let i = 0; i < 5; i++)
    assert.equal(
      journal.sweepParked(nowMs, () => assert.fail()),
      false,
    );
  assert.equal(reads, 1);
});
