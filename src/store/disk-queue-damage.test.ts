// What a queue on disk makes of files that something else has had its hands on: a power cut, a killed process,
// a full disk, an administrator.

import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import {
  appendFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import test, { type TestContext } from 'node:test';
import { DiskQueue } from './disk-queue.ts';

class Bench {
  readonly dir = mkdtempSync(join(tmpdir(), 'broker-disk-damage-'));
  readonly skipped: number[] = [];

  constructor(t: TestContext) {
    t.after(() => rmSync(this.dir, { recursive: true, force: true }));
  }

  open(segmentBytes = 1024): Promise<DiskQueue> {
    return DiskQueue.open({
      ...{ dir: this.dir, segmentBytes, bytesMax: 100_000_000 },
      onSkipped: (_file, bytes) => this.skipped.push(bytes),
    });
  }

  get paths(): string[] {
    const names = readdirSync(this.dir).filter((name) => name.endsWith('.replaylog'));
    return names.sort().map((name) => join(this.dir, name));
  }
}

/** Bounded: a queue that gives empty batches without end would have it run for ever. */
async function drain(queue: DiskQueue): Promise<string[]> {
  const found: string[] = [];
  for (let rounds = 0; rounds < 1000; rounds++) {
    const batch = await queue.next(100, 1_000_000);
    if (batch === undefined) return found;
    found.push(...batch.items.map(String));
    await batch.ack();
  }
  throw new Error(`The queue does not end after ${found.length} items`);
}

test('zeros at the end of a file, as a power cut leaves them, are a broken end and no items', async (t) => {
  const bench = new Bench(t);
  const queue = await bench.open();
  await queue.append(Buffer.from('whole'));
  await queue[Symbol.asyncDispose]();
  appendFileSync(bench.paths[0] ?? '', Buffer.alloc(4096));
  await using again = await bench.open();
  assert.deepEqual(await drain(again), ['whole']);
  assert.deepEqual(bench.skipped, [4096]);
  await assert.rejects(again.append(Buffer.alloc(0)), /empty/);
});

for (const damage of ['cut', 'gone', 'emptied'] as const) {
  test(`a queue on disk ends, and gives what there is, when a file is ${damage} while it runs`, async (t) => {
    const bench = new Bench(t);
    await using queue = await bench.open();
    for (let i = 0; i < 30; i++) await queue.append(Buffer.from(`${i} ${'x'.repeat(100)}`));
    const [, second = ''] = bench.paths;
    const { length } = readFileSync(second);
    if (damage === 'cut') truncateSync(second, length - 1);
    if (damage === 'gone') unlinkSync(second);
    if (damage === 'emptied') writeFileSync(second, '');
    const found = await drain(queue);
    const lost = 30 - found.length;
    assert.ok(damage === 'cut' ? lost === 1 : lost > 5 && lost < 20, `lost ${lost}`);
    assert.equal(queue.bytes, 0);
    assert.ok(queue.isEmpty);
    assert.equal(bench.skipped.length, 1);
    await queue.append(Buffer.from('later'));
    assert.deepEqual(await drain(queue), ['later']);
  });
}

test('files that are done make room although the mark cannot be written', async (t) => {
  const bench = new Bench(t);
  await using queue = await bench.open();
  for (let i = 0; i < 30; i++) await queue.append(Buffer.from(`${i} ${'x'.repeat(100)}`));
  const files = bench.paths.length;
  assert.ok(files > 2);
  // Nothing can be renamed over a folder that has something in it.
  mkdirSync(join(bench.dir, 'COMMIT', 'x'), { recursive: true });
  let failures = 0;
  for (let batch = await queue.next(100, 1e6); batch; batch = await queue.next(100, 1e6)) {
    await batch.ack().catch(() => failures++);
  }
  assert.ok(failures > 2);
  assert.equal(bench.paths.length, 1);
});

/** Appends as fast as it can, says what is safe, and lives until it is killed. */
const writer = `
  import { DiskQueue } from ${JSON.stringify(new URL('disk-queue.ts', import.meta.url).href)};
  const [dir, from] = process.argv.slice(1);
  const queue = await DiskQueue.open({
    ...{ dir, segmentBytes: 20_000, bytesMax: 100_000_000, onSkipped: () => undefined },
  });
  for (let i = Number(from); ; i += 7) {
    const wave = Array.from({ length: 7 }, (_, n) => i + n);
    await Promise.all(wave.map((n) => queue.append(Buffer.from(n + ' ' + 'x'.repeat(n % 900)))));
    console.log(i + 6);
  }`;

function startWriter(dir: string, from: number): ChildProcess {
  const args = ['--input-type=module-typescript', '-e', writer, dir, String(from)];
  return spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
}

/** The last number that was safe, after so many waves. */
async function killedAfter(child: ChildProcess, waves: number): Promise<number> {
  const exited = new Promise((resolve) => child.once('exit', resolve));
  let safe = -1;
  let seen = 0;
  assert.ok(child.stdout);
  for await (const line of createInterface(child.stdout)) {
    safe = Number(line);
    if (++seen === waves) child.kill('SIGKILL');
  }
  await exited;
  assert.equal(child.signalCode, 'SIGKILL');
  return safe;
}

test('whatever was safe is there after a process is killed, whole and in order, and nothing twice', async (t) => {
  const bench = new Bench(t);
  let next = 0;
  for (const waves of [1, 20, 60]) {
    const safe = await killedAfter(startWriter(bench.dir, next), waves);
    assert.ok(safe >= next);
    await using queue = await bench.open(20_000);
    const found = await drain(queue);
    const numbers = found.map((item) => Number(item.split(' ')[0]));
    for (const [i, number] of numbers.entries()) {
      assert.equal(number, next + i);
      assert.equal(found[i], `${number} ${'x'.repeat(number % 900)}`);
    }
    assert.ok(next + numbers.length > safe, `${next + numbers.length} are there, ${safe} was safe`);
    next += numbers.length;
  }
});
