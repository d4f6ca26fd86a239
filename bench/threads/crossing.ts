// What a message costs more when its receiver is in another worker: ten pairs, all of them within one
// worker or all of them across two. Both variants load both workers alike.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { accepting, brokers } from '../brokers.ts';
import type { Load, Outcome, Target } from '../load.ts';
import { runClosedLoop } from '../traffic.ts';
import { openPairs, placesSocket } from './places.ts';

const pairs = 10;
const shape = { publishers: pairs, subscribers: pairs, pairs: true, batch: 50, slots: 10 } as const;
const entry = fileURLToPath(new URL('placed-broker.ts', import.meta.url));

export const load: Load = {
  title: '10 pairs within one worker, or across two',
  figures: ['messagesPerSecond', 'cpuMicros', 'p50Ms', 'p99Ms'],
  bars: {},
  brokers: ['ours'],
  launches: true,
  run,
};

async function run(target: Target): Promise<Outcome> {
  const { port, settings = [], variant = '' } = target;
  const directory = mkdtempSync(join(tmpdir(), 'bench-'));
  const running = brokers.ours.launch(port, {
    // As in S5: the generator bounds what is under way.
    settings: ['zone.external.max_inflight=0', ...settings],
    mosquittoNodelay: false,
    directory,
    entry,
  });
  try {
    await accepting(port, running);
    const file = join(directory, placesSocket);
    const placed = await openPairs(port, file, pairs, variant.startsWith('across'));
    const qos = variant.endsWith('1') ? 1 : 0;
    return await runClosedLoop(
      { ...shape, qos },
      { ...target, pid: running.pid },
      (role, index) => {
        const pair = placed[index];
        if (pair === undefined)
          throw new RangeError(`Cannot find pair ${index}: there are ${pairs}`);
        return Promise.resolve(role === 'pub' ? pair.publisher : pair.subscriber);
      },
    );
  } finally {
    await running.stop();
    rmSync(directory, { recursive: true, force: true });
  }
}
