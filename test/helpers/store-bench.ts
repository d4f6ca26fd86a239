// A store whose commits a test decides on, and what lies in its tables. `again` is the store as the
// next process finds it.

import { VirtualClock } from '#base/clock';
import type { SessionStore, StoredSession } from '#core/store-port';
import { DurableStore } from '#store/durable-store';
import { MemoryEngine } from '#store/memory-engine';
import { headOf } from '#store/session-store-fixture';
import { Table } from '#store/table';
import { SlowEngine } from './slow-engine.ts';

export interface StoreBench {
  readonly store: DurableStore;
  readonly engine: SlowEngine;
  readonly clock: VirtualClock;
  /** What the store could tell nobody else. */
  readonly faults: unknown[];
  /** Another process after this one was cut off: what was not flushed is lost. */
  readonly again: () => StoreBench;
}

export function storeBench(memory: MemoryEngine = new MemoryEngine()): StoreBench {
  const engine = new SlowEngine(memory);
  const clock = new VirtualClock();
  const faults: unknown[] = [];
  const store = new DurableStore(engine, { clock, onFault: (error) => faults.push(error) });
  const again = (): StoreBench => {
    engine.cut();
    return storeBench(memory);
  };
  return { store, engine, clock, faults, again };
}

export function sessionIn({ store }: StoreBench, clientId: string = 's'): SessionStore {
  return store.createSession(headOf(clientId));
}

/** The session as the next process finds it. */
export function foundIn({ store }: StoreBench, clientId: string = 's'): StoredSession {
  const found = [...store.sessions()].find(({ head }) => head.clientId === clientId);
  if (found === undefined) throw new Error(`Cannot find the session of "${clientId}"`);
  return found;
}

/** How many records each table has. Left out are those without any, and the store's own probe. */
export function tableSizes({ engine }: StoreBench): Record<string, number> {
  const sizes = Object.entries(Table).map(([name, table]) => [name, engine.count(table)] as const);
  return Object.fromEntries(sizes.filter(([name, size]) => size > 0 && name !== 'meta'));
}
