// A thread for tests that end it: joins the store it is given a seat at, commits one batch after
// another, and tells the number of each that has resolved. Each has records of its own and one more
// holder of the body that all threads share. Told "throw" or "exit", it ends like that while a commit
// is under way; told "halt", it stops there, and told "read", in the middle of reading besides, to be
// ended from outside; told "close", it ends as it should.

import { parentPort, workerData } from 'node:worker_threads';
import { invariant } from '#base/assert';
import { Batch } from '../batch.ts';
import { Table } from '../table.ts';
import { joinLmdb } from './join.ts';
import { bodyKey, keyOfRecord, recordsPerBatch, type SeatData } from './seat-fixture.ts';

const port = parentPort;
invariant(port !== null, 'seated-fixture.ts is the entry of a thread');
const { seat, name, firstNumber, halt } = workerData as SeatData;
let order: unknown;
port.on('message', (given: unknown) => {
  order = given;
});

const engine = joinLmdb(seat);
for (let number = firstNumber; order !== 'close'; number += 1) {
  const batch = new Batch();
  for (let i = 0; i < recordsPerBatch; i += 1) {
    batch.put(Table.queue, keyOfRecord(name, number, i), Buffer.alloc(200, number));
  }
  batch.refer(Table.bodies, bodyKey, 1);
  const commit = engine.commit(batch);
  if (order === 'throw') throw new Error('a mistake of ours');
  if (order === 'exit') process.exit();
  if (order === 'halt') stop();
  if (order === 'read') engine.range(Table.queue, Buffer.of(0), undefined, stop);
  await commit;
  invariant(engine.has(Table.queue, keyOfRecord(name, number, 0)), 'what was committed is seen');
  port.postMessage(number);
}
await engine.close();
port.close();

/**
 * NOTE: a thread is ended from outside only here. One that is ended inside of LMDB's binding, which
 * takes every failure for a JavaScript exception, ends the process.
 */
function stop(): never {
  port?.postMessage('stopped');
  Atomics.wait(new Int32Array(halt), 0, 0);
  throw new Error('Cannot go on: the thread is ended here');
}
