// What all workers have to agree on about a shared subscription: in which order its members stand,
// whose turn it is, and to whom a sticky one sticks. Alone that is a few numbers; several workers
// share memory, where each operation is one atomic one.

export interface GroupMemory {
  /** Greater than all before, in all workers. */
  joinNumber(): number;
  slotOf(group: string, filter: string): GroupSlot;
}

export interface GroupSlot {
  /** Grows by one with each call, whoever calls. */
  nextTurn(): number;
  /** Where the next one will be. */
  readonly turn: number;
  skip(by: number): void;
  /** The join number of the member that a sticky group sticks to; 0: none yet. */
  readonly stuck: number;
  /** Sticks to `joinNo` if nobody has changed it from `from` before. Answers to whom it sticks now. */
  stick(from: number, joinNo: number): number;
}

export class LocalSlot implements GroupSlot {
  turn = 0;
  stuck = 0;

  nextTurn(): number {
    return this.turn++;
  }

  skip(by: number): void {
    this.turn += by;
  }

  stick(_from: number, joinNo: number): number {
    this.stuck = joinNo;
    return joinNo;
  }
}

export class LocalGroupMemory implements GroupMemory {
  #joined = 0;

  joinNumber(): number {
    return ++this.#joined;
  }

  slotOf(): GroupSlot {
    return new LocalSlot();
  }
}

/** Groups that have a slot; those beyond take turns by each worker for itself. */
const slotsMax = 1 << 14;
/** A table in which nothing is found within so many steps is as good as full. */
const probesMax = 256;
/** Two halves of the name's hash, turn, stuck. */
const slotWords = 4;
const headWords = 1;

export class SharedGroupMemory implements GroupMemory {
  readonly #words: Uint32Array;

  constructor(memory: SharedArrayBuffer) {
    this.#words = new Uint32Array(memory);
  }

  static memory(): SharedArrayBuffer {
    return new SharedArrayBuffer(4 * (headWords + slotsMax * slotWords));
  }

  joinNumber(): number {
    return Atomics.add(this.#words, 0, 1) + 1;
  }

  /**
   * A slot is taken by writing the first half of the hash, which nobody undoes. One who comes between
   * the two writes sees a second half of zero and takes it for its own by the same exchange.
   */
  slotOf(group: string, filter: string): GroupSlot {
    const [high, low] = hashOf(`${group}/${filter}`);
    for (let i = 0; i < probesMax; i++) {
      const at = headWords + ((low + i) % slotsMax) * slotWords;
      const found = Atomics.compareExchange(this.#words, at, 0, high);
      if (found !== 0 && found !== high) continue;
      const second = Atomics.compareExchange(this.#words, at + 1, 0, low);
      if (second === 0 || second === low) return new SharedSlot(this.#words, at + 2);
    }
    return new LocalSlot();
  }
}

class SharedSlot implements GroupSlot {
  readonly #words: Uint32Array;
  readonly #at: number;

  constructor(words: Uint32Array, at: number) {
    this.#words = words;
    this.#at = at;
  }

  get turn(): number {
    return Atomics.load(this.#words, this.#at);
  }

  nextTurn(): number {
    return Atomics.add(this.#words, this.#at, 1);
  }

  skip(by: number): void {
    Atomics.add(this.#words, this.#at, by);
  }

  get stuck(): number {
    return Atomics.load(this.#words, this.#at + 1);
  }

  stick(from: number, joinNo: number): number {
    const found = Atomics.compareExchange(this.#words, this.#at + 1, from, joinNo);
    return found === from ? joinNo : found;
  }
}

/** Two independent hashes, neither of them zero. */
function hashOf(text: string): readonly [number, number] {
  let high = 0x811c9dc5;
  let low = 0x01000193;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    high = Math.imul(high ^ code, 0x01000193);
    low = Math.imul(low + code, 0x85ebca6b) ^ (low >>> 13);
  }
  return [high >>> 0 || 1, low >>> 0 || 1];
}
