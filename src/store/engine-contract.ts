// What engine.ts promises, as tests that every engine passes. `make` answers a new, empty engine for
// each of them.

import assert from 'node:assert/strict';
import test from 'node:test';
import { Batch } from './batch.ts';
import { keyBytesMax, Table } from './table.ts';
import { entriesOf, key, keysOf, type MakeEngine, patterned, put } from './engine-fixture.ts';
import { readingContract } from './engine-reading-contract.ts';

export function engineContract(name: string, make: MakeEngine): void {
  readingContract(name, make);
  batches(name, make);
  failures(name, make);
  references(name, make);
  sizes(name, make);
}

function batches(name: string, make: MakeEngine): void {
  test(`${name}: the writes of a batch happen in order, those taken back do not`, async () => {
    await using tried = await make();
    const { engine } = tried;
    await put(engine, Table.queue, [['gone', '']]);
    const batch = new Batch();
    batch.put(Table.queue, key('a'), key('1'));
    batch.put(Table.queue, key('a'), key('2'));
    batch.remove(Table.queue, key('gone'));
    batch.remove(Table.queue, key('never there'));
    batch.put(Table.queue, key('b'), key('1'));
    batch.remove(Table.queue, key('b'));
    batch.cancel(batch.put(Table.queue, key('c'), key('1')));
    batch.cancel(batch.remove(Table.queue, key('a')));
    batch.put(Table.queue, key('d'), key('1'), true);
    await engine.commit(batch);
    assert.deepEqual(entriesOf(engine, Table.queue), [
      ['a', '2'],
      ['d', '1'],
    ]);
  });

  test(`${name}: a batch with nothing in it is committed`, async () => {
    await using tried = await make();
    const { engine } = tried;
    await engine.commit(new Batch());
    const batch = new Batch();
    batch.cancel(batch.put(Table.queue, key('a'), key('1')));
    await engine.commit(batch);
    assert.equal(engine.count(Table.queue), 0);
  });

  test(`${name}: a batch is as it was after its commit, and can be used again`, async () => {
    await using tried = await make();
    const { engine } = tried;
    const batch = new Batch();
    for (let round = 0; round < 3; round += 1) {
      batch.clear();
      batch.put(Table.queue, key(`a${round}`), key('1'));
      const before = Buffer.from(batch.bytes.subarray(0, batch.length));
      await engine.commit(batch);
      assert.deepEqual(batch.bytes.subarray(0, batch.length), before);
    }
    assert.deepEqual(keysOf(engine, Table.queue), ['a0', 'a1', 'a2']);
  });

  test(`${name}: closing waits for the commit under way`, async () => {
    await using tried = await make();
    const { engine } = tried;
    const batch = new Batch();
    for (let i = 0; i < 1000; i += 1) batch.put(Table.queue, key(`a${i}`), key('1'));
    const told: string[] = [];
    const done = engine.commit(batch).then(() => told.push('committed'));
    await engine.close();
    told.push('closed');
    await done;
    assert.deepEqual(told, ['committed', 'closed']);
  });
}

function failures(name: string, make: MakeEngine): void {
  const wrong: [string, (batch: Batch) => void][] = [
    ['an unknown table', (batch) => batch.put(200 as Table, key('a'), key('1'))],
    [
      'a key too long',
      (batch) => batch.put(Table.queue, Buffer.alloc(keyBytesMax + 1, 97), key('1')),
    ],
    ['an empty key', (batch) => batch.put(Table.queue, key(''), key('1'))],
    ['an empty key to remove', (batch) => batch.remove(Table.queue, key(''))],
  ];
  for (const [what, spoil] of wrong) {
    test(`${name}: a batch that fails in the middle leaves nothing: ${what}`, async () => {
      await using tried = await make();
      const { engine } = tried;
      await put(engine, Table.queue, [
        ['a', '1'],
        ['b', '1'],
      ]);
      const batch = new Batch();
      batch.put(Table.queue, key('a'), key('2'));
      batch.remove(Table.queue, key('b'));
      batch.put(Table.queue, key('c'), key('2'));
      batch.refer(Table.bodies, key('body'), 1);
      spoil(batch);
      batch.put(Table.queue, key('d'), key('2'));
      const before = Buffer.from(batch.bytes.subarray(0, batch.length));
      await assert.rejects(engine.commit(batch), /Cannot write to table/);
      assert.deepEqual(batch.bytes.subarray(0, batch.length), before);
      const old = [
        ['a', '1'],
        ['b', '1'],
      ];
      assert.deepEqual(entriesOf(engine, Table.queue), old);
      assert.equal(engine.count(Table.references), 0);
      await put(engine, Table.queue, [['e', '3']]);
      assert.deepEqual(entriesOf(engine, Table.queue), [...old, ['e', '3']]);
    });
  }

  test(`${name}: a key that cannot be stored is not found`, async () => {
    await using tried = await make();
    for (const length of [0, keyBytesMax + 1, 5000]) {
      assert.equal(tried.engine.get(Table.queue, Buffer.alloc(length)), undefined);
      assert.equal(tried.engine.has(Table.queue, Buffer.alloc(length)), false);
    }
  });
}

function references(name: string, make: MakeEngine): void {
  test(`${name}: a body stays as long as somebody refers to it`, async () => {
    await using tried = await make();
    const { engine } = tried;
    const refer = async (...steps: number[]): Promise<string> => {
      const batch = new Batch();
      for (const by of steps) batch.refer(Table.bodies, key('body'), by);
      await engine.commit(batch);
      const body = engine.has(Table.bodies, key('body')) ? 'there' : 'gone';
      return `${body} ${engine.get(Table.references, key('body'))?.readUInt32LE(0)}`;
    };
    await put(engine, Table.bodies, [
      ['body', 'text'],
      ['other', 'text'],
    ]);
    assert.equal(await refer(1, 1, 1), 'there 3');
    assert.equal(await refer(-1), 'there 2');
    assert.equal(await refer(-2, 1), 'there 1');
    assert.equal(await refer(-1, 1), 'there 1');
    assert.equal(await refer(-1), 'gone undefined');
    assert.equal(engine.has(Table.bodies, key('other')), true);
    assert.equal(engine.count(Table.references), 0);
  });

  test(`${name}: a body that is let go of in the batch that wrote it goes`, async () => {
    await using tried = await make();
    const { engine } = tried;
    const batch = new Batch();
    batch.refer(Table.bodies, key('short'), 2);
    batch.put(Table.bodies, key('short'), key('text'));
    batch.put(Table.bodies, key('long'), key('text'));
    batch.refer(Table.bodies, key('long'), 1);
    batch.cancel(batch.refer(Table.bodies, key('long'), 1));
    batch.refer(Table.bodies, key('short'), -2);
    await engine.commit(batch);
    assert.deepEqual(keysOf(engine, Table.bodies), ['long']);
    assert.equal(engine.get(Table.references, key('long'))?.readUInt32LE(0), 1);
    assert.deepEqual(keysOf(engine, Table.references), ['long']);
  });
}

function sizes(name: string, make: MakeEngine): void {
  test(`${name}: values of no byte and of a megabyte come back whole`, async () => {
    await using tried = await make();
    const { engine } = tried;
    const values = [0, 1, 100, 4096, 70_000, 1024 * 1024].map(patterned);
    const batch = new Batch();
    for (const value of values) batch.put(Table.bodies, key(`v${value.length}`), value);
    await engine.commit(batch);
    for (const value of values) {
      assert.deepEqual(engine.get(Table.bodies, key(`v${value.length}`)), value);
    }
    const found: number[] = [];
    engine.range(Table.bodies, key(''), undefined, (next, value) => {
      assert.equal(next.toString(), `v${value.length}`);
      assert.deepEqual(value, patterned(value.length));
      return found.push(value.length) > 0;
    });
    assert.equal(found.length, values.length);
  });

  test(`${name}: keys of one byte and of ${keyBytesMax} come back whole`, async () => {
    await using tried = await make();
    const { engine } = tried;
    const keys = [1, 255, 511, 512, keyBytesMax].map((length) => Buffer.alloc(length, length));
    const batch = new Batch();
    for (const next of keys) batch.put(Table.retained, next, key(`${next.length}`));
    await engine.commit(batch);
    for (const next of keys) {
      assert.equal(engine.get(Table.retained, next)?.toString(), `${next.length}`);
      const behind = Buffer.concat([next, Buffer.alloc(1)]);
      const inside: Buffer[] = [];
      engine.keys(Table.retained, next, behind, (one) => inside.push(one) > 0);
      assert.deepEqual(inside, [next]);
      assert.deepEqual(engine.lastKey(Table.retained, next, behind), next);
    }
  });
}
