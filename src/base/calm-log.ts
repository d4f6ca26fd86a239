// Errors that may come with every message, in the log. Law: what fails all the time does not fill it: of one
// matter there are a few lines in some seconds, and the next one says how many were left out.

import type { Clock } from './clock.ts';
import type { Logger } from './log.ts';

const windowMs = 10_000;
const linesMax = 20;

interface Matter {
  sinceMs: number;
  lines: number;
  leftOut: number;
}

export class CalmLog {
  readonly #log: Logger;
  readonly #clock: Clock;
  readonly #matters = new Map<string, Matter>();

  constructor(log: Logger, clock: Clock) {
    this.#log = log;
    this.#clock = clock;
  }

  /** `matter` is one of few: it is remembered. `fieldsOf` is called where there is a line. */
  error(matter: string, event: string, fieldsOf: () => object): void {
    const nowMs = this.#clock.monotonicMs();
    let found = this.#matters.get(matter);
    if (found === undefined || nowMs - found.sinceMs >= windowMs) {
      found = { sinceMs: nowMs, lines: 0, leftOut: found?.leftOut ?? 0 };
      this.#matters.set(matter, found);
    }
    if (found.lines >= linesMax) {
      found.leftOut += 1;
      return;
    }
    found.lines += 1;
    const { leftOut } = found;
    found.leftOut = 0;
    this.#log.error(event, { ...fieldsOf(), ...(leftOut > 0 && { leftOut }) });
  }
}
