// From the launch of a broker's process to its first CONNACK, asked for every two milliseconds. The
// first start finds no compiled code and leaves it behind (bin/broker keeps a compile cache); the
// others are what a user sees from the second start on, and what is judged.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { brokers, freePort } from '../brokers.ts';
import { firstConnack } from '../first-connack.ts';
import type { BrokerName, Load, Outcome, Target } from '../load.ts';
import { median } from '../median.ts';

const warmStarts = 15;
const startMsMax = 20_000;

export const load: Load = {
  title: 'launch to first CONNACK',
  figures: ['startMs'],
  bars: { startMs: { kind: 'atMost', bar: 1000, reach: 400 } },
  roundsMax: 1,
  launches: true,
  run,
};

async function run({ broker }: Target): Promise<Outcome> {
  // A cache of this run's own: what earlier starts left in the usual one would hide the first.
  const cache = mkdtempSync(join(tmpdir(), 'bench-cache-'));
  process.env['NODE_COMPILE_CACHE'] = cache;
  try {
    const first = await startOnce(broker);
    const warm: number[] = [];
    for (let start = 0; start < warmStarts; start++) warm.push(await startOnce(broker));
    const slowest = Math.max(...warm);
    const notes = [
      `first start, with an empty compile cache: ${first.toFixed(0)} ms; ` +
        `slowest of ${warmStarts} later ones: ${slowest.toFixed(0)} ms`,
    ];
    return { figures: { startMs: median(warm) }, lost: 0, extra: 0, notes };
  } finally {
    rmSync(cache, { recursive: true, force: true });
  }
}

/** Milliseconds; the broker is ended again. */
async function startOnce(broker: BrokerName): Promise<number> {
  const port = await freePort();
  const begin = performance.now();
  const running = brokers[broker].launch(port, { settings: [], mosquittoNodelay: false });
  try {
    const client = await firstConnack(port, running, startMsMax);
    const ms = performance.now() - begin;
    await client.disconnect();
    return ms;
  } finally {
    await running.stop();
  }
}
