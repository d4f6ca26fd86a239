import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type TestContext } from 'node:test';
import { LoadedList } from './loaded-list.ts';

function listIn(t: TestContext, text?: string): { list: LoadedList; dir: string; file: string } {
  const dir = mkdtempSync(join(tmpdir(), 'broker-list-'));
  t.after(() => rmSync(dir, { recursive: true, force: true }));
  const file = join(dir, 'loaded_plugins');
  if (text !== undefined) writeFileSync(file, text);
  return { list: new LoadedList(dir), dir, file };
}

test('there is no list before the first start', (t) => {
  assert.equal(listIn(t).list.read(), undefined);
});

test('both forms of a line are read, in their order, with comments and empty lines', (t) => {
  const text =
    '% what runs\n{b_two, true}.\n\nbare_name.\n  { spaced ,true } .  % why\n{off, false}.\n';
  assert.deepEqual(listIn(t, text).list.read(), ['b_two', 'bare_name', 'spaced']);
  assert.deepEqual(listIn(t, '').list.read(), []);
});

test('a line that is none is an error that says where', (t) => {
  for (const bad of ['{b, maybe}.', '{b, true}', 'Broker.', '{"b", true}.', '../b.', 'a b.']) {
    const { list, file } = listIn(t, `{a, true}.\n${bad}\n`);
    assert.throws(
      () => list.read(),
      new Error(`Cannot read ${file}:2: found "${bad}", expected {<plugin>, true}.`),
    );
  }
});

test('what is written is read back, is for the owner only, and leaves nothing behind', async (t) => {
  const { list, dir, file } = listIn(t, 'old.\n');
  await list.write(['a', 'b_c']);
  assert.equal(readFileSync(file, 'utf8'), '{a, true}.\n{b_c, true}.\n');
  assert.equal(statSync(file).mode & 0o777, 0o600);
  assert.deepEqual(readdirSync(dir), ['loaded_plugins']);
  assert.deepEqual(list.read(), ['a', 'b_c']);
});
