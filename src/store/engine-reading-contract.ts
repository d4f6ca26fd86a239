// What engine.ts promises of reading, as tests that every engine passes.

import assert from 'node:assert/strict';
import test from 'node:test';
import { Batch } from './batch.ts';
import { Table } from './table.ts';
import { entriesOf, key, keysOf, type MakeEngine, put } from './engine-fixture.ts';

export function readingContract(name: string, make: MakeEngine): void {
  single(name, make);
  ranges(name, make);
  lastKeys(name, make);
  copies(name, make);
}

function single(name: string, make: MakeEngine): void {
  test(`${name}: what is not there is not found`, async () => {
    await using tried = await make();
    const { engine } = tried;
    assert.equal(engine.get(Table.queue, key('a')), undefined);
    assert.equal(engine.has(Table.queue, key('a')), false);
    assert.equal(engine.count(Table.queue), 0);
    assert.equal(engine.lastKey(Table.queue, key(''), key('z')), undefined);
    assert.deepEqual(entriesOf(engine, Table.queue), []);
  });

  test(`${name}: a commit is seen when it has resolved, and not before`, async () => {
    await using tried = await make();
    const { engine } = tried;
    const batch = new Batch();
    batch.put(Table.queue, key('a'), key('1'));
    const done = engine.commit(batch);
    assert.equal(engine.get(Table.queue, key('a')), undefined);
    await done;
    assert.deepEqual(engine.get(Table.queue, key('a')), key('1'));
    assert.equal(engine.has(Table.queue, key('a')), true);
    assert.equal(engine.count(Table.queue), 1);
  });

  test(`${name}: each of many commits is seen by every kind of reading`, async () => {
    await using tried = await make();
    const { engine } = tried;
    for (let i = 1; i <= 50; i += 1) {
      await put(engine, Table.queue, [[`k${1000 + i}`, `v${i}`]]);
      assert.equal(engine.get(Table.queue, key(`k${1000 + i}`))?.toString(), `v${i}`);
      assert.equal(entriesOf(engine, Table.queue).length, i);
      assert.equal(keysOf(engine, Table.queue).length, i);
      assert.equal(engine.lastKey(Table.queue, key(''), key('z'))?.toString(), `k${1000 + i}`);
      assert.equal(engine.count(Table.queue), i);
    }
  });

  test(`${name}: a table has nothing of another`, async () => {
    await using tried = await make();
    const { engine } = tried;
    // The meta table is the engine's own, too.
    const tables = Object.values(Table).filter((table) => table !== Table.meta);
    for (const table of tables) await put(engine, table, [['same', `of ${table}`]]);
    for (const table of tables) {
      assert.deepEqual(entriesOf(engine, table), [['same', `of ${table}`]]);
      assert.equal(engine.count(table), 1);
    }
  });
}

function ranges(name: string, make: MakeEngine): void {
  test(`${name}: keys stand in the order of their bytes`, async () => {
    await using tried = await make();
    const { engine } = tried;
    const keys = ['00', '0000', '01', '7f', '80', 'ff', 'ffff', '6100', '61', '6101', '62'];
    const batch = new Batch();
    for (const hex of keys) batch.put(Table.retained, Buffer.from(hex, 'hex'), key(hex));
    await engine.commit(batch);
    const sorted = keys.map((hex) => Buffer.from(hex, 'hex')).sort((a, b) => a.compare(b));
    const found: Buffer[] = [];
    engine.keys(Table.retained, key(''), undefined, (next) => found.push(next) > 0);
    assert.deepEqual(found, sorted);
    for (const [index, next] of sorted.entries()) {
      assert.deepEqual(engine.lastKey(Table.retained, key(''), next), sorted[index - 1]);
    }
  });

  test(`${name}: a range has its beginning and not its end, there or not`, async () => {
    await using tried = await make();
    const { engine } = tried;
    await put(
      engine,
      Table.queue,
      ['b', 'd', 'f', 'h'].map((letter) => [letter, letter.toUpperCase()]),
    );
    const cases: [string, string | undefined, string][] = [
      ['', undefined, 'bdfh'],
      ['', '', ''],
      ['b', 'h', 'bdf'],
      ['a', 'g', 'bdf'],
      ['c', 'e', 'd'],
      ['c', 'd', ''],
      ['d', 'd', ''],
      ['f', 'b', ''],
      ['d', undefined, 'dfh'],
      ['h', undefined, 'h'],
      ['i', undefined, ''],
      ['b\x00', 'd\x00', 'd'],
    ];
    for (const [from, to, expected] of cases) {
      const found = entriesOf(engine, Table.queue, from, to);
      assert.equal(found.map(([letter]) => letter).join(''), expected, `${from} to ${to}`);
      assert.equal(found.map(([, value]) => value).join(''), expected.toUpperCase());
      assert.equal(keysOf(engine, Table.queue, from, to).join(''), expected, `${from} to ${to}`);
    }
  });
}

function lastKeys(name: string, make: MakeEngine): void {
  test(`${name}: the last key is below its bound and not below its beginning`, async () => {
    await using tried = await make();
    const { engine } = tried;
    await put(
      engine,
      Table.queue,
      ['b', 'd', 'f'].map((letter) => [letter, '']),
    );
    const cases: [string, string, string | undefined][] = [
      ['', 'z', 'f'],
      ['', 'f', 'd'],
      ['', 'e', 'd'],
      ['', 'b', undefined],
      ['', '', undefined],
      ['f', 'z', 'f'],
      ['g', 'z', undefined],
      ['e', 'f', undefined],
      ['d', 'f', 'd'],
    ];
    for (const [from, to, expected] of cases) {
      const found = engine.lastKey(Table.queue, key(from), key(to));
      assert.equal(found?.toString(), expected, `${from} to ${to}`);
    }
    assert.equal(engine.lastKey(Table.wills, key(''), key('z')), undefined);
  });
}

function copies(name: string, make: MakeEngine): void {
  test(`${name}: a range ends early, and readings may be nested in it`, async () => {
    await using tried = await make();
    const { engine } = tried;
    const letters = ['a', 'b', 'c', 'd'];
    await put(
      engine,
      Table.queue,
      letters.map((letter) => [letter, `v${letter}`]),
    );
    for (let round = 0; round < 300; round += 1) {
      const seen: string[] = [];
      engine.range(Table.queue, key('a'), undefined, (next, value) => {
        engine.keys(Table.queue, key('a'), undefined, () => false);
        assert.equal(engine.get(Table.queue, key('d'))?.toString(), 'vd');
        engine.range(Table.queue, next, undefined, (same) => {
          assert.deepEqual(same, next);
          return false;
        });
        seen.push(`${next.toString()} ${value.toString()}`);
        return seen.length < 3;
      });
      assert.deepEqual(seen, ['a va', 'b vb', 'c vc']);
    }
    const refuse = (): never => {
      throw new Error('the visitor failed');
    };
    for (let round = 0; round < 300; round += 1) {
      assert.throws(() => engine.range(Table.queue, key('a'), undefined, refuse), /visitor failed/);
    }
    assert.equal(entriesOf(engine, Table.queue).length, 4);
  });

  test(`${name}: what was read stays as it was, whatever is read and written later`, async () => {
    await using tried = await make();
    const { engine } = tried;
    await put(engine, Table.queue, [
      ['a', 'first'],
      ['b', 'second'],
    ]);
    const one = engine.get(Table.queue, key('a'));
    const all: Buffer[] = [];
    engine.range(Table.queue, key(''), undefined, (next, value) => all.push(next, value) > 0);
    await put(engine, Table.queue, [
      ['a', 'other'],
      ['b', 'values'],
    ]);
    engine.get(Table.queue, key('b'));
    assert.equal(one?.toString(), 'first');
    assert.equal(all.join(' '), 'a first b second');
  });

  test(`${name}: changing what was read changes nothing in the store`, async () => {
    await using tried = await make();
    const { engine } = tried;
    await put(engine, Table.queue, [['a', 'value']]);
    engine.get(Table.queue, key('a'))?.fill(0);
    engine.lastKey(Table.queue, key(''), key('z'))?.fill(0);
    engine.range(Table.queue, key(''), undefined, (next, value) => {
      next.fill(0);
      value.fill(0);
      return true;
    });
    assert.deepEqual(entriesOf(engine, Table.queue), [['a', 'value']]);
  });
}
