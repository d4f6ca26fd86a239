// The entry of a worker thread: its store, its broker, its listeners. It serves when the control thread
// says so, and ends when that one has nothing more to say.

import { once } from 'node:events';
import { flushCompileCache } from 'node:module';
import { type MessagePort, parentPort, workerData } from 'node:worker_threads';
import { systemClock } from '#base/clock';
import { createLog, type RootLogger } from '#base/log';
import { relayLog, type RelayedLine } from '#base/log-relay';
import { ListenerShare } from '#net/listener-share';
import { DurableStore } from '#store/durable-store';
import type { LmdbSeat } from '#store/lmdb/engine';
import { joinLmdb } from '#store/lmdb/join';
import { Doors } from './doors.ts';
import { closeInOrder } from './shutdown.ts';
import { watchStore } from './store-watch.ts';
import type { WorkerData } from './worker-data.ts';
import { WorkerNode } from './worker-node.ts';

const { index, workers, settings, counters, groups, shares, port } = workerData as WorkerData;
const seat = await seatAtStore();
/** What is logged before there is a way to send it. */
let early: RelayedLine[] | undefined = [];
const log = openWorkerLog();
const store = new DurableStore(joinLmdb(seat), {
  clock: systemClock,
  numbers: seat.numbers,
  isShared: workers > 1,
  // What the last process did not clear away is cleared by the control thread.
  isReaping: false,
});
const doors = new Doors();
export const node: WorkerNode = new WorkerNode({
  index,
  workers,
  settings,
  clock: systemClock,
  log,
  store,
  counters,
  groups,
  port,
  listen,
  listeners: () => doors.reports(),
  keepClosed: (places) => doors.keepClosed(places),
  setLogLevel: (level) => log.setLevel(level),
  stop,
});
node.calls.tell('log', [early]);
early = undefined;
watchStore(store, node.broker.core.alarms, log);
if (index === 0) log.info('overload.budget', { bytes: node.broker.core.overload.budgetBytes });
void node.calls.closed.then(() => process.exit());

/** NOTE: it ends itself, here and everywhere. To be ended inside of LMDB's binding would end the process. */
async function seatAtStore(): Promise<LmdbSeat> {
  const [given] = (await once(parentPort as MessagePort, 'message')) as [LmdbSeat | null];
  if (given === null) process.exit();
  return given;
}

function openWorkerLog(): RootLogger {
  const { to, level, charsLimit } = settings.log;
  if (to === 'off') return createLog(level, []);
  const send = (lines: readonly RelayedLine[]): void => {
    if (early !== undefined) early.push(...lines);
    else node.calls.tell('log', [lines]);
  };
  return relayLog(level, charsLimit, send, { worker: index });
}

async function listen(ports: readonly number[] | undefined): Promise<readonly number[]> {
  const { broker } = node;
  const open = await doors.open(
    settings,
    {
      log: log.child({ part: 'net' }),
      accept: (transport, face) => broker.accept(transport, face),
      pskLookup: (identity) => broker.pskOf(identity),
      reusePort: workers > 1,
    },
    { ports, shares: shares.map((memory) => new ListenerShare(memory, index)) },
  );
  // Otherwise written at a regular exit only; what workers load control does not.
  flushCompileCache();
  return open;
}

async function stop(): Promise<void> {
  await closeInOrder(doors.all, node.broker, store, log, () => node.endPlugins());
  await log[Symbol.asyncDispose]();
}
