// Lists of a worker, a slice at a time, and ending a session that nobody is connected to.

import type { Broker } from '#core/broker';
import type { ListKind } from './list-orders.ts';
import { type ListSamples, Lists, type ListStart, type SliceBounds } from './lists.ts';
import { columnsOf, type RowColumns } from './row-columns.ts';

/** A page of `Lists` as it goes from thread to thread. */
export interface ListSlice {
  readonly columns: RowColumns;
  readonly next: string | undefined;
}

/** running: a client is connected, or about to be. */
export type Cleaned = 'cleaned' | 'running' | 'none';

export type ListVerbs = {
  /** A slice of a list; `from`: the answer of the slice before, or a key. */
  list: (kind: ListKind, from: string | undefined, bounds?: SliceBounds) => ListSlice;
  listStart: (kind: ListKind, offset: number) => ListStart;
  listSamples: (kind: ListKind, from: string, to: string | undefined) => ListSamples;
  listRanks: (kind: ListKind, keys: readonly string[]) => readonly number[];
  /** Ends the session of a client that is away. Resolves when it is gone from the disk, too. */
  cleanSession: (clientId: string) => Promise<Cleaned>;
};

export function listVerbs({ broker }: { readonly broker: Broker }): ListVerbs {
  const lists = new Lists(broker);
  return {
    list: (kind, from, bounds) => {
      const { rows, next } = lists.page(kind, from, bounds);
      return { columns: columnsOf(rows), next };
    },
    listStart: (kind, offset) => lists.start(kind, offset),
    listSamples: (kind, from, to) => lists.samples(kind, from, to),
    listRanks: (kind, keys) => lists.ranks(kind, keys),
    cleanSession: (clientId) => clean(broker, clientId),
  };
}

async function clean({ core }: Broker, clientId: string): Promise<Cleaned> {
  const session = core.sessions.find(clientId);
  if (session === undefined) return 'none';
  // One that moves does so because its client connects elsewhere.
  if (session.isConnected || session.leaving !== undefined) return 'running';
  await core.sessions.discard(clientId);
  return 'cleaned';
}
