import assert from 'node:assert/strict';
import test from 'node:test';
import { encodePublish } from '#wire/encode-publish';
import { Message } from '#core/message';
import type { Engine } from './engine.ts';
import { Table } from './table.ts';
import { HandJournal, makeMemory } from './journal-fixture.ts';
import { retainedKey } from './keys.ts';
import { openTemporary } from './lmdb/store-fixture.ts';
import { MemoryEngine } from './memory-engine.ts';
import { retainedContract } from './retained-contract.ts';
import { benchOn, publisher, retainedMessage } from './retained-fixture.ts';
import { RetainedTable } from './retained-store.ts';
import { StoreDamaged } from './store-damaged.ts';

retainedContract('memory', makeMemory);
retainedContract('LMDB', openTemporary);

test('a retained message does not need the read buffer it came in', () => {
  const frame = encodePublish(
    {
      type: 'publish',
      topic: 't',
      payload: Buffer.from('payload'),
      qos: 0,
      dup: false,
      retain: true,
      packetId: 0,
      properties: {},
    },
    4,
  );
  const message = Message.borrowed(
    't',
    frame[0] as number,
    undefined,
    publisher,
    0,
    frame,
    0,
    0,
    frame.length - 7,
    frame.length,
    false,
    true,
  );
  const bench = benchOn(new MemoryEngine());
  bench.retained.put(message, 1);
  frame.fill(0xee);
  assert.deepEqual(bench.found('#'), ['t=payload']);
});

test('a retained message that cannot be read is damage', async () => {
  const { journal, found } = benchOn(new MemoryEngine());
  for (const value of [Buffer.alloc(0), Buffer.alloc(3), Buffer.alloc(100)]) {
    journal.open.put(Table.retained, retainedKey('a/b'), value);
    await journal.flush();
    assert.throws(() => found('a/b'), StoreDamaged);
    assert.throws(() => found('a/+'), StoreDamaged);
  }
});

test('a message that cannot be stored, or not be looked up, leaves nothing behind', async () => {
  const engine: Engine = new MemoryEngine();
  const bench = benchOn(engine);
  const impossible = new Message('t', Buffer.from('x'), 0, true, undefined, publisher, -1);
  assert.throws(() => bench.retained.put(impossible, 1), RangeError);
  engine.has = () => {
    throw new Error('Cannot read');
  };
  const message = retainedMessage('t', 'x');
  assert.throws(() => bench.retained.put(message, 1), /Cannot read/);
  assert.throws(() => bench.retained.delete('t'), /Cannot read/);
  assert.deepEqual([bench.found('#'), bench.retained.size, bench.journal.openWrites], [[], 0, 0]);
  await bench.journal.flush();
  assert.equal(new RetainedTable(new HandJournal(engine), () => {}).size, 0);
});

test('taking back a failed batch reads nothing', async () => {
  const engine: Engine = new MemoryEngine();
  const bench = benchOn(engine);
  bench.put('a', '1');
  await bench.journal.flush();
  bench.put('a', '2');
  bench.put('b', '2');
  let isAsked = false;
  engine.has = () => (isAsked = true);
  engine.get = () => assert.fail('the engine was asked');
  await bench.journal.fail();
  assert.equal(isAsked, false);
  assert.deepEqual([bench.found('#'), bench.retained.size], [['a=1'], 1]);
});
