import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import test from 'node:test';
import { Batch } from '../batch.ts';
import { Table } from '../table.ts';
import { type Environment, openRoot, openTables } from './environment.ts';
import { TemporaryStore } from './store-fixture.ts';
import { WritingClient } from './writing-client.ts';
import { WritingThread } from './writing-thread.ts';

/** A thread that writes, those who write through it, and the store as one who reads it sees it. */
class Bench implements AsyncDisposable {
  readonly #store = new TemporaryStore();
  readonly #environment: Environment;
  readonly writing = new WritingThread();
  readonly clients: readonly WritingClient[];

  constructor(clients: number) {
    mkdirSync(this.#store.dir);
    const root = openRoot(this.#store.dir, 'write');
    this.#environment = root.transactionSync(() => openTables(root));
    this.clients = Array.from({ length: clients }, () => this.connect());
    this.writing.open(this.#store.dir);
  }

  connect(): WritingClient {
    return new WritingClient(this.writing.connect().port);
  }

  get transactions(): number {
    this.#environment.root.resetReadTxn();
    return (this.#environment.root.getStats() as { readonly lastTxnId: number }).lastTxnId;
  }

  names(): string[] {
    const { root, tables } = this.#environment;
    root.resetReadTxn();
    return Array.from(tables[Table.records]?.getKeys() ?? [], String);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.writing.close();
    await this.#environment.root.close();
    await this.#store[Symbol.asyncDispose]();
  }
}

function named(name: string): Batch {
  const batch = new Batch();
  batch.put(Table.records, Buffer.from(name), Buffer.alloc(100));
  return batch;
}

/** Takes long enough for others to post something. */
function large(): Batch {
  const batch = new Batch();
  for (let i = 0; i < 50_000; i += 1) {
    batch.put(Table.queue, Buffer.from(`${i}`), Buffer.alloc(100));
  }
  return batch;
}

test('what arrives while a batch is written goes into the next transaction together', async () => {
  await using bench = new Bench(8);
  const [first, ...others] = bench.clients as [WritingClient, ...WritingClient[]];
  await first.commit(named('warm'));
  const before = bench.transactions;
  const commits = [first.commit(large())];
  commits.push(...others.map((client, i) => client.commit(named(`of ${i}`))));
  await Promise.all(commits);
  assert.ok(bench.transactions - before <= 2, `${bench.transactions - before} transactions`);
  assert.equal(bench.names().length, 8);
});

test('a batch that cannot be written is refused alone, and is as it was', async () => {
  await using bench = new Bench(5);
  const [first, bad, ...others] = bench.clients as [
    WritingClient,
    WritingClient,
    ...WritingClient[],
  ];
  const wrong = named('wrong');
  wrong.put(200 as Table, Buffer.from('a'), Buffer.alloc(0));
  const bytes = Buffer.from(wrong.bytes.subarray(0, wrong.length));
  const commits = [first.commit(large()), bad.commit(wrong)];
  commits.push(...others.map((client, i) => client.commit(named(`of ${i}`))));
  const settled = await Promise.allSettled(commits);
  const statuses = settled.map(({ status }) => status);
  assert.deepEqual(statuses.indexOf('rejected'), 1);
  assert.deepEqual(statuses.lastIndexOf('rejected'), 1);
  await assert.rejects(commits[1] as Promise<void>, /Cannot write to table 200/);
  assert.deepEqual(wrong.bytes.subarray(0, wrong.length), bytes);
  assert.deepEqual(bench.names(), ['of 0', 'of 1', 'of 2']);
  await bad.commit(named('right'));
  assert.deepEqual(bench.names(), ['of 0', 'of 1', 'of 2', 'right']);
});

test('who leaves has all written that it has posted, and the others go on', async () => {
  await using bench = new Bench(1);
  const { port, left } = bench.writing.connect();
  const leaver = new WritingClient(port);
  const last = leaver.commit(named('last'));
  // Nobody waits for the answer any more.
  port.close();
  await left;
  assert.deepEqual(bench.names(), ['last']);
  leaver.ended(undefined);
  await assert.rejects(last, /its thread ended/);
  await bench.clients[0]?.commit(named('later'));
  assert.deepEqual(bench.names(), ['last', 'later']);
});

test('who comes when the thread is over is told so', async () => {
  await using bench = new Bench(0);
  await bench.writing.close();
  const { port, left } = bench.writing.connect();
  await assert.rejects(left, /Cannot write to the store: its thread ended/);
  port.close();
});
