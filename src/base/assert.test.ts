import assert from 'node:assert/strict';
import test from 'node:test';
import { invariant, unreachable } from './assert.ts';

test('invariant is silent when the law holds', () => {
  invariant(true, 'one is one');
});

test('invariant names the law when it is broken', () => {
  assert.throws(() => invariant(false, 'a window is never negative'), {
    name: 'TypeError',
    message: 'Invariant broken: a window is never negative',
  });
});

test('unreachable names the value that no case expected', () => {
  assert.throws(() => unreachable('qos3' as never), {
    name: 'TypeError',
    message: 'Invariant broken: no case for "qos3"',
  });
});
