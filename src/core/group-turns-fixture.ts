// A thread that takes turns of one shared subscription as fast as it can, and tells which ones it got.

import { parentPort, workerData } from 'node:worker_threads';
import { SharedGroupMemory } from './group-memory.ts';

interface TurnsData {
  readonly memory: SharedArrayBuffer;
  /** All begin when it is not 0. */
  readonly gate: Int32Array;
  readonly turns: number;
}

const { memory, gate, turns } = workerData as TurnsData;
const groups = new SharedGroupMemory(memory);
parentPort?.postMessage('ready');
Atomics.wait(gate, 0, 0);
// Taking the slot is part of the race.
const slot = groups.slotOf('g', 't');
const taken = Uint32Array.from({ length: turns }, () => slot.nextTurn());
const joined = Uint32Array.from({ length: turns }, () => groups.joinNumber());
const stuck = slot.stick(0, joined[0] as number);
parentPort?.postMessage({ taken, joined, stuck });
