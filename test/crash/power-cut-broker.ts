// bin/broker over a disk that forgets what was not flushed: the words of the command line, the broker
// and its store are the real ones, only the engine under the store is not. One thread, whatever
// node.workers says: what several write goes through one transaction of LMDB's, not of this engine's.

import { join } from 'node:path';
import { systemClock } from '#base/clock';
import { openLog } from '#base/log';
import { Broker } from '#core/broker';
import { openListeners } from '#net/open-listeners';
import { DurableStore } from '#store/durable-store';
import { Alone } from '#cluster/alone';
import { banner } from '../../src/banner.ts';
import { brokerCommand } from '../../src/cli/broker.ts';
import type { RunOptions } from '../../src/cli/run-options.ts';
import { closeInOrder } from '#node/shutdown';
import { Random } from '../fuzz/random.ts';
import { FlushedFileEngine } from './flushed-file-engine.ts';

await brokerCommand(process.argv.slice(2), () => Promise.resolve(run));

async function run({ settings, version, stopping, onReady }: RunOptions): Promise<void> {
  await using log = openLog(settings.log);
  const file = join(settings.node.dataDir, 'flushed');
  const store = new DurableStore(new FlushedFileEngine(file, new Random(process.pid)), {
    clock: systemClock,
  });
  const broker = new Broker({ settings, clock: systemClock, log, store, peers: new Alone() });
  broker.restore();
  const listeners = await openListeners(settings, {
    log,
    accept: (transport, face) => broker.accept(transport, face),
    pskLookup: (identity) => broker.pskOf(identity),
  });
  const open = listeners.map(
    ({ protocol, boundPort }, i) => `${protocol} ${settings.listeners[i]?.host}:${boundPort}`,
  );
  banner(settings, version, open);
  onReady(open);
  const stopped = Promise.withResolvers<void>();
  stopping.addEventListener('abort', () => stopped.resolve());
  if (!stopping.aborted) await stopped.promise;
  await closeInOrder(listeners, broker, store, log);
}
