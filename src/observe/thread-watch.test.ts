import assert from 'node:assert/strict';
import test from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { systemClock, VirtualClock } from '#base/clock';
import { type HeapFigures, type ThreadLimits, ThreadWatch } from './thread-watch.ts';

const nothing: ThreadLimits = {
  longGcMs: 0,
  longScheduleMs: 0,
  largeHeap: { bytes: 0 },
  busyPort: false,
  busyDistPort: false,
};

interface Bench {
  readonly clock: VirtualClock;
  readonly watch: ThreadWatch;
  readonly told: string[];
}

function bench(
  limits: Partial<ThreadLimits>,
  more: { heap?: () => HeapFigures; busyClients?: () => readonly string[] } = {},
): Bench {
  const clock = new VirtualClock();
  const told: string[] = [];
  const watch = new ThreadWatch({
    clock,
    limits: { ...nothing, ...limits },
    report: ({ event, info }) => void told.push(`${event} ${info}`),
    ...more,
  });
  return { clock, watch, told };
}

test('a thread in which nothing is watched has no timer', () => {
  const idle = bench({});
  assert.equal(idle.clock.timerCount, 0);
  idle.watch.onCongested();
  assert.deepEqual(idle.told, []);
});

test('a loop that was held up is told, one that was slow is not', () => {
  const { clock, told } = bench({ longScheduleMs: 240 });
  clock.advance(60_000);
  clock.jump(200);
  assert.deepEqual(told, []);
  clock.jump(120 + 312);
  assert.deepEqual(told, ['long_schedule held up for 312 ms']);
});

test('an event is told once in ten seconds', () => {
  const { clock, told } = bench({ longScheduleMs: 240 });
  for (let i = 0; i < 5; i++) clock.jump(1000);
  assert.equal(told.length, 1);
  clock.advance(10_000);
  clock.jump(1000);
  assert.equal(told.length, 2);
});

test('a heap that has grown large is told once until it has been small again', () => {
  let usedBytes = 100;
  const { clock, told } = bench(
    { largeHeap: { share: 0.5 } },
    { heap: () => ({ usedBytes, limitBytes: 1000 }) },
  );
  clock.advance(30_000);
  assert.deepEqual(told, []);
  usedBytes = 501;
  clock.advance(60_000);
  assert.deepEqual(told, ['large_heap 501 bytes used of 1000']);
  usedBytes = 400;
  clock.advance(2000);
  usedBytes = 600;
  clock.advance(2000);
  assert.deepEqual(told.slice(1), ['large_heap 600 bytes used of 1000']);
});

test('clients that take nothing are named, and of many the first', () => {
  let busy: readonly string[] = [];
  const { clock, told } = bench({ busyPort: true }, { busyClients: () => busy });
  clock.advance(5000);
  assert.deepEqual(told, []);
  busy = ['a', 'b', 'c', 'd', 'e', 'f', 'g'];
  clock.advance(1000);
  assert.deepEqual(told, ['busy_port outbox full: a, b, c, d, e, and 2 more']);
});

test('a congested link is told when that is wanted', () => {
  const wanted = bench({ busyDistPort: true });
  wanted.watch.onCongested();
  wanted.watch.onCongested();
  assert.deepEqual(wanted.told, ['busy_dist_port a link to another worker is congested']);
});

test('a long collection of garbage is told', async () => {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  const { promise, resolve } = Promise.withResolvers<string>();
  using _watch = new ThreadWatch({
    clock: systemClock,
    // Every one is longer than this.
    limits: { ...nothing, longGcMs: 1e-6 },
    report: ({ event }) => resolve(event),
  });
  collect();
  const inVain = AbortSignal.timeout(5000);
  inVain.addEventListener('abort', () => resolve('nothing in five seconds'));
  assert.equal(await promise, 'long_gc');
});

test('a watch that is over has no timer and tells nothing', () => {
  const { clock, watch, told } = bench({ longScheduleMs: 240 });
  watch[Symbol.dispose]();
  assert.equal(clock.timerCount, 0);
  clock.jump(1000);
  assert.deepEqual(told, []);
});
