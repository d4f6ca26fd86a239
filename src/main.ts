// The composition root: with banner.ts, shutdown.ts and stored-broker.ts, the only place that may import
// anything. Builds the floors bottom to top, opens the listeners, and takes everything down again in the
// opposite order.

import { setFlagsFromString } from 'node:v8';
import { openLog } from '#base/log';
import { notifySupervisor } from '#base/supervisor';
import { openListeners } from '#net/open-listeners';
import { banner } from './banner.ts';
import type { RunOptions } from './cli/run-options.ts';
import { closeInOrder } from './shutdown.ts';
import { openStoredBroker } from './stored-broker.ts';

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
  const { broker, store } = await openStoredBroker(settings, log);
  const listeners = await openListeners(settings, {
    log: log.child({ part: 'net' }),
    accept: (transport, face) => broker.accept(transport, face),
    pskLookup: (identity) => broker.pskOf(identity),
  });
  const open = listeners.map((listener, i) => {
    const host = settings.listeners[i]?.host ?? '*';
    const address = host.includes(':') ? `[${host}]` : host;
    return `${listener.protocol} ${address}:${listener.boundPort}`;
  });
  const warn = log.warn.bind(log);
  log.info('broker.started', { node: settings.node.name, version, listeners: open });
  banner(settings, version, open);
  options.onReady(open);
  await notifySupervisor('READY=1', warn);
  await stopSignal(stopping);
  log.info('broker.stopping', { signal: String(stopping.reason) });
  await notifySupervisor('STOPPING=1', warn);
  await closeInOrder(listeners, broker, store, log);
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
