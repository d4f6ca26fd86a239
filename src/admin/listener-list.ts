// The listeners of the node as one list, whichever threads have a part in them: counts are sums over the
// workers. Order: TCP and TLS as in the configuration, then what speaks HTTP by its protocol.

import type { ListenerSettings } from '#config/settings';
import type { ListenerReport } from '#net/listener';
import { OperatingError } from './failures.ts';
import type { AdminParts } from './parts.ts';

export type ListenerParts = Pick<AdminParts, 'node' | 'settings' | 'httpListeners'>;

const answerMsMax = 5000;

/** A worker that does not answer in time, or is being replaced, has no part in the sums. */
export async function listenersOf(parts: ListenerParts): Promise<ListenerReport[]> {
  const { node, settings, httpListeners } = parts;
  const { answers, missing } = await node.workers.everywhere('listeners', [], answerMsMax);
  if (answers.length === 0) {
    const [, reason] = missing[0] ?? ['', 'there is no worker'];
    throw new OperatingError('badCall', `Cannot ask the workers for their listeners: ${reason}`);
  }
  const mqtt = sumsOf(answers.map(([, reports]) => reports)).map((report, place) => ({
    ...report,
    listenOn: whereOf(settings.listeners[place], node.ports[place], report),
  }));
  const open = mqtt.filter(({ isClosed }) => isClosed !== true);
  return inOrder([...open, ...httpListeners()]);
}

/** Of the same listeners in the same order. */
export function sumsOf(byWorker: readonly (readonly ListenerReport[])[]): ListenerReport[] {
  const longest = byWorker.reduce((a, b) => (b.length > a.length ? b : a), []);
  return longest.map((report, place) => {
    const all = byWorker.flatMap((reports) => reports[place] ?? []);
    const shutdownCount = new Map<string, number>();
    for (const [reason, count] of all.flatMap((one) => [...one.shutdownCount])) {
      shutdownCount.set(reason, (shutdownCount.get(reason) ?? 0) + count);
    }
    const currentConns = all.reduce((sum, one) => sum + one.currentConns, 0);
    return { ...report, currentConns, shutdownCount };
  });
}

/** As written, with the port that the system chose where the configuration left it open. */
function whereOf(
  settings: ListenerSettings | undefined,
  port: number | undefined,
  { listenOn }: ListenerReport,
): string {
  if (settings?.port !== 0 || port === undefined) return listenOn;
  return listenOn.replace(/\d+$/, String(port));
}

export function inOrder(reports: readonly ListenerReport[]): ListenerReport[] {
  const isSocket = ({ protocol }: ListenerReport): boolean =>
    protocol === 'mqtt:tcp' || protocol === 'mqtt:ssl';
  const others = reports.filter((report) => !isSocket(report));
  others.sort((a, b) => (a.protocol < b.protocol ? -1 : a.protocol > b.protocol ? 1 : 0));
  return [...reports.filter(isSocket), ...others];
}
