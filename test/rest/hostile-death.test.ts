// A worker dies while it is asked. Law: every request is answered in an envelope and none of them by a
// fault of our own; the node goes on.

import assert from 'node:assert/strict';
import test, { type TestContext } from 'node:test';
import type { Worker } from 'node:worker_threads';
import { type HttpAnswer, type Managed, startManaged } from '#test/managed';

/** The threads that the process starts from now on. */
function threadsOf(t: TestContext): Worker[] {
  const threads: Worker[] = [];
  const onWorker = (worker: Worker): void => void threads.push(worker);
  process.on('worker', onWorker);
  t.after(() => process.off('worker', onWorker));
  return threads;
}

const client = 'c/1';
const bodies: Readonly<Record<string, unknown>> = {
  '/mqtt/publish': { topic: 't', qos: 1, payload: 'x', retain: true },
  '/mqtt/subscribe': { topic: 't', client_id: client },
  '/mqtt/unsubscribe': { topic: 't', client_id: client },
  '/mqtt/publish_batch': [{ topic: 't', qos: 1 }, { topic: 'u' }],
  '/banned': { who: 'x', as: 'client_id' },
  '/traces': { client_id: client, file: 'c.log' },
};

function requests(managed: Managed): Promise<HttpAnswer>[] {
  const reads = [
    '/nodes',
    '/brokers',
    '/connections',
    `/connections/${encodeURIComponent(client)}`,
    '/sessions',
    '/subscriptions',
    '/routes',
    '/metrics',
    '/stats',
    '/listeners',
    '/alarms/present',
    '/plugins',
    '/configs',
    '/traces',
    `/explain/connect?client_id=x`,
    '@/metrics',
    '@/readyz',
    '@/status',
  ].map((path) => managed.get(path));
  const writes = Object.entries(bodies).map(([path, body]) => managed.post(path, body));
  return [...reads, ...writes, managed.delete(`/connections/${encodeURIComponent(client)}`)];
}

test('whatever is asked for while a worker dies is answered', async (t) => {
  const threads = threadsOf(t);
  await using managed = await startManaged({ workers: 2, expectedErrors: ['worker.died'] });
  const [victim] = threads.filter(({ threadName }) => threadName?.includes('0'));
  assert.ok(victim, threads.map(({ threadName }) => threadName).join());
  await Promise.all(requests(managed));
  const asked = requests(managed);
  const died = victim.terminate();
  const answers = await Promise.all([...asked, ...requests(managed)]);
  await died;
  assert.ok(managed.logged.some((line) => line.includes('worker.died')));
  for (const { status, text } of answers) assert.notEqual(status, 500, text);
  assert.equal((await managed.get('/nodes')).body.code, 0);
});
