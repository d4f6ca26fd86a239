// Lines of a trace for somebody who reads along, as they come. What he does not read waits in bounded
// memory; what is more is counted, and he is told the number where the lines would have been.

import type { Clock, ClockTimer } from '#base/clock';

const linesMaxUsual = 1000;
/** A line may be long. */
const charsMax = 1024 * 1024;
/** Between two signs of life: who has gone is noticed by them. */
const pulseMs = 15_000;

/** Server-sent events. */
export class TraceTail implements AsyncIterable<string> {
  readonly #linesMax: number;
  readonly #clock: Clock;
  #waiting: string[] = [];
  #waitingChars = 0;
  #lost = 0;
  #isEnded = false;
  #isPulseDue = false;
  #wake: () => void = () => undefined;
  /** The reader has gone, or all was read. */
  onGone: () => void = () => undefined;

  constructor(clock: Clock, linesMax: number = linesMaxUsual) {
    this.#clock = clock;
    this.#linesMax = linesMax;
  }

  push(line: string): void {
    if (this.#isEnded) return;
    const isFull = this.#waiting.length >= this.#linesMax || this.#waitingChars >= charsMax;
    if (isFull) this.#lost++;
    else {
      this.#waiting.push(event('line', line));
      this.#waitingChars += line.length;
    }
    this.#wake();
  }

  /** The trace is over, and why. What waits can still be read. */
  end(why: string): void {
    if (this.#isEnded) return;
    this.#flushLost();
    this.#waiting.push(event('end', why));
    this.#isEnded = true;
    this.#wake();
  }

  /** Nobody reads any more. */
  abandon(): void {
    this.#waiting = [];
    this.#lost = 0;
    this.#isEnded = true;
    this.#wake();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<string> {
    let pulse: ClockTimer | undefined;
    const beat = (): void => {
      this.#isPulseDue = true;
      this.#wake();
      pulse = this.#clock.setTimer(pulseMs, beat);
    };
    pulse = this.#clock.setTimer(pulseMs, beat);
    try {
      // At once: the reader learns that he is heard.
      yield ': tail\n\n';
      for (;;) {
        const text = this.#take();
        if (text !== '') yield text;
        else if (this.#isEnded) return;
        else await new Promise<void>((resolve) => (this.#wake = resolve));
      }
    } finally {
      pulse.cancel();
      this.onGone();
    }
  }

  #take(): string {
    this.#flushLost();
    const text = this.#waiting.join('') || (this.#isPulseDue ? ': \n\n' : '');
    this.#waiting = [];
    this.#waitingChars = 0;
    this.#isPulseDue = false;
    return text;
  }

  #flushLost(): void {
    if (this.#lost > 0) this.#waiting.push(event('lost', String(this.#lost)));
    this.#lost = 0;
  }
}

/** Lines of a trace have no line end inside. */
const event = (name: string, data: string): string => `event: ${name}\ndata: ${data}\n\n`;
