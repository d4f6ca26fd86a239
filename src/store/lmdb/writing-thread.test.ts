import assert from 'node:assert/strict';
import test from 'node:test';
import { Batch } from '../batch.ts';
import { Table } from '../table.ts';
import { WritingThread } from './writing-thread.ts';

function entryOf(code: string): URL {
  return new URL(`data:text/javascript,${encodeURIComponent(code)}`);
}

function batchOfOne(): Batch {
  const batch = new Batch();
  batch.put(Table.queue, Buffer.from('a'), Buffer.from('1'));
  return batch;
}

test('WritingThread that cannot start refuses the commit under way and all later ones', async () => {
  const writing = new WritingThread(entryOf(`throw new Error('no such module');`));
  const batch = batchOfOne();
  const expected = /^Error: Cannot write to the store: no such module, restart the broker$/;
  await assert.rejects(writing.commit(batch), expected);
  assert.equal(batch.length, 0);
  await assert.rejects(writing.commit(batchOfOne()), expected);
  await writing.close();
});

test('WritingThread that ends in the middle refuses the commit under way and all later ones', async () => {
  const code = `import { parentPort } from 'node:worker_threads';
    parentPort.on('message', ({ port }) => port?.on('message', () => process.exit()));`;
  const writing = new WritingThread(entryOf(code));
  writing.open('nowhere');
  const expected = /Cannot write to the store: its thread ended, restart the broker/;
  await assert.rejects(writing.commit(batchOfOne()), expected);
  await assert.rejects(writing.commit(batchOfOne()), expected);
  await writing.close();
});

test('WritingThread that cannot open the store refuses to commit', async () => {
  const writing = new WritingThread();
  writing.open('/dev/null/nowhere');
  await assert.rejects(writing.commit(batchOfOne()), /Cannot write to the store: .*ENOTDIR/);
  await writing.close();
});
