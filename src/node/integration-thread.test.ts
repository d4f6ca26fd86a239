import assert from 'node:assert/strict';
import test from 'node:test';
import { systemClock, VirtualClock } from '#base/clock';
import { nullLogger } from '#base/log';
import type { ResourceOptions, ResourceOrder } from '#rules/resources/job';
import { IntegrationThread } from './integration-thread.ts';

const deadlineMs = 10_000;

function thread(entry?: URL): IntegrationThread {
  return new IntegrationThread({ clock: systemClock, log: nullLogger, ...(entry && { entry }) });
}

function entryOf(source: string): URL {
  return new URL(`data:text/javascript,${encodeURIComponent(source)}`);
}

test('the integration thread starts with its first call, answers, and ends with its owner', async () => {
  const integration = thread();
  assert.equal(integration.isRunning, false);
  const { heapUsedBytes, heapLimitBytes, upMs } = await integration.call('status', [], deadlineMs);
  assert.ok(heapUsedBytes > 0 && heapUsedBytes < heapLimitBytes && upMs >= 0);
  assert.equal(integration.isRunning, true);
  await integration[Symbol.asyncDispose]();
  assert.equal(integration.isRunning, false);
  await assert.rejects(integration.call('status', [], deadlineMs), /has stopped/);
});

test('a call to an integration thread that dies is refused, and the next one starts another', async () => {
  await using integration = thread(entryOf('throw new Error("cannot load")'));
  await assert.rejects(integration.call('status', [], deadlineMs), /closed|ended/);
  assert.equal(integration.isRunning, false);
  await assert.rejects(integration.call('status', [], deadlineMs), /closed|ended/);
});

test('an integration thread that hangs holds up nobody beyond the deadline', async () => {
  const hanging = `
    import { workerData } from 'node:worker_threads';
    workerData.port.on('message', () => {});
    workerData.port.on('close', () => process.exit());`;
  await using integration = thread(entryOf(hanging));
  await assert.rejects(integration.call('status', [], 50), /within 50 ms/);
  assert.equal(integration.isRunning, true);
});

const built: ResourceOrder = { id: 'built_in:a', type: 'built_in', config: {}, revision: 1 };
const options: ResourceOptions = { isLinkLocalDenied: true, bufferDir: '' };

test('the integration thread runs the resources that are upheld, and none of one who left', async () => {
  await using integration = thread();
  const [first, second] = [{}, {}];
  await integration.uphold([], options, first);
  assert.equal(integration.isRunning, false);
  await integration.uphold([built], options, first);
  const alive = (): Promise<unknown> => integration.call('aliveResources', [], deadlineMs);
  assert.deepEqual(await alive(), [['built_in:a', true]]);
  await integration.uphold([{ ...built, id: 'built_in:b' }], options, second);
  await integration.leave(first);
  assert.deepEqual(await alive(), [['built_in:b', true]]);
  await integration.leave(second);
  assert.deepEqual(await alive(), []);
});

test('an integration thread that dies is started again with the resources that are upheld', async () => {
  const clock = new VirtualClock();
  const dying = entryOf(`
    import { workerData } from 'node:worker_threads';
    workerData.port.on('message', (batch) => {
      for (const [, id, name] of batch) {
        if (name === 'status') process.exit();
        workerData.port.postMessage([[2, id, name]]);
      }
    });
    workerData.port.on('close', () => process.exit());`);
  await using integration = new IntegrationThread({ clock, log: nullLogger, entry: dying });
  await integration.uphold([built], options, {});
  await assert.rejects(integration.call('status', [], deadlineMs), /closed|ended/);
  assert.equal(integration.isRunning, false);
  clock.advance(1000);
  assert.equal(integration.isRunning, true);
});
