// The members of a shared subscription move from worker to worker while all workers publish and some
// die: what was acknowledged reaches a member, and of QoS 2 one member, once.

import assert from 'node:assert/strict';
import test from 'node:test';
import { startBroker } from '#test/broker';
import { fuzzSeed, Random } from '../fuzz/random.ts';
import { until } from './event-turns.ts';
import { Taker, turns, twice, workerIndexes, Writer } from './worker-company.ts';

const moves = 30;

async function play(random: Random, isDying: (move: number) => boolean): Promise<void> {
  await using broker = await startBroker({ workers: 3, zone: { maxMqueueLen: 0 } });
  const takers = workerIndexes.map((i) => new Taker(broker, `taker-${i}`));
  for (const [i, taker] of takers.entries()) await taker.come(i, ['$share/g/t/#']);
  const writers = workerIndexes.map((i) => new Writer(broker, `writer-${i}`));
  let isOver = false;
  const keepConnected = async (writer: Writer): Promise<void> => {
    while (!isOver || writer.unacknowledged > 0) {
      await writer.come(random.below(3)).catch(() => undefined);
      await writer.ended();
      await turns(1);
    }
  };
  const writing = writers.map(async (writer, i) => {
    void keepConnected(writer);
    while (!isOver) {
      for (let n = 0; n < 5; n++) writer.publish(`t/${writer.name}`, i === 2 ? 1 : 2);
      await writer.untilBelow(20);
      await turns(1);
    }
    await writer.untilBelow(1);
  });
  for (let i = 0; i < moves; i++) {
    await random
      .pick(takers)
      .come(random.below(3))
      .catch(() => undefined);
    if (isDying(i)) broker.kill(random.below(3));
    await turns(random.below(10));
  }
  isOver = true;
  await until('all workers again', () => broker.isRecovered, 10_000);
  for (const [i, taker] of takers.entries()) await taker.come(i);
  await Promise.all(writing);
  const got = (): string[] => takers.flatMap(({ payloads }) => payloads);
  const acked = writers.flatMap((writer) => writer.acked);
  const missing = (): string[] => {
    const had = new Set(got());
    return acked.filter((one) => !had.has(one));
  };
  await until('all that was acknowledged', () => missing().length === 0, 10_000).catch((cause) => {
    throw new Error(`Nobody has got ${missing().slice(0, 10).join()}`, { cause });
  });
  const once = got().filter((one) => !one.startsWith('writer-2:'));
  assert.deepEqual(twice(once), []);
}

for (const [what, isDying] of [
  ['move', () => false],
  ['move and workers die', (move: number) => move === 10 || move === 20],
] as const) {
  test(`members of a shared subscription ${what}: everything arrives, QoS 2 once (seed ${fuzzSeed})`, async () => {
    await play(new Random(fuzzSeed), isDying);
  });
}
