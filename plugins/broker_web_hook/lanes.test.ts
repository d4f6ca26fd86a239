import assert from 'node:assert/strict';
import test from 'node:test';
import { systemClock } from '#sdk/operations';
import { type Fate, Lanes } from './lanes.ts';

const settings = {
  poolSize: 4,
  queueMax: 100,
  queueBytesMax: 1000,
  headers: {},
  secret: undefined,
};

/** Lanes to a server that does what a test says. */
class Bench {
  readonly sent: string[] = [];
  readonly fates: Fate[] = [];
  readonly changes: unknown[] = [];
  act: (body: string) => Promise<void> = () => Promise.resolve();
  readonly lanes: Lanes;

  constructor(own: Partial<typeof settings> = {}) {
    this.lanes = new Lanes({
      settings: { ...settings, ...own },
      sender: {
        send: ({ body }) => {
          this.sent.push(String(body));
          return this.act(String(body));
        },
      },
      // Pauses end at once.
      clock: { ...systemClock, setTimer: (_ms, call) => systemClock.setTimer(0, call) },
      isPassing: (error) => error instanceof RangeError,
      count: (fate) => void this.fates.push(fate),
      onChange: (error) => void this.changes.push(error),
    });
  }

  async idle(): Promise<void> {
    while (this.lanes.pending > 0) await new Promise((resolve) => void setImmediate(resolve));
  }
}

test('events of one client are sent one after the other, those of others meanwhile', async () => {
  const bench = new Bench();
  const first = Promise.withResolvers<void>();
  bench.act = (body) => (body === 'a1' ? first.promise : Promise.resolve());
  for (const body of ['a1', 'a2', 'b1', 'a3', 'b2']) bench.lanes.offer(body.charAt(0), body);
  await new Promise((resolve) => void setImmediate(resolve));
  assert.deepEqual(bench.sent, ['a1', 'b1', 'b2']);
  first.resolve();
  await bench.idle();
  assert.deepEqual(bench.sent, ['a1', 'b1', 'b2', 'a2', 'a3']);
  assert.deepEqual(bench.fates, Array<Fate>(5).fill('web_hook.sent'));
});

test('what waits is bounded in number and in bytes; more is dropped and counted', async () => {
  const few = new Bench({ queueMax: 2 });
  for (const body of ['1', '2', '3']) few.lanes.offer('a', body);
  const small = new Bench({ queueBytesMax: 5 });
  for (const body of ['12', '34', '56']) small.lanes.offer('a', body);
  for (const bench of [few, small]) {
    await bench.idle();
    assert.deepEqual(bench.fates, ['web_hook.dropped', 'web_hook.sent', 'web_hook.sent']);
    bench.lanes.offer('a', 'x');
    await bench.idle();
    assert.equal(bench.sent.at(-1), 'x');
  }
});

test('lanes say that they are full before anybody puts an event into words', async () => {
  for (const own of [{ queueMax: 2 }, { queueBytesMax: 4 }]) {
    const bench = new Bench(own);
    const { lanes } = bench;
    lanes.offer('a', '12');
    assert.equal(lanes.isFull, false);
    lanes.offer('a', '34');
    assert.equal(lanes.isFull, true);
    await bench.idle();
    assert.equal(lanes.isFull, false);
  }
});

test('what passes is tried three times, what does not once; both are told once until it is over', async () => {
  const bench = new Bench();
  bench.act = (body) => Promise.reject(body === 'bad' ? new Error('no') : new RangeError('away'));
  for (const body of ['bad', 'late']) bench.lanes.offer('a', body);
  await bench.idle();
  assert.deepEqual(bench.sent, ['bad', 'late', 'late', 'late']);
  assert.deepEqual(bench.fates, ['web_hook.failed', 'web_hook.failed']);
  assert.equal(bench.changes.length, 1);
  bench.act = () => Promise.resolve();
  bench.lanes.offer('a', 'fine');
  await bench.idle();
  assert.deepEqual(bench.changes.slice(1), [undefined]);
});

test('lanes that are closed send nothing more and count nothing more', async () => {
  const bench = new Bench();
  const first = Promise.withResolvers<void>();
  bench.act = () => first.promise;
  for (const body of ['1', '2']) bench.lanes.offer('a', body);
  bench.lanes.close();
  bench.lanes.offer('a', '3');
  first.resolve();
  await new Promise((resolve) => void setImmediate(resolve));
  assert.deepEqual([bench.sent, bench.fates], [['1'], []]);
});
