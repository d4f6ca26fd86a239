// The n-th call into the engine fails, for n = 1, 2, 3, … until a run gets through without it: once,
// from there on until somebody heals it, and from there on with readings that go on, as on a full disk.
// Afterwards the broker is dropped where it stands and another one takes over what it left.

import assert from 'node:assert/strict';
import test, { type TestContext } from 'node:test';
import { VirtualClock } from '#base/clock';
import type { ZoneSettings } from '#config/settings';
import type { Batch } from '#store/batch';
import type { Engine } from '#store/engine';
import { FailingEngine } from '#store/failing-engine';
import { MemoryEngine } from '#store/memory-engine';
import { startBroker, type TestBroker } from '#test/broker';
import { SlowEngine } from '#test/slow-engine';
import { FailurePlay } from './failure-play.ts';

type How = 'once' | 'lasting' | 'writes';

/** No message is given up for its age or for want of room, and none is repeated without a reason. */
const zone: Partial<ZoneSettings> = {
  sessionExpirySeconds: 100_000_000,
  awaitRelTimeoutMs: 0,
  retryIntervalMs: 0,
  maxMqueueLen: 0,
};

/** The store waits up to a second before it tries again. */
/** The calls of one store are counted; of several, each run would make other ones. */
const workers = 0;
const clockEveryMs = 2;
const clockStepMs = 1000;
/** They wait more than they work. */
const runsAtOnce = 8;

interface Outcome {
  readonly calls: number;
  readonly isReached: boolean;
  readonly refused: number;
  readonly faults: readonly string[];
}

/** Reads past what fails. */
class ReadingPast extends SlowEngine {
  readonly #failing: FailingEngine;

  constructor(memory: MemoryEngine, failing: FailingEngine) {
    super(memory);
    this.#failing = failing;
  }

  override commit(batch: Batch): Promise<void> {
    return this.#failing.commit(batch);
  }
}

async function runWith(failAt: number, how: How): Promise<Outcome> {
  const memory = new MemoryEngine();
  const disk = new SlowEngine(memory);
  const failing = new FailingEngine(disk, { failAt, isLasting: how !== 'once' });
  const engine = how === 'writes' ? new ReadingPast(memory, failing) : failing;
  const clock = new VirtualClock();
  const clockwork = setInterval(() => clock.advance(clockStepMs), clockEveryMs);
  const play = new FailurePlay(clock);
  try {
    const healthy = new SlowEngine(memory);
    await live(healthy, healthy, clock, play, (broker) => play.before(broker));
    await liveIfItStarts(engine, disk, failing, clock, play);
    failing.heal();
    await memory.close();
    await using broker = await startBroker({ engine: memory, clock, zone, workers });
    await play.second(broker);
  } catch (error) {
    play.faults.push(String(error));
  } finally {
    clearInterval(clockwork);
  }
  const { refused } = play.ledger;
  return { calls: failing.calls, isReached: failing.hasFailed, refused, faults: play.faults };
}

/** A store that cannot be read when it is opened stops the start, and nothing else does. */
async function liveIfItStarts(
  engine: Engine,
  disk: SlowEngine,
  failing: FailingEngine,
  clock: VirtualClock,
  play: FailurePlay,
): Promise<void> {
  let hasStarted = false;
  try {
    await live(engine, disk, clock, play, (broker) => {
      hasStarted = true;
      return play.first(broker, () => failing.heal());
    });
  } catch (error) {
    if (hasStarted || !failing.hasFailed) throw error;
  }
}

/** A broker from its start to its crash. */
async function live(
  engine: Engine,
  disk: SlowEngine,
  clock: VirtualClock,
  play: FailurePlay,
  act: (broker: TestBroker) => Promise<void>,
): Promise<void> {
  const broker = await startBroker({ engine, clock, zone, workers });
  try {
    await act(broker);
  } finally {
    disk.cut();
    play.crash();
    broker.takeFaults();
    await broker[Symbol.asyncDispose]();
  }
}

async function failAll(t: TestContext, how: How): Promise<void> {
  let calls = 0;
  let refused = 0;
  for (let first = 1, isReached = true; isReached; first += runsAtOnce) {
    const numbers = Array.from({ length: runsAtOnce }, (_, i) => first + i);
    const outcomes = await Promise.all(numbers.map((failAt) => runWith(failAt, how)));
    for (const [i, outcome] of outcomes.entries()) {
      assert.deepEqual(outcome.faults, [], `call ${first + i} failed (${how})`);
      refused += outcome.refused;
      isReached &&= outcome.isReached;
      if (outcome.isReached) calls = first + i;
    }
  }
  assert.ok(refused > 0, 'no failure was noticed by anybody');
  t.diagnostic(`${calls} calls, each failed in its turn; ${refused} publishes were refused`);
}

test('what is acknowledged survives, whichever call into the engine fails once', async (t) => {
  await failAll(t, 'once');
});

test('what is acknowledged survives, from whichever call on the engine fails', async (t) => {
  await failAll(t, 'lasting');
});

test('what is acknowledged survives, from whichever commit on the engine writes nothing', async (t) => {
  await failAll(t, 'writes');
});
