import assert from 'node:assert/strict';
import test from 'node:test';
import { systemClock } from '#base/clock';
import { nullLogger } from '#base/log';
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
