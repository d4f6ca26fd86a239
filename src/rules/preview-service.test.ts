import assert from 'node:assert/strict';
import test from 'node:test';
import { VirtualClock } from '#base/clock';
import { type PreviewParts, Previews } from './preview-service.ts';
import type { RecordingOrder } from './rule-order.ts';

const rawsql = 'SELECT * FROM "t/#"';
const never = new AbortController().signal;
const row = (atMs: number): object => ({
  atMs,
  json: `{"event":"message.publish","timestamp":${atMs},"input":{},"matched":true,"output":[],"reasons":[]}`,
});

type Asked = Awaited<ReturnType<PreviewParts['askWorkers']>>;

function previews(
  answers: Readonly<Record<string, Asked>>,
  filters: readonly string[] = [],
): { own: Previews; clock: VirtualClock; asked: string[]; shared: (readonly RecordingOrder[])[] } {
  const clock = new VirtualClock();
  const asked: string[] = [];
  const shared: (readonly RecordingOrder[])[] = [];
  const parts: PreviewParts = {
    clock,
    askWorkers: async (question) => {
      asked.push(question);
      return answers[question] ?? { answers: [], missing: [] };
    },
    share: async (orders) => void shared.push(orders),
  };
  return { own: new Previews(parts, filters), clock, asked, shared };
}

test('recorded events of all workers come in their order, the last ones, and who is missing', async () => {
  const recorded: Asked = {
    answers: [
      ['worker 0', [row(5), row(1)]],
      ['worker 1', [row(4), row(3)]],
    ],
    missing: [['worker 2', 'late']],
  };
  const { own } = previews({ previewRecorded: recorded }, ['t/#']);
  const { events, missing } = await own.preview({ rawsql, count: 3 }, never);
  assert.deepEqual(
    events.map(({ timestamp }) => timestamp),
    [3, 4, 5],
  );
  assert.deepEqual(missing, ['worker 2']);
});

test('live events are waited for until the time is over, a worker is full, or nobody waits', async () => {
  const ended: Asked = { answers: [['worker 0', [row(1), row(2), row(3)]]], missing: [] };
  const { own, clock, asked } = previews({ previewEnd: ended });
  const wish = { rawsql, count: 2, seconds: 10 };
  const byTime = own.preview(wish, never);
  await new Promise(setImmediate);
  assert.deepEqual(asked, ['previewStart']);
  clock.advance(10_000);
  assert.deepEqual(
    (await byTime).events.map(({ timestamp }) => timestamp),
    [1, 2],
  );
  const byFull = own.preview(wish, never);
  await new Promise(setImmediate);
  own.full(1);
  own.full(2);
  assert.equal((await byFull).events.length, 2);
  const leaving = new AbortController();
  const byLeaving = own.preview(wish, leaving.signal);
  leaving.abort();
  await byLeaving;
  await own.preview(wish, AbortSignal.abort());
  assert.equal(clock.timerCount, 0);
  assert.equal(asked.filter((question) => question === 'previewEnd').length, 4);
});

test('so many wait for live events and no more', async () => {
  const { own, clock } = previews({});
  const wish = { rawsql, count: 2, seconds: 10 };
  const waiting = Array.from({ length: 8 }, () => own.preview(wish, never));
  await assert.rejects(own.preview(wish, never), /limit/);
  await new Promise(setImmediate);
  clock.advance(10_000);
  await Promise.all(waiting);
});

test('what is to be recorded is shared each time that it changes', async () => {
  const counts: Asked = {
    answers: [
      ['worker 0', { 'message.publish': 2 }],
      ['worker 1', { 'message.publish': 3, 'client.connected': 9 }],
    ],
    missing: [],
  };
  const { own, shared } = previews({ previewCounts: counts }, ['a']);
  assert.deepEqual(own.orders, [{ filter: 'a', events: ['message.publish'] }]);
  await own.record('b', []);
  await own.record('a', ['client.connected']);
  assert.equal(shared.length, 2);
  assert.deepEqual(await own.recordings(), [
    { filter: 'a', events: ['client.connected'], recorded: 9 },
    { filter: 'b', events: ['message.publish'], recorded: 5 },
  ]);
  assert.equal(await own.forget('b'), true);
  assert.equal(await own.forget('b'), false);
  assert.equal(shared.length, 3);
});
