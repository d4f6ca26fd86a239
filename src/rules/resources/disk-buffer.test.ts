import assert from 'node:assert/strict';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type TestContext } from 'node:test';
import { systemClock, VirtualClock } from '#base/clock';
import { nullLogger } from '#base/log';
import { DiskQueue } from '#store/disk-queue';
import { eventually } from '#test/watch';
import { type BufferedJob, DiskBuffer, type DiskBufferParts } from './disk-buffer.ts';
import { ResourceHost } from './resource-host.ts';

function folder(t: TestContext): string {
  const dir = mkdtempSync(join(tmpdir(), 'broker-disk-buffer-'));
  t.after(() => rmSync(dir, { recursive: true, force: true }));
  return dir;
}

class Bench {
  readonly done: unknown[] = [];
  readonly logged: string[] = [];
  readonly clock = new VirtualClock();
  readonly buffer: DiskBuffer;

  constructor(dir: string, more: Partial<DiskBufferParts> = {}) {
    const keep = (event: string): void => void this.logged.push(event);
    this.buffer = new DiskBuffer({
      ...{ dir, bytesMax: 1_000_000, isTaking: true, id: 'r', clock: this.clock, after: undefined },
      log: { ...nullLogger, warn: keep, error: keep },
      ...more,
    });
    this.buffer.drain(async ({ job }) => void this.done.push(job));
  }
}

const jobOf = (job: unknown): BufferedJob => ({ action: 'a', job, bytes: 1 });

test('an event on disk that nobody can read stops none behind it', async (t) => {
  const dir = folder(t);
  const options = { dir, segmentBytes: 1000, bytesMax: 1_000_000, onSkipped: () => undefined };
  const queue = await DiskQueue.open(options);
  await queue.append(Buffer.from('written by something else'));
  await queue[Symbol.asyncDispose]();
  const bench = new Bench(dir);
  await bench.buffer.append(jobOf(1));
  await eventually(() => bench.done.length === 1);
  await bench.buffer.close();
  assert.deepEqual(bench.done, [1]);
  assert.deepEqual(bench.logged, ['resource.refused']);
});

test('a buffer whose folder cannot be made is there when it can', async (t) => {
  const base = folder(t);
  writeFileSync(join(base, 'file'), '');
  const bench = new Bench(join(base, 'file', 'dir'));
  await eventually(() => bench.logged.length > 0);
  await assert.rejects(bench.buffer.append(jobOf(1)));
  rmSync(join(base, 'file'));
  bench.clock.advance(5000);
  const append = (): Promise<boolean> =>
    bench.buffer.append(jobOf(2)).then(
      () => true,
      () => false,
    );
  await eventually(append);
  await eventually(() => bench.done.includes(2));
  await bench.buffer.close();
});

test('a resource of the same name as one that is being deleted keeps what it is given', async (t) => {
  const bufferDir = folder(t);
  const host = new ResourceHost(systemClock, nullLogger);
  const options = { isLinkLocalDenied: true, bufferDir };
  const order = { id: 'built_in:x', type: 'built_in', config: { buffer: 'disk' } };
  host.uphold([{ ...order, revision: 1 }], options);
  const job = { resource: order.id, action: 'a', job: {}, bytes: 1 };
  await host.perform(job);
  const left = join(bufferDir, encodeURIComponent(order.id), 'left');
  mkdirSync(left);
  host.uphold([], options);
  const forgotten = host.forget(order.id);
  host.uphold([{ ...order, revision: 2 }], options);
  await forgotten;
  for (let i = 0; i < 3; i++) await host.perform(job);
  assert.equal(existsSync(left), false);
  assert.equal(existsSync(join(bufferDir, encodeURIComponent(order.id))), true);
  await host.close();
});

test('a buffer is in a folder of its own, whatever the resource is called', async (t) => {
  const base = folder(t);
  const options = { isLinkLocalDenied: true, bufferDir: join(base, 'buffers') };
  const host = new ResourceHost(systemClock, nullLogger);
  const ids = ['.', '..', '', '../x', '...'];
  const config = { buffer: 'disk' };
  host.uphold(
    [...ids, 'other'].map((id) => ({ id, type: 'built_in', config, revision: 1 })),
    options,
  );
  for (const resource of [...ids, 'other']) {
    await host.perform({ resource, action: 'a', job: {}, bytes: 1 });
  }
  for (const id of ids) await host.forget(id);
  assert.deepEqual(readdirSync(base), ['buffers']);
  assert.deepEqual(readdirSync(join(base, 'buffers')), ['other']);
  await host.close();
});
