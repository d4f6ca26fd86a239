import assert from 'node:assert/strict';
import { availableParallelism } from 'node:os';
import test from 'node:test';
import { loadSettings } from './load.ts';

function workersOf(text: string | undefined): number {
  const sets = text === undefined ? [] : [`node.workers=${text}`];
  return loadSettings({ sets: ['listener.tcp.external=127.0.0.1:0', ...sets] }).node.workers;
}

for (const text of ['0', '1', '64']) {
  test(`node.workers takes ${text} as it is`, () => {
    assert.equal(workersOf(text), Number(text));
  });
}

for (const text of ['auto', undefined]) {
  test(`node.workers leaves a core to the others when it is ${text ?? 'not set'}`, () => {
    const wanted = Math.min(64, Math.max(1, availableParallelism() - 1));
    assert.equal(workersOf(text), wanted);
  });
}

for (const text of ['65', '-1', 'many', '1.5', '0x2', '1e1', 'Auto']) {
  test(`node.workers refuses ${text} and says what is wanted`, () => {
    assert.throws(() => workersOf(text), /auto, or a whole number from 0 to 64/);
  });
}
