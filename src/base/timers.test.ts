import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import test from 'node:test';
import fc from 'fast-check';
import { VirtualClock } from './clock.ts';
import { CallbackTimer, TimerWheel, WheelTimer } from './timers.ts';

const tickMs = 250;
const hourMs = 3_600_000;

function setUp(): { clock: VirtualClock; wheel: TimerWheel; errors: unknown[] } {
  const clock = new VirtualClock();
  const errors: unknown[] = [];
  const wheel = new TimerWheel({ clock, tickMs, onError: (error) => errors.push(error) });
  wheel.start();
  return { clock, wheel, errors };
}

test('TimerWheel fires not before the deadline and at most one tick after it', () => {
  for (const delayMs of [0, 1, 249, 250, 251, 1000, 15_999, 16_000, 16_001, 60_000, hourMs]) {
    const { clock, wheel } = setUp();
    clock.advance(101);
    const dueMs = clock.monotonicMs() + delayMs;
    const firedMs: number[] = [];
    wheel.schedule(new CallbackTimer(() => firedMs.push(clock.monotonicMs())), delayMs);
    clock.advance(delayMs + tickMs);
    const [atMs = -1] = firedMs;
    assert.equal(firedMs.length, 1, `delay ${delayMs}`);
    assert.ok(
      atMs >= dueMs && atMs <= dueMs + tickMs,
      `delay ${delayMs}: due ${dueMs}, fired ${atMs}`,
    );
  }
});

test('TimerWheel measures a delay from the clock when the last tick is long ago', () => {
  const { clock, wheel } = setUp();
  const firedMs: number[] = [];
  const blocked = new CallbackTimer(() => {});
  // A clock timer that runs before the wheel's own tick, as a long turn of the event loop would.
  clock.setTimer(1, () => {
    wheel.schedule(new CallbackTimer(() => firedMs.push(clock.monotonicMs())), 1000);
  });
  wheel.schedule(blocked, 1);
  clock.jump(10_000);
  assert.equal(blocked.isScheduled, false);
  assert.deepEqual(firedMs, []);
  clock.advance(1000);
  assert.deepEqual(firedMs, [11_000]);
});

test('TimerWheel fires a timer once, and says whether it is scheduled', () => {
  const { clock, wheel } = setUp();
  let fired = 0;
  const timer = new CallbackTimer(() => {
    assert.equal(timer.isScheduled, false);
    fired += 1;
  });
  assert.equal(timer.isScheduled, false);
  wheel.schedule(timer, 100);
  assert.equal(timer.isScheduled, true);
  assert.equal(wheel.size, 1);
  clock.advance(hourMs);
  assert.equal(fired, 1);
  assert.equal(timer.isScheduled, false);
  assert.equal(wheel.size, 0);
});

test('TimerWheel replaces the schedule when a timer is scheduled again', () => {
  const { clock, wheel } = setUp();
  const firedMs: number[] = [];
  const timer = new CallbackTimer(() => firedMs.push(clock.monotonicMs()));
  wheel.schedule(timer, 1000);
  wheel.schedule(timer, 5 * hourMs);
  wheel.schedule(timer, 2000);
  assert.equal(wheel.size, 1);
  clock.advance(6 * hourMs);
  assert.deepEqual(firedMs, [2000]);
});

test('TimerWheel does not fire a cancelled timer, and ignores a second cancel', () => {
  const { clock, wheel } = setUp();
  const timer = new CallbackTimer(() => assert.fail('was cancelled'));
  wheel.schedule(timer, 1000);
  wheel.cancel(timer);
  wheel.cancel(timer);
  clock.advance(2000);
  assert.equal(wheel.size, 0);
});

test('TimerWheel goes on with the others when a fire() throws', () => {
  const { clock, wheel, errors } = setUp();
  const bad = new Error('bad timer');
  let fired = 0;
  wheel.schedule(new CallbackTimer(() => (fired += 1)), 100);
  wheel.schedule(
    new CallbackTimer(() => {
      throw bad;
    }),
    100,
  );
  wheel.schedule(new CallbackTimer(() => (fired += 1)), 100);
  wheel.schedule(new CallbackTimer(() => (fired += 1)), 1000);
  clock.advance(1000);
  assert.equal(fired, 3);
  assert.deepEqual(errors, [bad]);
});

test('TimerWheel lets a fire() schedule its own timer again, for the next tick at the earliest', () => {
  const { clock, wheel } = setUp();
  let fired = 0;
  class Again extends WheelTimer {
    override fire(): void {
      fired += 1;
      wheel.schedule(this, 0);
    }
  }
  wheel.schedule(new Again(), 0);
  clock.advance(10 * tickMs);
  assert.equal(fired, 10);
  clock.jump(hourMs);
  assert.equal(fired, 11);
});

test('TimerWheel lets a fire() cancel and put off timers that are due in the same tick', () => {
  const { clock, wheel } = setUp();
  const fired: string[] = [];
  const cancelled = new CallbackTimer(() => fired.push('cancelled'));
  const later = new CallbackTimer(() => fired.push('later'));
  const first = new CallbackTimer(() => {
    fired.push('first');
    wheel.cancel(cancelled);
    wheel.schedule(later, 1000);
  });
  const last = new CallbackTimer(() => fired.push('last'));
  for (const timer of [first, cancelled, later, last]) wheel.schedule(timer, 100);
  clock.advance(tickMs);
  assert.deepEqual(fired, ['first', 'last']);
  assert.equal(later.isScheduled, true);
  clock.advance(1000);
  assert.deepEqual(fired, ['first', 'last', 'later']);
});

test('TimerWheel fires all that came due in a leap of time, once, by deadline', () => {
  const { clock, wheel } = setUp();
  const fired: number[] = [];
  const delays = [1000, 20_000, hourMs, 30 * hourMs, 5000 * hourMs];
  for (const delayMs of delays.toReversed()) {
    wheel.schedule(new CallbackTimer(() => fired.push(delayMs)), delayMs);
  }
  clock.jump(4000 * hourMs);
  assert.deepEqual(fired, delays.slice(0, 4));
  clock.jump(2 ** 32 * 1000);
  assert.deepEqual(fired, delays);
});

test('TimerWheel keeps a timer for 2^32 seconds', () => {
  const { clock, wheel } = setUp();
  let fired = 0;
  const delayMs = 2 ** 32 * 1000;
  wheel.schedule(new CallbackTimer(() => (fired += 1)), delayMs);
  clock.jump(delayMs - 1);
  assert.equal(fired, 0);
  clock.advance(1);
  assert.equal(fired, 1);
});

test('TimerWheel refuses a delay that is no number or too long', () => {
  const { wheel } = setUp();
  const timer = new CallbackTimer(() => {});
  for (const delayMs of [Number.NaN, Number.POSITIVE_INFINITY, 2 ** 32 * 1000 + 1]) {
    assert.throws(() => wheel.schedule(timer, delayMs), /Invariant broken/);
  }
  assert.equal(timer.isScheduled, false);
});

test('TimerWheel tells the time of the last tick, also while nothing is scheduled', () => {
  const { clock, wheel } = setUp();
  const startMs = clock.nowMs();
  assert.equal(wheel.nowMs, startMs);
  assert.equal(wheel.nowSeconds, 0);
  clock.advance(2600);
  assert.equal(wheel.nowMs, startMs + 2500);
  assert.equal(wheel.nowSeconds, 2);
  clock.jump(hourMs);
  assert.equal(wheel.nowMs, startMs + 2600 + hourMs);
  assert.equal(wheel.nowSeconds, 3602);
});

test('TimerWheel fires nothing while it is stopped, and what is overdue after it starts again', () => {
  const { clock, wheel } = setUp();
  let fired = 0;
  wheel.schedule(new CallbackTimer(() => (fired += 1)), 1000);
  wheel.stop();
  assert.equal(clock.timerCount, 0);
  clock.advance(hourMs);
  assert.equal(fired, 0);
  wheel.start();
  wheel.start();
  assert.equal(clock.timerCount, 1);
  clock.advance(tickMs);
  assert.equal(fired, 1);
});

test('TimerWheel keeps one clock timer when a fire() stops and starts it', () => {
  const { clock, wheel } = setUp();
  wheel.schedule(
    new CallbackTimer(() => {
      wheel.stop();
      wheel.start();
    }),
    100,
  );
  clock.advance(1000);
  assert.equal(clock.timerCount, 1);
  wheel.schedule(new CallbackTimer(() => wheel.stop()), 100);
  clock.advance(1000);
  assert.equal(clock.timerCount, 0);
});

// The model: every timer's due tick in a list, looked through at every step.

type Step =
  | { do: 'schedule'; id: number; delayMs: number; everyMs: number | undefined }
  | { do: 'cancel'; id: number }
  | { do: 'advance' | 'jump'; ms: number };

const timerIds = 12;
const someId = fc.nat(timerIds - 1);
const someDelay = fc.oneof(
  fc.nat(2000),
  fc.nat(40_000),
  fc.nat(3 * hourMs),
  fc.maxSafeNat().map((n) => n % (2 ** 32 * 1000)),
  // Edges of levels, and of ticks.
  fc
    .tuple(fc.nat(5), fc.integer({ min: -1, max: 1 }))
    .map(([level, off]) => Math.max(0, 64 ** level * tickMs + off)),
);
const someSteps: fc.Arbitrary<Step[]> = fc.array(
  fc.oneof(
    {
      weight: 5,
      arbitrary: fc.record({
        do: fc.constant('schedule'),
        id: someId,
        delayMs: someDelay,
        everyMs: fc.option(fc.nat(30_000), { nil: undefined }),
      }),
    },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('cancel'), id: someId }) },
    { weight: 3, arbitrary: fc.record({ do: fc.constant('advance'), ms: fc.nat(30_000) }) },
    { weight: 2, arbitrary: fc.record({ do: fc.constant('jump'), ms: someDelay }) },
  ),
  { maxLength: 40, size: 'max' },
);

interface Fired {
  id: number;
  atMs: number;
}

class Model {
  nowMs = 0;
  readonly due: Map<number, { tick: number; everyMs: number | undefined }> = new Map();
  fired: (Fired & { tick: number })[] = [];

  schedule(id: number, delayMs: number, everyMs: number | undefined): void {
    const tick = Math.max(
      Math.ceil((this.nowMs + delayMs) / tickMs),
      Math.floor(this.nowMs / tickMs) + 1,
    );
    this.due.set(id, { tick, everyMs });
  }

  advance(ms: number): void {
    const untilMs = this.nowMs + ms;
    for (let tick = Math.floor(this.nowMs / tickMs) + 1; tick * tickMs <= untilMs; tick += 1) {
      this.jump(tick * tickMs - this.nowMs);
    }
    this.nowMs = untilMs;
  }

  jump(ms: number): void {
    this.nowMs += ms;
    const reached = Math.floor(this.nowMs / tickMs);
    const ready = [...this.due].filter(([, { tick }]) => tick <= reached);
    ready.sort(([, a], [, b]) => a.tick - b.tick);
    for (const [id, { tick, everyMs }] of ready) {
      this.fired.push({ id, atMs: this.nowMs, tick });
      this.due.delete(id);
      if (everyMs !== undefined) this.schedule(id, everyMs, everyMs);
    }
  }
}

/** The order within one tick is free; everything else must be equal. */
function assertSameFirings(actual: readonly Fired[], expected: Model['fired']): void {
  const key = ({ id, atMs }: Fired): string => `${atMs}:${id}`;
  assert.deepEqual(actual.map(key).toSorted(), expected.map(key).toSorted());
  const tickOf = new Map(expected.map((fired) => [key(fired), fired.tick]));
  assert.deepEqual(
    actual.map((fired) => tickOf.get(key(fired))),
    expected.map(({ tick }) => tick),
  );
}

function runBoth(steps: readonly Step[]): void {
  const { clock, wheel, errors } = setUp();
  const model = new Model();
  let fired: Fired[] = [];
  const repeats = new Map<number, number | undefined>();
  const timers = Array.from({ length: timerIds }, (_, id) => {
    const timer: CallbackTimer = new CallbackTimer(() => {
      fired.push({ id, atMs: clock.monotonicMs() });
      const everyMs = repeats.get(id);
      if (everyMs !== undefined) wheel.schedule(timer, everyMs);
    });
    return timer;
  });
  for (const step of steps) {
    if (step.do === 'schedule') {
      repeats.set(step.id, step.everyMs);
      wheel.schedule(timers[step.id] as WheelTimer, step.delayMs);
      model.schedule(step.id, step.delayMs, step.everyMs);
    } else if (step.do === 'cancel') {
      wheel.cancel(timers[step.id] as WheelTimer);
      model.due.delete(step.id);
    } else {
      clock[step.do](step.ms);
      model[step.do](step.ms);
    }
    assertSameFirings(fired, model.fired);
    assert.equal(wheel.size, model.due.size);
    fired = [];
    model.fired = [];
  }
  assert.deepEqual(errors, []);
}

test('TimerWheel fires what the naive model fires, when it does', (t) => {
  const seed = Number(process.env['SEED'] ?? randomInt(2 ** 31));
  t.diagnostic(`SEED=${seed}`);
  fc.assert(fc.property(someSteps, runBoth), { seed, numRuns: 300 });
});
