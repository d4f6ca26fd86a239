import assert from 'node:assert/strict';
import test from 'node:test';
import { CallError } from '#base/calls';
import { VirtualClock } from '#base/clock';
import type { WorkersFace } from '#node/node-face';
import { OperatingError } from './failures.ts';
import { itemOf } from './batch.ts';
import { atSession, checkTopicCount, topicsOf } from './on-behalf.ts';
import { operating } from './operating.ts';

/** Workers that answer one thing after another. */
function answering(...answers: readonly unknown[]): WorkersFace {
  const left = [...answers];
  return { atClient: async () => left.shift() } as unknown as WorkersFace;
}

test('topics are split at commas, but not in an array, nor where one is wanted', () => {
  assert.deepEqual(topicsOf({ topic: 'a,b/c' }), ['a', 'b/c']);
  assert.deepEqual(topicsOf({ topic: 'a', topics: 'b' }), ['a'], '`topic` comes first');
  assert.deepEqual(topicsOf({ topics: 'a,b' }), ['a', 'b']);
  assert.deepEqual(topicsOf({ topics: ['a,b'] }), ['a,b']);
  assert.deepEqual(topicsOf({}), []);
  assert.deepEqual(topicsOf({ topic: 'a,b' }, true), ['a,b']);
});

test('so many topics are too many', () => {
  const entry = { topics: new Array<string>(5000).fill('t') };
  checkTopicCount([entry, entry]);
  assert.throws(() => checkTopicCount([entry, entry, { topic: 't' }]), { code: 108 });
});

test('a session that moves is asked again where it is by then', async () => {
  const clock = new VirtualClock();
  const workers = answering('moving', 'moving', 'ok');
  const done = atSession({ workers, clock }, 'c', 'unsubscribe', [['c', 't']]);
  for (let i = 0; i < 20; i++) {
    await Promise.resolve();
    clock.advance(50);
  }
  await done;
});

test('a session that does not arrive anywhere is given up', async () => {
  const clock = new VirtualClock();
  const workers = answering(...new Array<string>(1000).fill('moving'));
  const done = atSession({ workers, clock }, 'c', 'unsubscribe', [['c', 't']]);
  const given = assert.rejects(done, { code: 101 });
  for (let i = 0; i < 1000; i++) {
    await Promise.resolve();
    clock.advance(50);
  }
  await given;
});

test('of several topics one that was taken is enough; without a session none is', async () => {
  const clock = new VirtualClock();
  const ask = (...answers: readonly unknown[]): Promise<void> => {
    const calls = answers.map(() => ['c', 't'] as const);
    return atSession({ workers: answering(...answers), clock }, 'c', 'unsubscribe', calls);
  };
  await ask('ok', 'bad_topic');
  await assert.rejects(ask('bad_topic', 'bad_topic'), { code: 115, message: 'bad_topic' });
  await assert.rejects(ask('no_session'), { code: 112, message: 'session_not_found' });
  await assert.rejects(ask(undefined), { code: 112 }, 'no worker has one');
});

test('what a worker could not do is told by its reason, and our own faults are not', async () => {
  const outcome = async (error: Error): Promise<unknown> =>
    operating(Promise.reject(error)).catch((thrown: unknown) => thrown);
  const full = await outcome(new Error('the disk is full'));
  assert.ok(full instanceof OperatingError);
  assert.deepEqual([full.code, full.message], [102, 'the disk is full']);
  const gone = await outcome(new CallError('call_closed', 'Cannot call'));
  assert.ok(gone instanceof OperatingError);
  assert.equal(gone.code, 101);
  const fault = Object.assign(new Error('x of undefined'), { name: 'TypeError' });
  assert.equal(await outcome(fault), fault, 'from another thread');
  assert.equal(await operating(Promise.resolve(5)), 5);
});

test('an item of a batch echoes its topics and tells its code', async () => {
  const fail = (error: Error): Promise<void> => Promise.reject(error);
  assert.deepEqual(await itemOf({ topic: 'a' }, Promise.resolve()), { topic: 'a', code: 0 });
  assert.deepEqual(await itemOf({ topics: 'a,b' }, Promise.resolve(), { client_id: 'c' }), {
    client_id: 'c',
    topics: 'a,b',
    code: 0,
  });
  const none = new OperatingError('badTopic', 'bad_topic');
  assert.deepEqual(await itemOf({}, fail(none)), { code: 115 });
  const full = new OperatingError('failed', 'the disk is full');
  assert.deepEqual(await itemOf({ topic: 'a' }, fail(full)), {
    topic: 'a',
    code: 102,
    message: 'the disk is full',
  });
  await assert.rejects(itemOf({ topic: 'a' }, fail(new TypeError('ours'))), TypeError);
});
