// A process for tests that end it: opens the store of the directory it is given and prints "open".
// With "commits" it then commits batches of ten records without end and prints the number of each
// that has resolved; with "reading" it stops while the store is being read; with "idle" it commits
// once and does nothing more; with "exit" and "throw" it ends while a large batch is being written.

import { invariant } from '#base/assert';
import { Batch } from '../batch.ts';
import { Table } from '../table.ts';
import type { LmdbEngine } from './engine.ts';
import { openLmdb } from './open.ts';
import { silentLog } from './store-fixture.ts';

const recordsPerBatch = 10;

const [dir, what] = process.argv.slice(2);
invariant(dir !== undefined, 'the fixture is given a directory');

const print = (line: string | number): unknown => process.stdout.write(`${line}\n`);

async function commit(
  engine: LmdbEngine,
  number: number,
  records: number = recordsPerBatch,
): Promise<void> {
  const batch = new Batch();
  for (let i = 0; i < records; i += 1) {
    const key = Buffer.alloc(8);
    key.writeUInt32BE(number);
    key.writeUInt32BE(i, 4);
    batch.put(Table.queue, key, Buffer.alloc(200, number));
  }
  await engine.commit(batch);
}

await openLmdb({ dir, onCorrupt: 'stop', log: silentLog() }, async (engine) => {
  print('open');
  if (what === 'reading') await new Promise((resolve) => process.stdin.once('data', resolve));
  if (what === 'idle') await commit(engine, 0);
  if (what === 'commits') void goOn(engine);
  if (what === 'exit' || what === 'throw') {
    await commit(engine, 0);
    void commit(engine, 1, 60_000);
    // By then the thread is in the middle of it.
    setTimeout(() => {
      if (what === 'exit') process.exit(7);
      throw new Error('a mistake of ours');
    }, 30);
  }
});

async function goOn(engine: LmdbEngine): Promise<void> {
  for (let number = engine.count(Table.queue) / recordsPerBatch; ; number += 1) {
    await commit(engine, number);
    print(number);
  }
}
