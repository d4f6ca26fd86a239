import assert from 'node:assert/strict';
import test from 'node:test';
import { isFarOver, levelFor, nextHeldShare, type Signals } from './overload-level.ts';
import { Level } from './pressure.ts';

const { calm, pausing, refusing } = Level;
const idle: Signals = { held: 0, heap: 0, delayMs: 0 };

for (const [signal, cases] of [
  ['held', [0.79, 0.8, 0.99, 1]],
  ['heap', [0.79, 0.8, 0.89, 0.9]],
  ['delayMs', [999, 1000, 4999, 5000]],
] as const) {
  test(`${signal} alone begins each level where it says`, () => {
    const levels = cases.map((value) => levelFor({ ...idle, [signal]: value }, calm));
    assert.deepEqual(levels, [calm, pausing, pausing, refusing]);
  });
}

test('the highest level that any signal asks for is taken', () => {
  assert.equal(levelFor({ held: 0.8, heap: 0.9, delayMs: 0 }, calm), refusing);
  assert.equal(levelFor({ held: 1, heap: 0.8, delayMs: 1000 }, calm), refusing);
  assert.equal(levelFor({ held: 0.1, heap: 0.8, delayMs: 0 }, calm), pausing);
});

test('a level is left at a lower value than it began at', () => {
  assert.equal(levelFor({ ...idle, held: 0.73 }, pausing), pausing);
  assert.equal(levelFor({ ...idle, held: 0.71 }, pausing), calm);
  assert.equal(levelFor({ ...idle, held: 0.91 }, refusing), refusing);
  assert.equal(levelFor({ ...idle, held: 0.89 }, refusing), pausing);
  assert.equal(levelFor({ ...idle, held: 0.73 }, refusing), pausing);
  assert.equal(levelFor({ ...idle, held: 0.5 }, refusing), calm);
  assert.equal(levelFor({ ...idle, held: 0.95 }, pausing), pausing);
});

test('far over is what reading on would make dangerous', () => {
  assert.equal(isFarOver({ held: 1.19, heap: 0.94, delayMs: 60_000 }), false);
  assert.ok(isFarOver({ ...idle, held: 1.2 }));
  assert.ok(isFarOver({ ...idle, heap: 0.95 }));
});

test('the share at which it becomes worse grows with the level', () => {
  assert.deepEqual([calm, pausing, refusing].map(nextHeldShare), [0.8, 1, 1.2]);
});
