import assert from 'node:assert/strict';
import test from 'node:test';
import {
  fileFigures,
  loadFigures,
  maxFilesIn,
  memoryFigures,
  memoryText,
  runtimeRelease,
} from './host-figures.ts';

test('memoryText writes two decimals and a unit above 1024 of the unit below', () => {
  const texts = [0, 1023, 1024, 1025, 12 * 1024, 1024 ** 2, 80_163_635, 1_288_490_189].map(
    memoryText,
  );
  assert.deepEqual(texts, ['0', '1023', '1024', '1.00K', '12.00K', '1024.00K', '76.45M', '1.20G']);
});

test('loadFigures are texts with two decimals', () => {
  assert.deepEqual(loadFigures([1, 0.125, 12.346]), {
    load1: '1.00',
    load5: '0.13',
    load15: '12.35',
  });
});

test('runtimeRelease names the major version of the runtime and its engine', () => {
  const versions = { ...process.versions, node: '26.10.0', v8: '14.6.202.33-node.12' };
  assert.equal(runtimeRelease(versions), 'R26/14.6.202.33');
});

test('maxFilesIn reads the soft limit', () => {
  const head = 'Limit                     Soft Limit           Hard Limit           Units     \n';
  assert.equal(maxFilesIn(`${head}Max open files            1024      4096      files\n`), 1024);
  assert.equal(
    maxFilesIn(`${head}Max open files            unlimited unlimited files\n`),
    Number.MAX_SAFE_INTEGER,
  );
  assert.equal(maxFilesIn(''), 0);
});

test('fileFigures are those of this process', async () => {
  const { open, max } = await fileFigures();
  assert.ok(open > 2 && open < max, `${open} of ${max}`);
});

test('memoryFigures add up the threads, and are not more than the process has', async () => {
  const thread = { heapLimitBytes: 0, loopShare: 0, loopBusyMs: 0, upMs: 0 };
  const nodeOf = (heapUsedBytes: number) => ({
    threads: async () => ({
      answers: [
        ['control', { ...thread, heapUsedBytes, externalBytes: 1 }],
        ['worker 0', { ...thread, heapUsedBytes: 20, externalBytes: 3 }],
      ] as const,
      missing: [],
    }),
  });
  const { totalBytes, usedBytes } = await memoryFigures(nodeOf(10));
  assert.equal(usedBytes, 34);
  assert.ok(totalBytes > 1024 ** 2);
  const much = await memoryFigures(nodeOf(2 ** 50));
  assert.equal(much.usedBytes, much.totalBytes);
});
