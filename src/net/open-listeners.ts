// Opens all listeners of the settings, or none: when one cannot be opened, those that are open
// already are closed again before the error goes on.

import type { ListenerSettings, Settings } from '#config/settings';
import { Listener, type ListenerOptions } from './listener.ts';
import type { ListenerShare } from './listener-share.ts';

export type SharedListenerOptions = Pick<
  ListenerOptions,
  'accept' | 'log' | 'reusePort' | 'pskLookup' | 'clock'
>;

/** What a worker is told about each listener, in the order of the settings. */
export interface WorkerListenerOptions {
  /** In place of the ports of the settings: where these say 0, all workers have the same. */
  readonly ports?: readonly number[] | undefined;
  readonly shares?: readonly ListenerShare[] | undefined;
  /** By place: not opened now. */
  readonly closed?: ReadonlySet<number> | undefined;
}

export async function openListeners(
  settings: Settings,
  shared: SharedListenerOptions,
  { ports, shares, closed }: WorkerListenerOptions = {},
): Promise<Listener[]> {
  const listeners = settings.listeners.map((one, place) => {
    const port = ports?.[place] ?? one.port;
    return create({ ...one, port }, settings, { ...shared, share: shares?.[place] });
  });
  try {
    for (const [place, listener] of listeners.entries()) {
      if (closed?.has(place) !== true) await listener.start();
    }
  } catch (error) {
    for (const listener of listeners) await listener[Symbol.asyncDispose]();
    throw error;
  }
  return listeners;
}

function create(
  one: ListenerSettings,
  settings: Settings,
  shared: SharedListenerOptions & Pick<ListenerOptions, 'share'>,
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
