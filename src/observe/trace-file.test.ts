import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import {
  linkSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type TestContext } from 'node:test';
import { readTrace, TraceFile, traceNameFault } from './trace-file.ts';

function dirOf(t: TestContext): string {
  const dir = mkdtempSync(join(tmpdir(), 'broker-trace-file-'));
  t.after(() => rmSync(dir, { recursive: true }));
  return join(dir, 'log');
}

function open(dir: string, name: string, bytesMax = 100_000, onFull = (): void => undefined) {
  const onFault = (error: string): void => assert.fail(error);
  return TraceFile.open({ dir, name, bytesMax, onFull, onFault }, 'client=c');
}

test('a trace file begins with what it is a trace of, and is appended to', async (t) => {
  const dir = dirOf(t);
  for (const line of ['one', 'two']) {
    const file = await open(dir, 'c.log');
    file.write(line);
    await file[Symbol.asyncDispose]();
  }
  const text = '# trace of client=c\none\n# trace of client=c\ntwo\n';
  assert.equal(readFileSync(join(dir, 'c.log'), 'utf8'), text);
  const read = await Array.fromAsync(readTrace(dir, 'c.log'));
  assert.equal(Buffer.concat(read).toString(), text);
});

test('a trace file is not written outside of its directory, whatever its name says', async (t) => {
  const dir = dirOf(t);
  const names = [
    '../x',
    '..',
    '.',
    '',
    '/etc/passwd',
    'a/b',
    'a\\b',
    '.hidden',
    'x\0.log',
    'x\n',
    '-rf',
    'é',
    '%2e%2e%2fx',
    'x'.repeat(129),
  ];
  for (const name of names) {
    assert.notEqual(traceNameFault(name), undefined, name);
    await assert.rejects(open(dir, name), RangeError);
    await assert.rejects(Array.fromAsync(readTrace(dir, name)), RangeError);
  }
  for (const name of ['c1.log', 'c1_trace.log', 'a..b', 'A-1@host+x=1,2']) {
    assert.equal(traceNameFault(name), undefined, name);
  }
});

test('a trace file is no link, no device, no directory and nobody else’s file', async (t) => {
  const dir = dirOf(t);
  mkdirSync(join(dir, 'folder'), { recursive: true });
  const other = join(dir, 'other.txt');
  writeFileSync(other, 'precious');
  symlinkSync(other, join(dir, 'soft.log'));
  symlinkSync(join(dir, 'nothing'), join(dir, 'dangling.log'));
  execFileSync('mkfifo', [join(dir, 'pipe.log')]);
  const mine = await open(dir, 'mine.log');
  await mine[Symbol.asyncDispose]();
  linkSync(join(dir, 'mine.log'), join(dir, 'hard.log'));
  await assert.rejects(open(dir, 'soft.log'), { code: 'ELOOP' });
  await assert.rejects(open(dir, 'dangling.log'), { code: 'ELOOP' });
  await assert.rejects(open(dir, 'folder'), { code: 'EISDIR' });
  for (const name of ['other.txt', 'pipe.log', 'hard.log']) {
    await assert.rejects(open(dir, name), /it exists and is not the file of a trace/);
    if (name === 'other.txt') await assert.rejects(Array.fromAsync(readTrace(dir, name)));
  }
  await assert.rejects(Array.fromAsync(readTrace(dir, 'soft.log')), { code: 'ELOOP' });
  assert.equal(readFileSync(other, 'utf8'), 'precious');
});

test('a trace file ends at its size, with room for last words', async (t) => {
  const dir = dirOf(t);
  let fulls = 0;
  const file = await open(dir, 'c.log', 4000, () => void fulls++);
  for (let i = 0; i < 100; i++) file.write('x'.repeat(100));
  assert.equal(fulls, 1);
  file.writeLast('the end');
  file.write('too late');
  await file[Symbol.asyncDispose]();
  const text = readFileSync(join(dir, 'c.log'), 'utf8');
  assert.ok(text.length <= 4000);
  assert.ok(text.endsWith('\nthe end\n'));
  await assert.rejects(open(dir, 'c.log', 3000), /it has \d+ of 3000 bytes/);
});

test('a trace file loses what the disk does not take in time, and says how much', async (t) => {
  const dir = dirOf(t);
  const file = await open(dir, 'c.log', 100 * 1024 * 1024);
  const line = 'x'.repeat(1024);
  for (let i = 0; i < 5000; i++) file.write(line);
  await file.settled();
  file.write('behind');
  await file[Symbol.asyncDispose]();
  const lines = readFileSync(join(dir, 'c.log'), 'utf8').split('\n');
  const kept = lines.filter((one) => one === line).length;
  assert.ok(kept < 5000);
  assert.ok(lines.includes(`# ${5000 - kept} lines lost: the disk did not take them`));
  assert.ok(lines.includes('behind'));
});
