// bin/broker with workers that die on command. Lines of its input: `die <worker> <manner>`, and
// `forgive`, which lets a minute pass for whoever counts deaths.

import { createInterface } from 'node:readline';
import { BroadcastChannel } from 'node:worker_threads';
import { systemClock } from '#base/clock';
import { openLog } from '#base/log';
import { startThreadNode } from '#node/thread-node';
import { banner } from '../../src/banner.ts';
import { brokerCommand } from '../../src/cli/broker.ts';
import type { RunOptions } from '../../src/cli/run-options.ts';
import { deathChannel, type DeathOrder, type Manner } from './death-order.ts';

const minuteMs = 60_000;
const entry = new URL('./mortal-worker.ts', import.meta.url);

await brokerCommand(process.argv.slice(2), () => Promise.resolve(run));

async function run({ settings, version, stopping, onReady }: RunOptions): Promise<void> {
  await using log = openLog(settings.log);
  const node = await startThreadNode(settings, log, undefined, entry);
  obey();
  const open = settings.listeners.map(
    ({ kind, host }, i) => `mqtt:${kind} ${host}:${node.ports[i]}`,
  );
  log.info('broker.started', { listeners: open });
  banner(settings, version, open);
  onReady(open);
  const stopped = Promise.withResolvers<void>();
  stopping.addEventListener('abort', () => stopped.resolve());
  if (stopping.aborted) stopped.resolve();
  try {
    await Promise.race([stopped.promise, node.failed]);
  } finally {
    process.stdin.destroy();
    await node.stop();
    log.info('broker.stopped');
  }
}

function obey(): void {
  const deaths = new BroadcastChannel(deathChannel).unref();
  const passed = systemClock.monotonicMs.bind(systemClock);
  let leapMs = 0;
  Object.assign(systemClock, { monotonicMs: () => passed() + leapMs });
  createInterface({ input: process.stdin }).on('line', (line) => {
    const [word, worker, manner] = line.split(' ');
    if (word === 'forgive') leapMs += minuteMs;
    else {
      const order: DeathOrder = { worker: Number(worker), manner: manner as Manner };
      deaths.postMessage(order);
    }
  });
}
