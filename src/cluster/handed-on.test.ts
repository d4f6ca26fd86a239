// Law: what is taken from a leaving member is kept, in the same batch, until the other worker has it;
// what a crash leaves is found by the next one to start, whole.

import assert from 'node:assert/strict';
import test from 'node:test';
import { messageOn } from '#core/session-fixture';
import { VirtualClock } from '#base/clock';
import { DurableStore } from '#store/durable-store';
import { MemoryEngine } from '#store/memory-engine';
import { HandedOn } from './handed-on.ts';

function storeOn(engine: MemoryEngine): DurableStore {
  return new DurableStore(engine, { clock: new VirtualClock() });
}

function leftIn(store: DurableStore, isOurs: (index: number) => boolean = () => true): string[] {
  const handedOn = new HandedOn(store.records('handed-on'), 0);
  return [...handedOn.left(isOurs)].map(
    ({ message, group, filter }) =>
      `${group} ${filter} ${message.payload.toString()} ${message.qos}`,
  );
}

test('what is kept is there for the next process until it is forgotten', async () => {
  const engine = new MemoryEngine();
  const store = storeOn(engine);
  const handedOn = new HandedOn(store.records('handed-on'), 2);
  const kept = handedOn.keep(messageOn('t/1', { payload: 'ü', qos: 2 }), 'g', 't/+');
  handedOn.keep(messageOn('t/1', { payload: 'b', qos: 1 }), 'g', 't/+');
  await store.flushed();
  assert.deepEqual(leftIn(storeOn(engine)), ['g t/+ ü 2', 'g t/+ b 1']);
  kept.forget();
  await store.flushed();
  assert.deepEqual(leftIn(storeOn(engine)), ['g t/+ b 1']);
});

test('a worker finds what it left, and not what others did, though their index begins alike', async () => {
  const store = storeOn(new MemoryEngine());
  for (const index of [1, 10, 2]) {
    const handedOn = new HandedOn(store.records('handed-on'), index);
    handedOn.keep(messageOn('t', { payload: `of ${index}`, qos: 1 }), 'g', 't');
  }
  assert.deepEqual(
    leftIn(store, (index) => index === 1),
    ['g t of 1 1'],
  );
  assert.deepEqual(
    leftIn(store, (index) => index === 10),
    ['g t of 10 1'],
  );
  assert.equal(leftIn(store).length, 3);
});

test('what is found can be forgotten while the rest is being looked at', async () => {
  const store = storeOn(new MemoryEngine());
  const handedOn = new HandedOn(store.records('handed-on'), 1);
  for (let i = 0; i < 250; i++)
    handedOn.keep(messageOn('t', { payload: `${i}`, qos: 1 }), 'g', 't');
  const found: string[] = [];
  for (const { message, forget } of handedOn.left(() => true)) {
    found.push(message.payload.toString());
    forget();
  }
  assert.equal(new Set(found).size, 250);
  assert.deepEqual(leftIn(store), []);
});
