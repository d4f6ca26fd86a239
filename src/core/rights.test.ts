import assert from 'node:assert/strict';
import test from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import type { AclSettings } from '#config/settings';
import { Rights, RightsMemory } from './rights.ts';
import type { Route } from './router.ts';

const settings: AclSettings = {
  file: undefined,
  isCached: true,
  cacheMax: 3,
  cacheTtlMs: 1000,
  isRechecked: true,
};

function memory(more: Partial<AclSettings> = {}): {
  readonly rights: Rights;
  readonly memory: RightsMemory;
  readonly pass: (ms: number) => void;
} {
  let nowMs = 0;
  const rights = new Rights({ ...settings, ...more }, () => nowMs);
  return { rights, memory: new RightsMemory(rights), pass: (ms) => void (nowMs += ms) };
}

test('an answer is remembered for its action and topic until its time is over', () => {
  const { memory: it, pass } = memory();
  assert.equal(it.recall('publish', 't'), undefined);
  it.remember('publish', 't', true);
  it.remember('subscribe', 't', false);
  pass(999);
  assert.equal(it.recall('publish', 't'), true);
  assert.equal(it.recall('subscribe', 't'), false);
  pass(1);
  assert.equal(it.recall('publish', 't'), undefined);
});

test('recalling does not make an answer hold longer', () => {
  const { memory: it, pass } = memory();
  it.remember('publish', 't', true);
  for (let i = 0; i < 9; i++) {
    pass(100);
    assert.equal(it.recall('publish', 't'), true);
  }
  pass(100);
  assert.equal(it.recall('publish', 't'), undefined);
});

test('of more answers than there is room for the oldest goes', () => {
  const { memory: it } = memory();
  for (const topic of ['a', 'b', 'c', 'd']) it.remember('publish', topic, true);
  assert.deepEqual(
    it.list().map(({ topic }) => topic),
    ['b', 'c', 'd'],
  );
  it.remember('subscribe', 'e', true);
  assert.equal(it.list().length, 3);
  assert.equal(it.recall('subscribe', 'e'), true);
});

test('a new epoch forgets what was remembered before it', () => {
  const { memory: it, rights } = memory();
  it.remember('publish', 't', true);
  rights.forgetAll();
  assert.equal(it.recall('publish', 't'), undefined);
  assert.deepEqual(it.list(), []);
  it.remember('publish', 't', false);
  assert.equal(it.recall('publish', 't'), false);
});

test('an answer that takes time is shared by all who ask meanwhile, and holds from when it came', async () => {
  const { memory: it, pass } = memory();
  const { promise, resolve } = Promise.withResolvers<boolean>();
  it.remember('publish', 't', promise);
  pass(5000);
  assert.equal(it.recall('publish', 't'), promise);
  assert.deepEqual(it.list(), [], 'it is not known yet');
  resolve(true);
  await turn();
  assert.equal(it.recall('publish', 't'), true);
  assert.deepEqual(it.list(), [{ action: 'publish', topic: 't', isAllowed: true, ageMs: 0 }]);
  pass(1000);
  assert.equal(it.recall('publish', 't'), undefined);
});

test('an answer that nobody could give is not remembered', async () => {
  const { memory: it } = memory();
  it.remember('publish', 'now', false, () => false);
  assert.equal(it.recall('publish', 'now'), undefined);
  it.remember('publish', 'late', Promise.resolve(false), () => false);
  await turn();
  assert.equal(it.recall('publish', 'late'), undefined);
});

test('an answer of a former epoch that comes late is not taken in', async () => {
  const { memory: it, rights } = memory();
  const { promise, resolve } = Promise.withResolvers<boolean>();
  it.remember('publish', 't', promise);
  rights.forgetAll();
  assert.equal(it.recall('publish', 't'), undefined);
  resolve(true);
  await turn();
  assert.equal(it.recall('publish', 't'), undefined);
});

test('the last route that was allowed is known until its answer, or the epoch, is over', () => {
  const { memory: it, rights, pass } = memory();
  const route = { topic: 't' } as Route;
  assert.equal(it.isLastAllowed(route), false);
  it.remember('publish', 't', true);
  pass(400);
  it.allowLast(route, true);
  assert.equal(it.isLastAllowed(route), true);
  assert.equal(it.isLastAllowed({ ...route }), false, 'another route');
  pass(600);
  assert.equal(it.isLastAllowed(route), false, 'not longer than the answer itself');
  it.allowLast(route, false);
  pass(1_000_000);
  assert.equal(it.isLastAllowed(route), true);
  rights.forgetAll();
  assert.equal(it.isLastAllowed(route), false);
  it.allowLast(route, false);
  it.forget();
  assert.equal(it.isLastAllowed(route), false);
});
