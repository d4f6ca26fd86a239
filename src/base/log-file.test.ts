import assert from 'node:assert/strict';
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type TestContext } from 'node:test';
import { openLog } from './log.ts';
import { RotatingFile } from './log-file.ts';

function directory(t: TestContext): string {
  const path = mkdtempSync(join(tmpdir(), 'broker-log-'));
  t.after(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

const read = (...path: string[]): string => readFileSync(join(...path), 'utf8');

test('a log file makes its directory and keeps lines in order until it is closed', async (t) => {
  const dir = join(directory(t), 'a', 'b');
  const file = new RotatingFile(join(dir, 'x.log'), 1024, 3);
  for (let i = 0; i < 20; i++) file.write(`${i}\n`);
  await file[Symbol.asyncDispose]();
  assert.equal(read(dir, 'x.log'), Array.from({ length: 20 }, (_, i) => `${i}\n`).join(''));
});

test('a log file continues what an earlier one wrote', async (t) => {
  const dir = directory(t);
  writeFileSync(join(dir, 'x.log'), 'old\n');
  await using file = new RotatingFile(join(dir, 'x.log'), 8, 3);
  file.write('new\n');
  file.write('more\n');
  await file[Symbol.asyncDispose]();
  assert.equal(read(dir, 'x.log.1'), 'old\nnew\n');
  assert.equal(read(dir, 'x.log'), 'more\n');
});

test('a log file is renamed at its size, and only so many are kept', async (t) => {
  const dir = directory(t);
  const file = new RotatingFile(join(dir, 'x.log'), 4, 2);
  for (const line of ['111\n', '222\n', '333\n', '444\n', '5\n', '6\n']) file.write(line);
  await file[Symbol.asyncDispose]();
  assert.deepEqual(readdirSync(dir).sort(), ['x.log', 'x.log.1', 'x.log.2']);
  assert.deepEqual(
    ['x.log', 'x.log.1', 'x.log.2'].map((name) => read(dir, name)),
    ['5\n6\n', '444\n', '333\n'],
  );
});

test('a line longer than the size gets a file of its own', async (t) => {
  const dir = directory(t);
  const file = new RotatingFile(join(dir, 'x.log'), 4, 2);
  file.write('very long\n');
  file.write('1\n');
  await file[Symbol.asyncDispose]();
  assert.deepEqual([read(dir, 'x.log.1'), read(dir, 'x.log')], ['very long\n', '1\n']);
});

test('a log file that somebody else renamed is not renamed again', async (t) => {
  const dir = directory(t);
  const path = join(dir, 'x.log');
  const first = new RotatingFile(path, 6, 3);
  first.write('aaa\n');
  await first.settled();
  renameSync(path, join(dir, 'moved'));
  writeFileSync(path, 'b\n');
  first.write('ccc\n');
  await first[Symbol.asyncDispose]();
  assert.equal(read(dir, 'moved'), 'aaa\n');
  assert.equal(read(path), 'b\nccc\n');
  assert.deepEqual(readdirSync(dir).sort(), ['moved', 'x.log']);
});

test('a log file that cannot be written loses lines, tells how many, and goes on', async (t) => {
  const dir = directory(t);
  const path = join(dir, 'x.log');
  mkdirSync(path);
  const file = new RotatingFile(path, 1024, 3);
  file.write('lost\n');
  file.write('lost\n');
  await file.settled();
  rmSync(path, { recursive: true });
  file.write('kept\n');
  await file[Symbol.asyncDispose]();
  const [notice = '', kept] = read(path).split('\n');
  assert.deepEqual(
    { ...JSON.parse(notice), time: '' },
    { level: 'error', time: '', event: 'log.lost', lines: 2 },
  );
  assert.equal(kept, 'kept');
});

test('a log file that cannot be renamed goes on, says so once, and is renamed when it can be', async (t) => {
  const dir = directory(t);
  const path = join(dir, 'x.log');
  // Renaming over a directory is possible for nobody.
  mkdirSync(`${path}.1`);
  const file = new RotatingFile(path, 200, 1);
  const line = `${'x'.repeat(79)}\n`;
  for (let i = 0; i < 12; i++) {
    file.write(line);
    if (i % 5 === 0) await file.settled();
  }
  await file.settled();
  const events = read(path)
    .split('\n')
    .filter((text) => text.startsWith('{'));
  assert.equal(read(path).split(line).length - 1, 12, 'no line is lost');
  assert.deepEqual(
    events.map((text) => ({ ...JSON.parse(text), time: '' })),
    [{ level: 'warning', time: '', event: 'log.unrotated', file: path, code: 'EISDIR' }],
  );
  rmSync(`${path}.1`, { recursive: true });
  for (let i = 0; i < 4 && !readdirSync(dir).includes('x.log.1'); i++) {
    file.write(line);
    await file.settled();
  }
  await file[Symbol.asyncDispose]();
  assert.match(read(`${path}.1`), /log\.unrotated/);
  assert.equal(read(path), line);
});

test('a log file counts as lost only the lines that are not in a file', async (t) => {
  const dir = directory(t);
  const path = join(dir, 'x.log');
  const file = new RotatingFile(path, 8, 3);
  file.write('111\n');
  await file.settled();
  renameSync(path, join(dir, 'moved'));
  mkdirSync(path);
  // The first still fits into the file that is open; the second needs a new one.
  file.write('222\n');
  file.write('333\n');
  await file.settled();
  assert.equal(read(dir, 'moved'), '111\n222\n');
  rmSync(path, { recursive: true });
  file.write('444\n');
  await file[Symbol.asyncDispose]();
  assert.equal((JSON.parse(read(dir, 'x.log.1')) as { lines: number }).lines, 1);
  assert.equal(read(path), '444\n');
});

test('openLog writes the file of a level beside the one of all', async (t) => {
  const dir = directory(t);
  const log = openLog({
    to: 'file',
    level: 'info',
    dir,
    file: 'all.log',
    charsLimit: -1,
    rotationBytes: 4096,
    rotationCount: 2,
    levelFiles: new Map([['error', 'error.log']]),
  });
  log.info('a');
  log.error('b');
  await log[Symbol.asyncDispose]();
  const events = (name: string): string[] =>
    read(dir, name)
      .trim()
      .split('\n')
      .map((line) => (JSON.parse(line) as { event: string }).event);
  assert.deepEqual([events('all.log'), events('error.log')], [['a', 'b'], ['b']]);
});
