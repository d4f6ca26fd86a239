// Texts for somebody who reads along, as they come. Law: what is not read waits in bounded memory; what is
// more is counted, and the reader is told the number where the texts would have been.

import type { Clock, ClockTimer } from './clock.ts';

/** All empty: a sign of life. */
export interface TailPiece {
  readonly texts: readonly string[];
  /** How many have come behind these and were not kept. */
  readonly lost: number;
}

export interface TailOptions {
  readonly clock: Clock;
  readonly textsMax?: number;
}

const textsMaxUsual = 1000;
/** A text may be long. */
const charsMax = 1024 * 1024;
/** Between two signs of life: who has gone is noticed by them. */
const pulseMs = 15_000;

export class Tail implements AsyncIterable<TailPiece> {
  readonly #clock: Clock;
  readonly #textsMax: number;
  #waiting: string[] = [];
  #waitingChars = 0;
  #lost = 0;
  #isEnded = false;
  /** At once: the reader learns that he is heard. */
  #isPulseDue = true;
  #wake: () => void = () => undefined;
  /** The reader has gone, or all was read. */
  onGone: () => void = () => undefined;

  constructor({ clock, textsMax = textsMaxUsual }: TailOptions) {
    this.#clock = clock;
    this.#textsMax = textsMax;
  }

  push(text: string): void {
    if (this.#isEnded) return;
    const isFull = this.#waiting.length >= this.#textsMax || this.#waitingChars >= charsMax;
    if (isFull) this.#lost++;
    else {
      this.#waiting.push(text);
      this.#waitingChars += text.length;
    }
    this.#wake();
  }

  /** So many more will never come. */
  lose(count: number): void {
    if (this.#isEnded) return;
    this.#lost += count;
    this.#wake();
  }

  /** No more will come. What waits can still be read. */
  end(): void {
    this.#isEnded = true;
    this.#wake();
  }

  /** Nobody reads any more. */
  abandon(): void {
    this.#waiting = [];
    this.#lost = 0;
    this.end();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<TailPiece> {
    let pulse: ClockTimer | undefined;
    const beat = (): void => {
      this.#isPulseDue = true;
      this.#wake();
      pulse = this.#clock.setTimer(pulseMs, beat);
    };
    pulse = this.#clock.setTimer(pulseMs, beat);
    try {
      for (;;) {
        const piece = this.#take();
        if (piece !== undefined) yield piece;
        else if (this.#isEnded) return;
        else await new Promise<void>((resolve) => (this.#wake = resolve));
      }
    } finally {
      pulse.cancel();
      this.onGone();
    }
  }

  #take(): TailPiece | undefined {
    const piece = { texts: this.#waiting, lost: this.#lost };
    const isNothing = piece.texts.length === 0 && piece.lost === 0 && !this.#isPulseDue;
    this.#waiting = [];
    this.#waitingChars = 0;
    this.#lost = 0;
    this.#isPulseDue = false;
    return isNothing ? undefined : piece;
  }
}

/** Of server-sent events. Law: the data has no line end inside. */
export function serverSentEvent(name: string, data: string): string {
  return `event: ${name}\ndata: ${data}\n\n`;
}

/** A sign of life among them. */
export const serverSentPulse: string = ': \n\n';
