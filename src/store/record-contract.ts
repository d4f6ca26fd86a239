// What core/store-port.ts promises of records, as tests that run on every engine.

import assert from 'node:assert/strict';
import { Table } from './table.ts';
import type { MakeEngine } from './engine-fixture.ts';
import { HandJournal, type OnEngine, onEngine } from './journal-fixture.ts';
import { RecordTable } from './record-store.ts';
import { StoreDamaged } from './store-damaged.ts';

export function recordContract(name: string, make: MakeEngine): void {
  const on = onEngine(`records on ${name}`, make);
  records(on);
  oddRecords(on);
  badRecords(on);
}

function records(on: OnEngine): void {
  on('a record is read at once, after its flush, and by the next process', async (journal) => {
    const bans = new RecordTable(journal, 'bans');
    const value = { who: 'c', until: 5, why: [null, true, 'ü'] };
    bans.put('c', value);
    const check = (table: RecordTable): void => {
      assert.deepEqual(table.get('c'), value);
      assert.equal(table.get('d'), undefined);
      assert.deepEqual([...table.entries()], [['c', value]]);
    };
    check(bans);
    await journal.flush();
    check(bans);
    check(new RecordTable(new HandJournal(journal.engine), 'bans'));
  });

  on('what is read is a copy, before the flush and after', async (journal) => {
    const apps = new RecordTable(journal, 'apps');
    const value = { name: 'as it was' };
    apps.put('a', value);
    value.name = 'changed by the writer';
    for (const isFlushed of [false, true]) {
      if (isFlushed) await journal.flush();
      const read = apps.get('a') as typeof value;
      read.name = 'changed by a reader';
      assert.deepEqual(apps.get('a'), { name: 'as it was' });
    }
  });

  on('a deleted record is gone at once, and back when that failed', async (journal) => {
    const bans = new RecordTable(journal, 'bans');
    bans.put('c', 1);
    await journal.flush();
    bans.delete('c');
    bans.delete('never');
    assert.equal(journal.openWrites, 1);
    assert.deepEqual([bans.get('c'), [...bans.entries()]], [undefined, []]);
    await journal.fail();
    assert.equal(bans.get('c'), 1);
    bans.delete('c');
    await journal.flush();
    assert.deepEqual([bans.get('c'), [...bans.entries()]], [undefined, []]);
  });

  on('a record whose batch failed is taken back, and the older one shows', async (journal) => {
    const bans = new RecordTable(journal, 'bans');
    bans.put('a', 'old');
    await journal.flush();
    bans.put('a', 'new');
    bans.put('b', 'new');
    assert.deepEqual(
      [...bans.entries()],
      [
        ['a', 'new'],
        ['b', 'new'],
      ],
    );
    await journal.fail();
    assert.deepEqual([...bans.entries()], [['a', 'old']]);
    assert.deepEqual([bans.get('a'), bans.get('b')], ['old', undefined]);
  });
}

function oddRecords(on: OnEngine): void {
  on('kinds do not see each other', async (journal) => {
    const tables = ['a', 'a-b', 'ab'].map((kind) => new RecordTable(journal, kind));
    tables.forEach((table, i) => table.put('key', i));
    await journal.flush();
    tables.forEach((table, i) => {
      if (i > 0) table.put('late', i);
      assert.equal(table.get('key'), i);
    });
    assert.deepEqual(
      tables.map((table) => [...table.entries()].length),
      [1, 2, 2],
    );
  });

  on('records have any key and any value that JSON can say', async (journal) => {
    const keys = [
      '',
      'ü/€',
      'k'.repeat(1899),
      'k'.repeat(1900),
      'k'.repeat(70_000),
      '\ud800',
      'a\0b',
    ];
    const rules = new RecordTable(journal, 'rules');
    keys.forEach((key, i) => rules.put(key, [null, 0, '', false, {}, [], 'x'.repeat(100_000)][i]));
    await journal.flush();
    const again = new RecordTable(new HandJournal(journal.engine), 'rules');
    assert.deepEqual(keys.map((key) => again.get(key)).slice(0, 6), [null, 0, '', false, {}, []]);
    const found = Array.from(again.entries(), ([key]) => key);
    assert.deepEqual(found.toSorted(), keys.toSorted());
    for (const key of keys) again.delete(key);
    assert.deepEqual([...again.entries()], []);
  });

  on('many records are all found, flushed or not, while others come and go', async (journal) => {
    const bans = new RecordTable(journal, 'bans');
    const other = new RecordTable(journal, 'other');
    const name = (i: number): string => `c${String(i).padStart(4, '0')}`;
    for (let i = 0; i < 500; i += 2) bans.put(name(i), i);
    other.put('x', 1);
    await journal.flush();
    for (let i = 1; i < 500; i += 2) bans.put(name(i), i);
    const wanted = Array.from({ length: 500 }, (_, i) => i);
    assert.deepEqual(
      Array.from(bans.entries(), ([, value]) => value),
      wanted,
    );
    const seen: unknown[] = [];
    for (const [key, value] of bans.entries()) {
      seen.push(value);
      bans.delete(key);
      bans.put('a', 'before all others');
    }
    assert.deepEqual(seen, wanted);
    assert.deepEqual([...bans.entries()], [['a', 'before all others']]);
  });
}

function badRecords(on: OnEngine): void {
  on('what JSON cannot say is refused, and so is a kind that is no plain word', async (journal) => {
    const bans = new RecordTable(journal, 'bans');
    assert.throws(() => bans.put('a', undefined), TypeError);
    assert.throws(() => bans.put('a', () => {}), TypeError);
    assert.equal(journal.openWrites, 0);
    for (const kind of ['', 'a\0b', 'Ä']) assert.throws(() => new RecordTable(journal, kind));
  });

  on('a record that is not JSON, or not one of ours, is damage', async (journal) => {
    const bans = new RecordTable(journal, 'bans');
    for (const text of ['', '{', '{}', '[1,2]', '["a"]']) {
      journal.open.put(Table.records, Buffer.from('bans\0a'), Buffer.from(text));
      await journal.flush();
      assert.throws(() => bans.get('a'), StoreDamaged, text);
      assert.throws(() => [...bans.entries()], StoreDamaged, text);
    }
  });
}
