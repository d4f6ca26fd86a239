// The notation of the case table itself.

import assert from 'node:assert/strict';
import test from 'node:test';
import { raw } from './wire-case.ts';

test('raw reads hexadecimal groups and quoted text', () => {
  assert.deepEqual(raw("10 0004 'MQ T'"), Buffer.from([0x10, 0, 4, 0x4d, 0x51, 0x20, 0x54]));
  assert.deepEqual(raw(''), Buffer.alloc(0));
});

test('raw refuses what is not hexadecimal in pairs', () => {
  assert.throws(() => raw('123'), TypeError);
  assert.throws(() => raw('12 zz'), TypeError);
});
