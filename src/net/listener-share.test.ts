import assert from 'node:assert/strict';
import test from 'node:test';
import { ListenerShare, listenerShareMemory } from './listener-share.ts';

test('a listener share admits as many as allowed over all workers', () => {
  const memory = listenerShareMemory(2);
  const [first, second] = [new ListenerShare(memory, 0), new ListenerShare(memory, 1)];
  assert.deepEqual([first.offer(2), second.offer(2), second.offer(2)], [true, true, false]);
  first.hold(1);
  second.hold(1);
  assert.equal(first.connections, 2);
  second.hold(0);
  assert.equal(first.offer(2), true);
});

test('a listener share frees the places of a dead worker', () => {
  const memory = listenerShareMemory(2);
  const [first, second] = [new ListenerShare(memory, 0), new ListenerShare(memory, 1)];
  first.hold(3);
  second.hold(4);
  first.forget(1);
  assert.equal(first.connections, 3);
  const successor = new ListenerShare(memory, 1);
  successor.hold(1);
  assert.equal(first.connections, 4);
});

test('a listener share has tokens beside its connections', () => {
  const share = new ListenerShare(listenerShareMemory(1), 0);
  share.tokens[0] = -1n;
  assert.equal(share.connections, 0);
  share.hold(5);
  assert.equal(share.tokens[0], -1n);
});
