import assert from 'node:assert/strict';
import test from 'node:test';
import { forEachWrite } from './batch.ts';
import { HandJournal, makeMemory } from './journal-fixture.ts';
import { openTemporary } from './lmdb/store-fixture.ts';
import { MemoryEngine } from './memory-engine.ts';
import { willContract } from './will-contract.ts';
import { WillTable } from './will-store.ts';

willContract('memory', makeMemory);
willContract('LMDB', openTemporary);

test('what is told of a will is tried again when its batch fails', () => {
  const journal = new HandJournal(new MemoryEngine());
  const wills = new WillTable(journal);
  const from = { clientId: 'c', username: undefined, address: '', port: 0 };
  const payload = Buffer.alloc(0);
  const rest = { payload, qos: 0, retain: false, properties: {}, delaySeconds: 0 } as const;
  wills.put('c', { topic: 't', from, dueAtMs: undefined, ...rest });
  wills.delete('c');
  const lasting: boolean[] = [];
  forEachWrite(journal.open.bytes, journal.open.length, (_op, _table, _key, _value, isLasting) => {
    lasting.push(isLasting);
  });
  assert.deepEqual(lasting, [true, true]);
});
