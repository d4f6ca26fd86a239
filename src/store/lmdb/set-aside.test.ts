import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';
import { setAside } from './set-aside.ts';
import { TemporaryStore } from './store-fixture.ts';

test('setAside replaces nothing, also when it is called twice in one moment', async () => {
  await using store = new TemporaryStore();
  const now = new Date('2031-02-03T04:05:06.789Z');
  const names: string[] = [];
  for (const text of ['first', 'second', 'third']) {
    mkdirSync(store.dir);
    writeFileSync(store.dataFile, text);
    names.push(setAside(store.dir, now));
  }
  const wanted = `${store.dir}.damaged-20310203T040506.789Z`;
  assert.deepEqual(names, [wanted, `${wanted}-2`, `${wanted}-3`]);
  assert.deepEqual(
    names.map((name) => readFileSync(join(name, 'data.mdb'), 'utf8')),
    ['first', 'second', 'third'],
  );
  assert.equal(readdirSync(store.dataDir).length, 3);
});
