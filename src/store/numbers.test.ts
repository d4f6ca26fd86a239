import assert from 'node:assert/strict';
import test from 'node:test';
import { Worker } from 'node:worker_threads';
import { Batch } from './batch.ts';
import { numberKey, numberMax, pairKey, passageKey } from './keys.ts';
import { MemoryEngine } from './memory-engine.ts';
import { NumberKind, Numbers, numbersAfter } from './numbers.ts';
import { Table } from './table.ts';

test('numbers are above all that were used, and grow', () => {
  for (const used of [0, 1, 65_535, 65_536, 2 ** 40 + 5]) {
    const numbers = new Numbers(Numbers.memory({ session: used, body: 0 }), NumberKind.session);
    let last = used;
    for (let i = 0; i < 200_000; i += 1) {
      const next = numbers.next();
      assert.ok(next > last);
      last = next;
    }
  }
});

test('no two takers of one kind get the same number, whatever the others take', () => {
  const memory = Numbers.memory({ session: 0, body: 2 ** 30 });
  const takers = Array.from({ length: 3 }, () => new Numbers(memory, NumberKind.session));
  const bodies = new Numbers(memory, NumberKind.body);
  const taken = new Set<number>();
  for (let i = 0; i < 100_000; i += 1) {
    for (const taker of takers) taken.add(taker.next());
    assert.equal(bodies.next() > 2 ** 30, true);
  }
  assert.equal(taken.size, 300_000);
});

test('threads take numbers from one memory without asking each other', async () => {
  const memory = Numbers.memory({ session: 0, body: 0 });
  const module = new URL('numbers.ts', import.meta.url).href;
  const code = `import { parentPort, workerData } from 'node:worker_threads';
    const { Numbers } = await import('${module}');
    const numbers = new Numbers(workerData, 0);
    parentPort.postMessage(Array.from({ length: 150_000 }, () => numbers.next()));`;
  const entry = new URL(`data:text/javascript,${encodeURIComponent(code)}`);
  const take = (): Promise<number[]> =>
    new Promise((resolve, reject) => {
      const worker = new Worker(entry, { workerData: memory });
      worker.once('message', resolve);
      worker.once('error', reject);
    });
  const lists = await Promise.all([take(), take(), take()]);
  assert.equal(new Set(lists.flat()).size, 450_000);
});

test('the last numbers there are can be taken, and no more', () => {
  const last = (2 ** 32 - 2 ** 16) * 2 ** 16 - 1;
  assert.ok(last < numberMax);
  const memory = Numbers.memory({ session: last - 2 ** 16, body: 0 });
  const numbers = new Numbers(memory, NumberKind.session);
  for (let i = 1; i < 2 ** 16; i += 1) numbers.next();
  assert.equal(numbers.next(), last);
  assert.throws(() => numbers.next(), /there are numbers left/);
  assert.throws(() => numbers.next(), /there are numbers left/);
  assert.throws(() => Numbers.memory({ session: numberMax, body: 0 }), /there are numbers left/);
});

test('nothing in a store speaks of a number that is given out', async () => {
  const high = 5 * 65_536 + 3;
  const writes: [string, (batch: Batch) => void][] = [
    ['a session', (batch) => batch.put(Table.sessions, numberKey(high), Buffer.alloc(0))],
    ['a rest', (batch) => batch.put(Table.subscriptions, pairKey(high, 1), Buffer.alloc(0))],
    ['a queue', (batch) => batch.put(Table.queue, pairKey(high, 1), Buffer.alloc(0))],
    ['an id', (batch) => batch.put(Table.taken, pairKey(high, 1), Buffer.alloc(0))],
    ['an end', (batch) => batch.put(Table.ended, numberKey(high), Buffer.alloc(0))],
    ['a publisher', (batch) => batch.put(Table.passages, passageKey(high, 1, 1), Buffer.alloc(0))],
    ['a receiver', (batch) => batch.put(Table.passages, passageKey(1, 1, high), Buffer.alloc(0))],
    ['a body', (batch) => batch.put(Table.bodies, numberKey(high), Buffer.alloc(0))],
  ];
  for (const [what, write] of writes) {
    const engine = new MemoryEngine();
    const batch = new Batch();
    write(batch);
    await engine.commit(batch);
    const memory = numbersAfter(engine);
    const kind = what === 'a body' ? NumberKind.body : NumberKind.session;
    assert.ok(new Numbers(memory, kind).next() > high, what);
  }
});
