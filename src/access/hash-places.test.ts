import assert from 'node:assert/strict';
import test from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { HashPlaces, placesOf } from './hash-places.ts';
import { HashQueue } from './hash-queue.ts';

test('two threads of the pool are left to others', () => {
  const sizes = [undefined, '4', '1', '2', '16', '1000', 'many', '0'];
  assert.deepEqual(sizes.map(placesOf), [2, 2, 1, 1, 14, 126, 2, 2]);
});

test('queues of one process compute so many at once together', async () => {
  const cells = HashPlaces.cellsFor(2);
  let running = 0;
  let most = 0;
  const queues = Array.from({ length: 4 }, () => new HashQueue({ places: new HashPlaces(cells) }));
  await Promise.all(
    queues.flatMap((queue) =>
      Array.from({ length: 5 }, () =>
        queue.run(async () => {
          most = Math.max(most, ++running);
          await new Promise(setImmediate);
          running--;
        }),
      ),
    ),
  );
  assert.equal(most, 2);
});

test('a place that another thread gives back is taken here', async () => {
  const cells = HashPlaces.cellsFor(1);
  const places = new HashPlaces(cells);
  const url = new URL('hash-places.ts', import.meta.url).href;
  const code = `
    const { parentPort, workerData } = require('node:worker_threads');
    import('${url}').then(async ({ HashPlaces }) => {
      const free = await new HashPlaces(workerData).take();
      parentPort.postMessage('taken');
      parentPort.once('message', free);
    });`;
  const thread = new Worker(code, { eval: true, workerData: cells });
  await new Promise((resolve) => thread.once('message', resolve));
  const taking = places.take();
  assert.equal(await Promise.race([taking, Promise.resolve('waits')]), 'waits');
  thread.postMessage('free');
  const free = await taking;
  free();
  await thread.terminate();
});

test('the place of a thread that died is taken when its time is over', async () => {
  const places = new HashPlaces(HashPlaces.cellsFor(1));
  let nowMs = 1_000_000;
  const lost = await places.take(() => nowMs);
  nowMs += 30_001;
  const free = await places.take(() => nowMs);
  // The late one takes nothing from whoever has it now.
  lost();
  const taking = places.take(() => nowMs);
  assert.equal(await Promise.race([taking, wait(0, 'waits')]), 'waits');
  free();
  (await taking)();
});
