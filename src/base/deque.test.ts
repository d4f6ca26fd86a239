import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import test from 'node:test';
import fc from 'fast-check';
import { Deque } from './deque.ts';

test('Deque owns no storage before its first value', () => {
  const deque = new Deque<number>();
  assert.equal(deque.capacity, 0);
  assert.equal(deque.shift(), undefined);
  assert.equal(deque.peek(), undefined);
  assert.equal(deque.at(0), undefined);
  assert.deepEqual([...deque], []);
  assert.equal(deque.capacity, 0);
});

test('Deque instances share no values though they share the empty storage', () => {
  const one = new Deque<number>();
  const two = new Deque<number>();
  one.push(1);
  two.unshift(2);
  assert.deepEqual([...one, ...two], [1, 2]);
  assert.equal(new Deque().length, 0);
});

test('Deque doubles its storage, and releases a large one when it runs empty', () => {
  const deque = new Deque<number>();
  for (let i = 0; i < 1000; i += 1) deque.push(i);
  assert.equal(deque.capacity, 1024);
  for (let i = 0; i < 1000; i += 1) assert.equal(deque.shift(), i);
  assert.equal(deque.capacity, 0);
});

test('Deque keeps a small storage when it runs empty', () => {
  const deque = new Deque<number>();
  deque.push(1);
  deque.shift();
  assert.equal(deque.capacity, 4);
  deque.push(2);
  assert.deepEqual([...deque], [2]);
});

test('Deque releases a large storage when removeAt takes the last value', () => {
  const deque = new Deque<number>();
  for (let i = 0; i < 100; i += 1) deque.push(i);
  while (deque.length > 0) deque.removeAt(deque.length >> 1);
  assert.equal(deque.capacity, 0);
});

test('Deque refuses to remove outside of its length', () => {
  const deque = new Deque<string>();
  deque.push('a');
  for (const index of [-1, 1, 0.5, Number.NaN]) {
    assert.throws(() => deque.removeAt(index), /Invariant broken/);
  }
  assert.deepEqual([...deque], ['a']);
});

type Step =
  | { do: 'push' | 'unshift'; value: number }
  | { do: 'shift' | 'clear' }
  | { do: 'removeAt'; where: number };

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 60, arbitrary: fc.record({ do: fc.constantFrom('push', 'unshift'), value: fc.nat() }) },
  { weight: 30, arbitrary: fc.record({ do: fc.constant('shift') }) },
  { weight: 20, arbitrary: fc.record({ do: fc.constant('removeAt'), where: fc.nat(99) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('clear') }) },
);

function apply(next: Step, deque: Deque<number>, model: number[]): void {
  if (next.do === 'push' || next.do === 'unshift') {
    deque[next.do](next.value);
    model[next.do](next.value);
  } else if (next.do === 'removeAt') {
    if (model.length === 0) return;
    const index = next.where % model.length;
    assert.equal(deque.removeAt(index), model.splice(index, 1)[0]);
  } else if (next.do === 'shift') {
    assert.equal(deque.shift(), model.shift());
  } else {
    deque.clear();
    model.length = 0;
  }
}

test('Deque behaves like an array under any sequence of calls', (t) => {
  const seed = Number(process.env['SEED'] ?? randomInt(2 ** 31));
  t.diagnostic(`SEED=${seed}`);
  const steps = fc.array(step, { maxLength: 120, size: 'max' });
  const law = fc.property(steps, (list) => {
    const deque = new Deque<number>();
    const model: number[] = [];
    for (const next of list) {
      apply(next, deque, model);
      assert.equal(deque.length, model.length);
      assert.equal(deque.peek(), model[0]);
      assert.equal(deque.at(model.length - 1), model.at(-1));
      assert.equal(deque.at(model.length), undefined);
      assert.deepEqual([...deque], model);
    }
  });
  fc.assert(law, { seed, numRuns: 300 });
});
