import assert from 'node:assert/strict';
import test from 'node:test';
import { Mqueue, type Queued } from './mqueue.ts';
import { deliveryTo, FakeSubscriber, messageOn } from './session-fixture.ts';
import { unstored } from './store-port.ts';

const delivery = deliveryTo(new FakeSubscriber('s'));
const queued = (topic: string, payload = topic): Queued => ({
  message: messageOn(topic, { payload }),
  delivery,
  seq: 0,
  receipt: unstored,
  mayBeSent: false,
});
const textOf = (entry: Queued | undefined): string | undefined => entry?.message.payload.toString();

function queueOf(
  maxMqueueLen: number,
  priorities: [string, number][] = [],
  mqueueDefaultPriority: 'highest' | 'lowest' = 'lowest',
): Mqueue {
  return new Mqueue({
    maxMqueueLen,
    mqueuePriorities: new Map(priorities),
    mqueueDefaultPriority,
  });
}

function drain(queue: Mqueue): (string | undefined)[] {
  const all: (string | undefined)[] = [];
  while (queue.length > 0) {
    const next = queue.peek();
    assert.equal(queue.shift(), next);
    all.push(textOf(next));
  }
  return all;
}

test('mqueue gives messages in the order they came', () => {
  const queue = queueOf(10);
  for (const topic of ['a', 'b', 'a', 'c']) queue.push(queued(topic));
  assert.equal(queue.length, 4);
  assert.deepEqual(drain(queue), ['a', 'b', 'a', 'c']);
  assert.equal(queue.shift(), undefined);
  assert.equal(queue.peek(), undefined);
});

test('mqueue gives higher priorities first and each in its order', () => {
  const queue = queueOf(10, [
    ['high', 5],
    ['low', 1],
  ]);
  for (const text of ['other 1', 'low 1', 'high 1', 'other 2', 'high 2', 'low 2']) {
    queue.push(queued(text.split(' ')[0] as string, text));
  }
  assert.deepEqual(drain(queue), ['high 1', 'high 2', 'low 1', 'low 2', 'other 1', 'other 2']);
});

test('mqueue puts topics without a priority before all others when told so', () => {
  const queue = queueOf(10, [['high', 255]], 'highest');
  queue.push(queued('high'));
  queue.push(queued('other'));
  assert.deepEqual(drain(queue), ['other', 'high']);
});

test('mqueue over its length drops the oldest of the same priority', () => {
  const queue = queueOf(2, [['high', 1]]);
  assert.equal(queue.push(queued('high', 'h1')), undefined);
  assert.equal(queue.push(queued('other', 'o1')), undefined);
  assert.equal(queue.push(queued('other', 'o2')), undefined);
  assert.equal(textOf(queue.push(queued('other', 'o3'))), 'o1');
  assert.equal(queue.push(queued('high', 'h2')), undefined);
  assert.equal(textOf(queue.push(queued('high', 'h3'))), 'h1');
  assert.equal(queue.length, 4);
  assert.equal(queue.dropped, 2);
  assert.deepEqual(drain(queue), ['h2', 'h3', 'o2', 'o3']);
});

test('mqueue of length 0 has no limit', () => {
  const queue = queueOf(0);
  for (let i = 0; i < 5000; i++) assert.equal(queue.push(queued('t')), undefined);
  assert.equal(queue.length, 5000);
  assert.equal(queue.dropped, 0);
});

test('mqueue extracts what is wanted and keeps the order of the rest', () => {
  const queue = queueOf(10, [['high', 1]]);
  for (const text of ['other 1', 'high 1', 'other 2', 'high 2', 'other 3']) {
    queue.push(queued(text.split(' ')[0] as string, text));
  }
  const taken = queue.extract((entry) => /1$|3$/.test(textOf(entry) as string));
  assert.deepEqual(taken.map(textOf), ['high 1', 'other 1', 'other 3']);
  assert.equal(queue.length, 2);
  assert.deepEqual(drain(queue), ['high 2', 'other 2']);
});
