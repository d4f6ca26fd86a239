// A store that forgets with its engine: everything a broker asks of a store, nothing on a disk. Handing
// the same engine to a second store is what a restart is to a real one.

import type { Clock } from '#base/clock';
import { DurableStore } from './durable-store.ts';
import { MemoryEngine } from './memory-engine.ts';

export function memoryStore(clock: Clock, engine: MemoryEngine = new MemoryEngine()): DurableStore {
  return new DurableStore(engine, { clock });
}
