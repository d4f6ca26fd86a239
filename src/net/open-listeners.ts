// Opens all listeners of the settings, or none: when one cannot be opened, those that are open
// already are closed again before the error goes on.

import type { ListenerSettings, Settings } from '#config/settings';
import { Listener, type ListenerOptions } from './listener.ts';

export type SharedListenerOptions = Pick<
  ListenerOptions,
  'accept' | 'log' | 'reusePort' | 'pskLookup' | 'clock'
>;

export async function openListeners(
  settings: Settings,
  shared: SharedListenerOptions,
): Promise<Listener[]> {
  const listeners = settings.listeners.map((one) => create(one, settings, shared));
  try {
    for (const listener of listeners) await listener.start();
  } catch (error) {
    for (const listener of listeners) await listener[Symbol.asyncDispose]();
    throw error;
  }
  return listeners;
}

function create(
  one: ListenerSettings,
  settings: Settings,
  shared: SharedListenerOptions,
): Listener {
  const zone = settings.zones.get(one.zone);
  if (zone === undefined) {
    const key = `listener.${one.kind}.${one.name}.zone`;
    throw new Error(`Cannot open listener: ${key} names "${one.zone}", which is no zone`);
  }
  return new Listener({
    ...shared,
    settings: one,
    dataDir: settings.node.dataDir,
    maxPacketBytes: zone.maxPacketBytes,
  });
}
