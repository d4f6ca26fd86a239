// The composition root: with banner.ts the only place that may import anything. Opens the log, starts
// the node with as many threads as the settings say, and takes everything down again in the opposite
// order.

import { setFlagsFromString } from 'node:v8';
import { openLog, type RootLogger } from '#base/log';
import { notifySupervisor } from '#base/supervisor';
import type { Settings } from '#config/settings';
import type { NodeFace } from '#node/node-face';
import { banner } from './banner.ts';
import type { RunOptions } from './cli/run-options.ts';

/**
 * The way of a message goes through some twenty small functions, more than V8 inlines into one by its
 * own measure (920): 11 % of the CPU of a QoS 1 message. Set once everything is loaded, because flags on
 * the command line void the caches of compiled code, and 50 ms of every start with them.
 */
const inlinedBytecodeMax = 3000;

/** Runs a broker until it is told to stop. */
export async function run(options: RunOptions): Promise<void> {
  setFlagsFromString(`--max-inlined-bytecode-size-cumulative=${inlinedBytecodeMax}`);
  const { settings, version, stopping } = options;
  await using log = openLog(settings.log);
  const node = await startNode(settings, log);
  const open = settings.listeners.map(({ kind, host = '*' }, i) => {
    const address = host.includes(':') ? `[${host}]` : host;
    return `mqtt:${kind} ${address}:${node.ports[i]}`;
  });
  const warn = log.warn.bind(log);
  const { name, workers } = settings.node;
  log.info('broker.started', { node: name, version, workers, listeners: open });
  banner(settings, version, open);
  options.onReady(open);
  await notifySupervisor('READY=1', warn);
  try {
    await Promise.race([stopSignal(stopping), node.failed]);
    log.info('broker.stopping', { signal: String(stopping.reason) });
    await notifySupervisor('STOPPING=1', warn);
  } finally {
    await node.stop();
    log.info('broker.stopped');
  }
}

/** Each loads what it needs: the control thread of several has no broker in it. */
async function startNode(settings: Settings, log: RootLogger): Promise<NodeFace> {
  if (settings.node.workers === 0) {
    const { startSingleNode } = await import('#node/single-node');
    return startSingleNode(settings, log);
  }
  const { startThreadNode } = await import('#node/thread-node');
  return startThreadNode(settings, log);
}

function stopSignal(stopping: AbortSignal): Promise<void> {
  if (stopping.aborted) return Promise.resolve();
  const { promise, resolve } = Promise.withResolvers<void>();
  // A listening socket keeps the process alive; a broker without listeners must not end by itself.
  const awake = setInterval(() => {}, 2 ** 30);
  stopping.addEventListener('abort', () => {
    clearInterval(awake);
    resolve();
  });
  return promise;
}
