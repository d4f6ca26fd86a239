// Takes a seat at a store that another thread of this process has opened. That one has locked it,
// checked it and made its tables; here nothing is asked again, and nothing is written but through the
// thread that writes. Law: a thread that is ended at any moment takes nothing with it that others
// need: it never has a transaction that writes, and LMDB's binding ends its snapshot with it.

import { LmdbEngine, type LmdbSeat } from './engine.ts';
import { findTables, openRoot } from './environment.ts';
import { WritingClient } from './writing-client.ts';

export function joinLmdb({ dir, port, numbers }: LmdbSeat): LmdbEngine {
  const environment = findTables(openRoot(dir, 'read'));
  const writing = new WritingClient(port);
  port.once('close', () => writing.ended(undefined));
  return new LmdbEngine({
    environment,
    writing,
    numbers: () => numbers,
    seat: undefined,
    onClosed: () => {},
  });
}
