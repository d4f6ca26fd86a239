// The composition root: with banner.ts, config-check.ts and managed-node.ts the only place that may import anything. Opens
// the log, starts the node, and takes everything down again in the opposite order.

import { setFlagsFromString } from 'node:v8';
import { openLog } from '#base/log';
import { notifySupervisor } from '#base/supervisor';
import { banner } from './banner.ts';
import type { FilesCheck, RunOptions } from './cli/run-options.ts';
import { startManagedNode } from './managed-node.ts';

/**
 * The way of a message goes through some thirty small functions, more than V8 inlines into one by its
 * own measure (920): a tenth of the CPU of a QoS 1 message. Set once everything is loaded, because flags
 * on the command line void the caches of compiled code, and 50 ms of every start with them.
 */
const inlinedBytecodeMax = 4500;

export const checkConfigFiles: FilesCheck = async (config) =>
  (await import('./config-check.ts')).checkFiles(config);

/** Runs a broker until it is told to stop. */
export async function run(options: RunOptions): Promise<void> {
  setFlagsFromString(`--max-inlined-bytecode-size-cumulative=${inlinedBytecodeMax}`);
  const { settings, effective, configFile, found, keys, version, stopping } = options;
  await using log = openLog(settings.log);
  const whole = await startManagedNode({
    ...{ settings, effective, configFile, found, keys, version, log },
  });
  const { node, doors } = whole;
  const open = settings.listeners.map(({ kind, host = '*' }, i) => {
    const address = host.includes(':') ? `[${host}]` : host;
    return `mqtt:${kind} ${address}:${node.ports[i]}`;
  });
  const warn = log.warn.bind(log);
  const { name, workers } = settings.node;
  const http = doors.ports.map(({ protocol, listensOn }) => `${protocol} ${listensOn}`);
  const listeners = [...open, ...http];
  log.info('broker.started', { node: name, version, workers, listeners });
  const { hasShippedPassword: isPublic, services } = whole;
  banner(settings, version, open, { ports: http, isPublic, firstApp: services.firstApp });
  options.onReady(listeners);
  await notifySupervisor('READY=1', warn);
  try {
    await Promise.race([stopSignal(stopping), node.failed]);
    log.info('broker.stopping', { signal: String(stopping.reason) });
    await notifySupervisor('STOPPING=1', warn);
  } finally {
    await whole[Symbol.asyncDispose]();
    log.info('broker.stopped');
  }
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
