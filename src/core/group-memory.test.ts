// Law: what all workers have to agree on about a shared subscription is one number for all of them,
// which each operation changes for everybody at once.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import test from 'node:test';
import { Worker } from 'node:worker_threads';
import { type GroupMemory, LocalGroupMemory, SharedGroupMemory } from './group-memory.ts';

const memories: readonly (readonly [string, () => GroupMemory])[] = [
  ['of one worker', () => new LocalGroupMemory()],
  ['of several workers', () => new SharedGroupMemory(SharedGroupMemory.memory())],
];

for (const [name, make] of memories) {
  test(`the memory ${name} counts members and turns, each from its own beginning`, () => {
    const memory = make();
    assert.deepEqual([memory.joinNumber(), memory.joinNumber()], [1, 2]);
    const slot = memory.slotOf('g', 't');
    const other = memory.slotOf('h', 't');
    assert.deepEqual([slot.nextTurn(), slot.nextTurn(), slot.nextTurn()], [0, 1, 2]);
    slot.skip(-1);
    assert.equal(slot.turn, 2);
    slot.skip(5);
    assert.equal(slot.nextTurn(), 7);
    assert.equal(other.turn, 0);
  });

  test(`the memory ${name} sticks to one member until another is wanted`, () => {
    const slot = make().slotOf('g', 't');
    assert.equal(slot.stuck, 0);
    assert.equal(slot.stick(0, 4), 4);
    assert.equal(slot.stuck, 4);
    assert.equal(slot.stick(4, 6), 6);
    assert.equal(slot.stuck, 6);
  });
}

test('of two workers that want different members to stick to, the first decides', () => {
  const memory = SharedGroupMemory.memory();
  const [a, b] = [new SharedGroupMemory(memory), new SharedGroupMemory(memory)];
  assert.equal(a.slotOf('g', 't').stick(0, 3), 3);
  assert.equal(b.slotOf('g', 't').stick(0, 5), 3);
  assert.equal(a.slotOf('g', 't').stuck, 3);
});

test('two workers have one slot for a group, and different groups different ones', () => {
  const memory = SharedGroupMemory.memory();
  const [a, b] = [new SharedGroupMemory(memory), new SharedGroupMemory(memory)];
  for (let i = 0; i < 3000; i++) a.slotOf('g', `t/${i}`).skip(i);
  for (let i = 2999; i >= 0; i--) assert.equal(b.slotOf('g', `t/${i}`).turn, i);
  assert.notEqual(a.joinNumber(), b.joinNumber());
});

test('groups beyond the room there is take turns for themselves', () => {
  const memory = new SharedGroupMemory(SharedGroupMemory.memory());
  for (let i = 0; i < 1 << 16; i++) memory.slotOf('g', `t/${i}`);
  const slot = memory.slotOf('one', 'more');
  slot.skip(7);
  assert.equal(slot.turn, 7);
  assert.equal(memory.slotOf('one', 'more').turn, 0);
  assert.equal(memory.slotOf('g', 't/0').turn, 0, 'nobody else has its turns');
});

test('threads that take turns at once get each turn exactly once', async (t) => {
  const memory = SharedGroupMemory.memory();
  const gate = new Int32Array(new SharedArrayBuffer(4));
  const turns = 300_000;
  const threads = Array.from(
    { length: 4 },
    () =>
      new Worker(new URL('group-turns-fixture.ts', import.meta.url), {
        workerData: { memory, gate, turns },
      }),
  );
  t.after(() => Promise.all(threads.map((thread) => thread.terminate())));
  const signal = AbortSignal.timeout(20_000);
  await Promise.all(threads.map((thread) => once(thread, 'message', { signal })));
  const answers = threads.map((thread) => once(thread, 'message', { signal }));
  Atomics.store(gate, 0, 1);
  Atomics.notify(gate, 0);
  const all = (await Promise.all(answers)).map(
    ([answer]) => answer as { taken: Uint32Array; joined: Uint32Array; stuck: number },
  );
  for (const [kind, first] of [
    ['taken', 0],
    ['joined', 1],
  ] as const) {
    const times = new Uint8Array(threads.length * turns);
    for (const answer of all) for (const one of answer[kind]) times[one - first] = 1;
    assert.ok(
      times.every((one) => one === 1),
      `every number ${kind} by somebody`,
    );
  }
  assert.equal(new Set(all.map(({ stuck }) => stuck)).size, 1, 'all stick to the same one');
});
