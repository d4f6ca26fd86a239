// Numbers that no two threads are given twice, and that no thread has to ask for: a shared counter
// hands out blocks, and whoever took a block uses it up alone. Law: no number is used again as long
// as anything in the store speaks of it. They grow within one taker and are dense for nobody.
//
//   number = block × 2^16 + place in it          memory: the next block, for each kind of number

import { invariant } from '#base/assert';
import type { Engine } from './engine.ts';
import { numberKey, readNumber, receiverOfPassage } from './keys.ts';
import { Table } from './table.ts';

/** Where each kind of number stands in the shared memory. */
export const NumberKind = { session: 0, body: 1 } as const;
export type NumberKind = (typeof NumberKind)[keyof typeof NumberKind];

const blockSize = 2 ** 16;
/** So far below the end of the counter that no number of threads takes it round to the beginning. */
const blocksMax = 2 ** 32 - 2 ** 16;

/** Tables whose keys begin with the number of a session. */
const numberedTables = [
  Table.sessions,
  Table.subscriptions,
  Table.queue,
  Table.taken,
  Table.ended,
  Table.passages,
];
const highestKey: Buffer = Buffer.alloc(12, 0xff);

export class Numbers {
  readonly #blocks: Uint32Array;
  readonly #kind: NumberKind;
  #next = 0;
  #end = 0;

  constructor(memory: SharedArrayBuffer, kind: NumberKind) {
    this.#blocks = new Uint32Array(memory);
    this.#kind = kind;
  }

  /** Memory for numbers that are all higher than these, one for each kind. */
  static memory(highestUsed: Readonly<Record<keyof typeof NumberKind, number>>): SharedArrayBuffer {
    const memory = new SharedArrayBuffer(Object.keys(NumberKind).length * 4);
    const blocks = new Uint32Array(memory);
    for (const [name, kind] of Object.entries(NumberKind)) {
      const block = Math.floor(highestUsed[name as keyof typeof NumberKind] / blockSize) + 1;
      invariant(block <= blocksMax, 'there are numbers left');
      blocks[kind] = block;
    }
    return memory;
  }

  next(): number {
    if (this.#next === this.#end) this.#takeBlock();
    return this.#next++;
  }

  #takeBlock(): void {
    const block = Atomics.add(this.#blocks, this.#kind, 1);
    invariant(block < blocksMax, 'there are numbers left');
    this.#next = block * blockSize;
    this.#end = this.#next + blockSize;
  }
}

/** Memory for numbers that nothing in the store speaks of. Made once, before anybody writes. */
export function numbersAfter(engine: Engine): SharedArrayBuffer {
  const sessions = numberedTables.map((table) => highestIn(engine, table));
  // A mark also names the session that was given the message, which may be over by now.
  engine.keys(Table.passages, Buffer.alloc(0), undefined, (key) => {
    sessions.push(receiverOfPassage(key) ?? 0);
    return true;
  });
  const session = sessions.reduce((highest, no) => Math.max(highest, no), 0);
  return Numbers.memory({ session, body: highestIn(engine, Table.bodies) });
}

function highestIn(engine: Engine, table: Table): number {
  const last = engine.lastKey(table, numberKey(0), highestKey);
  return last === undefined ? 0 : readNumber(last, 0);
}
