import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import { formatByteSize, parseByteSize } from './byte-size.ts';
import { formatDuration, parseDurationMs } from './duration.ts';

test('parseDurationMs adds up its units', () => {
  assert.equal(parseDurationMs('1h30m'), 5_400_000);
  assert.equal(parseDurationMs('1d2s3ms'), 86_402_003);
  assert.equal(parseDurationMs('100ms'), 100);
  assert.equal(parseDurationMs('5m'), 300_000);
  assert.equal(parseDurationMs('0'), 0);
});

test('parseDurationMs refuses what is not a duration', () => {
  for (const text of ['', '15', '-1s', '1.5s', '1 s', 's', '1w', '1S', `${'9'.repeat(20)}d`]) {
    assert.equal(parseDurationMs(text), undefined, text);
  }
});

test('parseByteSize counts in steps of 1024 and refuses other text', () => {
  assert.equal(parseByteSize('512'), 512);
  assert.equal(parseByteSize('16KB'), 16_384);
  assert.equal(parseByteSize('1mb'), 1_048_576);
  assert.equal(parseByteSize('2GB'), 2_147_483_648);
  for (const text of ['', '1.5MB', '-1', '1 MB', '1TB', 'MB', `${'9'.repeat(20)}KB`]) {
    assert.equal(parseByteSize(text), undefined, text);
  }
});

test('durations and sizes are read back as they were written', (t) => {
  const seed = Date.now() | 0;
  t.diagnostic(`seed ${seed}`);
  fc.assert(
    fc.property(fc.nat(), (n) => {
      assert.equal(parseDurationMs(formatDuration(n)), n);
      assert.equal(parseByteSize(formatByteSize(n)), n);
    }),
    { seed },
  );
});
