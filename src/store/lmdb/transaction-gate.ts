// Keeps the end of the process out of a transaction. A thread whose JavaScript is ended in the middle
// of one keeps a lock of LMDB's binding, for which the same thread then waits for ever. So the main
// thread closes this gate before it exits: it waits for the transaction under way, and no other begins.

const idle = 0;
const busy = 1;
const closed = 2;

export class TransactionGate {
  /** Shared between both threads. */
  readonly memory: SharedArrayBuffer;
  readonly #state: Int32Array;

  constructor(memory: SharedArrayBuffer = new SharedArrayBuffer(4)) {
    this.memory = memory;
    this.#state = new Int32Array(memory);
  }

  /** The thread that writes: runs it, unless the gate is closed. */
  pass(transaction: () => void): void {
    if (Atomics.compareExchange(this.#state, 0, idle, busy) === closed) return;
    try {
      transaction();
    } finally {
      Atomics.store(this.#state, 0, idle);
      Atomics.notify(this.#state, 0);
    }
  }

  /** The main thread: false when the transaction under way did not end in time. */
  close(patienceMs: number): boolean {
    const deadline = performance.now() + patienceMs;
    while (Atomics.compareExchange(this.#state, 0, idle, closed) === busy) {
      const leftMs = deadline - performance.now();
      if (leftMs <= 0) return false;
      Atomics.wait(this.#state, 0, busy, leftMs);
    }
    return true;
  }
}
