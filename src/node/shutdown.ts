// Stopping a broker: nobody new, everybody told, then the deadline. What a client has not read by
// then it will not read. The store is closed last: how everybody left is written there.

import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from '#base/log';
import type { Broker } from '#core/broker';
import type { Listener } from '#net/listener';

const graceMs = 3000;
const lookMs = 20;

export async function closeInOrder(
  listeners: readonly Listener[],
  broker: Broker,
  store: AsyncDisposable,
  log: Logger,
  /** Called when everybody has left. */
  release: () => Promise<unknown> = async () => undefined,
): Promise<void> {
  for (const listener of listeners) await listener.stop();
  broker.stop();
  for (let leftMs = graceMs; broker.connectionCount > 0 && leftMs > 0; leftMs -= lookMs) {
    await sleep(lookMs);
  }
  if (broker.connectionCount > 0) {
    log.warn('broker.unread', { connections: broker.connectionCount });
    broker.destroyConnections();
  }
  for (const listener of listeners) await listener[Symbol.asyncDispose]();
  await Promise.race([release(), sleep(graceMs, undefined, { ref: false })]);
  await store[Symbol.asyncDispose]();
}
