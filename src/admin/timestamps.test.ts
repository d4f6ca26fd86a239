import assert from 'node:assert/strict';
import { test } from 'node:test';
import { localTime, secondsOf } from './timestamps.ts';

test('a moment is written as local date and time, with leading zeros', () => {
  const time = new Date(2019, 2, 4, 5, 6, 7, 89);
  assert.equal(localTime(time.getTime()), '2019-03-04 05:06:07');
});

test('a moment late in the year and day needs no zeros', () => {
  assert.equal(localTime(new Date(2024, 11, 31, 23, 59, 59).getTime()), '2024-12-31 23:59:59');
});

test('the seconds of a moment are read back from its text', () => {
  const ms = new Date(2019, 2, 4, 5, 6, 7).getTime();
  assert.equal(secondsOf(localTime(ms + 89)), ms / 1000);
});
