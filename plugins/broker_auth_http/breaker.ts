// Whether a server is worth a try. Closed: everybody may ask. Open: after so many failures in a row nobody
// may, until a pause is over; then one may, and his fate decides for all. Law: a server that is down keeps
// nobody waiting and is not run over when it comes back.
//
//   closed ──failures──▶ open ──pause──▶ one tries ──answer──▶ closed
//                          ▲                 └────no answer────┐
//                          └───────────────────────────────────┘

import type { Clock } from '#sdk';

export interface BreakerOptions {
  readonly failures: number;
  readonly pauseMs: number;
}

export class Breaker {
  readonly #options: BreakerOptions;
  readonly #clock: Clock;
  readonly #onChange: (isOpen: boolean) => void;
  #inARow = 0;
  /** Undefined: closed. */
  #openUntilMs: number | undefined;
  #isTrying = false;

  /** `onChange` is told each time that it opens, also again after a try, and when it closes. */
  constructor(options: BreakerOptions, clock: Clock, onChange: (isOpen: boolean) => void) {
    this.#options = options;
    this.#clock = clock;
    this.#onChange = onChange;
  }

  get isOpen(): boolean {
    return this.#openUntilMs !== undefined;
  }

  /** Whether nobody may ask just now. */
  get isShut(): boolean {
    if (this.#openUntilMs === undefined) return false;
    return this.#isTrying || this.#clock.monotonicMs() < this.#openUntilMs;
  }

  /** Who may says afterwards how it went: `succeeded` or `failed`. */
  enter(): boolean {
    if (this.isShut) return false;
    this.#isTrying = this.isOpen;
    return true;
  }

  succeeded(): void {
    this.#inARow = 0;
    this.#isTrying = false;
    if (!this.isOpen) return;
    this.#openUntilMs = undefined;
    this.#onChange(false);
  }

  failed(): void {
    this.#inARow++;
    // Those that were under way when it opened add nothing.
    const opens = this.isOpen ? this.#isTrying : this.#inARow >= this.#options.failures;
    if (!opens) return;
    this.#isTrying = false;
    this.#openUntilMs = this.#clock.monotonicMs() + this.#options.pauseMs;
    this.#onChange(true);
  }
}
