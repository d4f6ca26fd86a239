import assert from 'node:assert/strict';
import { tmpdir } from 'node:os';
import test from 'node:test';
import { cpuTimes, diskUse, memoryUse, unreclaimable } from './machine.ts';

test('the figures of this machine are possible ones', async () => {
  const cpu = cpuTimes();
  assert.ok(cpu !== undefined && cpu.busyMs > 0 && cpu.busyMs <= cpu.totalMs);
  const memory = await memoryUse();
  assert.ok(memory.used > 0 && memory.used <= memory.max);
  assert.ok(memory.ownBytes > 0 && memory.ownBytes <= memory.max);
  const disk = await diskUse(tmpdir());
  assert.ok(disk.used >= 0 && disk.used <= disk.max && disk.max > 0);
});

test('files in the page cache are not memory in use', () => {
  const stat = 'anon 500\nfile 400\ninactive_file 300\nactive_file 100\nshmem 7\n';
  assert.equal(unreclaimable(1000, stat), 600);
  assert.equal(unreclaimable(100, stat), 0);
  assert.equal(unreclaimable(1000, 'anon 500\n'), 1000);
  assert.equal(unreclaimable(Number.NaN, stat), undefined);
});

test('the disk of a directory that is not there cannot be told', async () => {
  await assert.rejects(diskUse('/does/not/exist'), { code: 'ENOENT' });
});
