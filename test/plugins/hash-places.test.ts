// A flood of passwords, in all workers and through several plugins, leaves threads of the pool to the store and to
// files: the places for hashes are those of the process.

import assert from 'node:assert/strict';
import test from 'node:test';
import { UserPlugins } from '#test/user-plugins';

/** Tells how many places there are, and counts in what all of them share. */
const greedy = `
  const { getEnvironmentData } = await import('node:worker_threads');
  ctx.answers({ cells: () => {
    const cells = getEnvironmentData('broker.hash_places');
    const before = new BigInt64Array(cells);
    return { places: before.length - 1, bump: Number(Atomics.add(before, 0, 1n)) };
  } });`;

test('all workers share the places for hashes of the process', async () => {
  using user = new UserPlugins();
  user.plugin('greedy', {
    worker: greedy,
    control: `return { cells: () => ctx.askWorkers('cells') };`,
    operations: `[defineOperation({ name: 'cells', descr: 'Show', tag: 'Test', http: { method: 'GET', path: '/cells' },
      params: noParams, run: async () => (await service.cells()).answers })]`,
  });
  await using managed = await user.start({
    workers: 2,
    settings: { 'plugins.loaded': 'greedy' },
  });
  const answers = (await managed.get('/cells')).body.data as [
    string,
    { readonly places: number; readonly bump: number },
  ][];
  const places = answers.map(([, found]) => found.places);
  assert.deepEqual(places, [2, 2]);
  const [one = -1, two = -1] = answers.map(([, found]) => found.bump).toSorted((a, b) => a - b);
  assert.equal(two, one + 1, 'they count in the same cell');
});
