// Something so many times a second, as near to each moment as a timer of a millisecond comes.

export class Pacer {
  /** How many times so far. */
  count = 0;
  readonly #timer: NodeJS.Timeout;

  /** `call` is told how many have become due since it was called last. */
  constructor(rate: number, call: (count: number) => void) {
    const start = performance.now();
    this.#timer = setInterval(() => {
      const due = Math.floor(((performance.now() - start) / 1000) * rate) - this.count;
      this.count += due;
      if (due > 0) call(due);
    }, 1);
  }

  stop(): void {
    clearInterval(this.#timer);
  }
}
