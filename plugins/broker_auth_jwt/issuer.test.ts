import assert from 'node:assert/strict';
import test from 'node:test';
import { Issuer } from './issuer.ts';
import type { PublicJwk } from './public-keys.ts';
import { ec256, jwkOf } from './token-fixture.ts';

const settings = { intervalMs: 300_000, cooldownMs: 30_000, staleMs: 3_600_000 };

/** An issuer whose server says what a test wants, in a time of its own. */
class World {
  nowMs = 0;
  /** What the server answers; an error: it cannot be reached. */
  answer: string | Error | Promise<string> = setOf('one');
  fetches = 0;
  readonly told: (string | undefined)[] = [];
  readonly failures: string[] = [];
  readonly #timers = new Map<() => unknown, number>();
  readonly issuer = new Issuer({
    settings,
    clock: { monotonicMs: () => this.nowMs },
    fetch: async () => {
      this.fetches++;
      if (this.answer instanceof Error) throw this.answer;
      return this.answer;
    },
    after: (ms, call) => {
      this.#timers.set(call, this.nowMs + ms);
      return () => void this.#timers.delete(call);
    },
    onKeys: async (keys) => void this.told.push(namesOf(keys)),
    onFetched: () => {},
    onFailed: (text) => void this.failures.push(text),
  });

  get timers(): readonly number[] {
    return [...this.#timers.values()];
  }

  /** To the next timer, which must be so far away. */
  async pass(ms: number): Promise<void> {
    assert.deepEqual(this.timers, [this.nowMs + ms]);
    const [call] = this.#timers.keys();
    this.nowMs += ms;
    this.#timers.clear();
    await call?.();
  }
}

function setOf(...kids: readonly string[]): string {
  return JSON.stringify({ keys: kids.map((kid) => jwkOf(ec256, { kid })) });
}

function namesOf(keys: readonly PublicJwk[] | undefined): string | undefined {
  return keys?.map(({ kid }) => kid).join(' ');
}

const down = new Error('connect ECONNREFUSED');

test('Issuer fetches at once, then at intervals, with one timer', async () => {
  const world = new World();
  assert.equal(await world.issuer.start(), true);
  world.answer = setOf('two', 'three');
  await world.pass(300_000);
  await world.pass(300_000);
  assert.deepEqual(world.told, ['one', 'two three', 'two three']);
});

test('Issuer fetches for an unknown key once per cooldown, for whoever asks', async () => {
  const world = new World();
  await world.issuer.start();
  world.nowMs += 29_999;
  assert.deepEqual(await Promise.all([world.issuer.refresh(), world.issuer.refresh()]), [
    true,
    true,
  ]);
  assert.equal(world.fetches, 1);
  world.nowMs += 1;
  const asked = Array.from({ length: 50 }, () => world.issuer.refresh());
  await Promise.all(asked);
  assert.equal(world.fetches, 2);
  await world.issuer.refresh();
  assert.equal(world.fetches, 2);
  assert.deepEqual(world.timers, [30_000 + 300_000], 'the interval begins anew');
});

test('Issuer has whoever asks wait for the fetch under way', async () => {
  const world = new World();
  await world.issuer.start();
  world.nowMs += 40_000;
  const { promise, resolve } = Promise.withResolvers<string>();
  world.answer = promise;
  const first = world.issuer.refresh();
  const second = world.issuer.refresh();
  resolve(setOf('two'));
  assert.deepEqual(await Promise.all([first, second]), [true, true]);
  assert.deepEqual([world.fetches, world.told], [2, ['one', 'two']]);
});

test('Issuer keeps its keys while the server is down or talks nonsense, and tries again soon', async () => {
  const world = new World();
  await world.issuer.start();
  for (const answer of [down, '<html>', '{"keys":7}', '']) {
    world.answer = answer;
    await world.pass(world.failures.length === 0 ? 300_000 : 30_000);
    assert.equal(await world.issuer.refresh(), false);
  }
  assert.equal(world.failures.length, 4);
  world.answer = setOf('two');
  await world.pass(30_000);
  assert.deepEqual(world.told, ['one', 'two']);
  assert.equal(await world.issuer.refresh(), true);
});

test('Issuer gives its keys up when they are too old', async () => {
  const world = new World();
  await world.issuer.start();
  world.answer = down;
  await world.pass(300_000);
  while (world.nowMs < settings.staleMs) await world.pass(30_000);
  assert.deepEqual(world.told, ['one']);
  await world.pass(30_000);
  await world.pass(30_000);
  assert.deepEqual(world.told, ['one', undefined]);
  world.answer = setOf('one');
  await world.pass(30_000);
  assert.deepEqual(world.told, ['one', undefined, 'one']);
});

test('Issuer starts without its server, and says so', async () => {
  const world = new World();
  world.answer = down;
  assert.equal(await world.issuer.start(), false);
  assert.deepEqual([world.told, world.failures.length], [[], 1]);
  world.answer = setOf('one');
  await world.pass(30_000);
  assert.deepEqual(world.told, ['one']);
});
