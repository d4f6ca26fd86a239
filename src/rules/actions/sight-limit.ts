// How much a rule shows of what it sees, in one worker. Law: one event may have ten thousand results, and
// neither the log nor whoever watches is flooded by them: so many are shown in a second, and one word at its
// end says how many were not.

import type { Logger } from '#base/log';
import type { InspectSeen } from '../rule-service.ts';

export interface SightLimitParts {
  readonly ruleId: string;
  readonly log: Logger;
  readonly after: (ms: number, call: () => void) => unknown;
  readonly onSight: () => ((seen: InspectSeen) => void) | undefined;
}

export const sightsMax = 100;
const spanMs = 1000;

export class SightLimit {
  readonly #parts: SightLimitParts;
  #shown = 0;
  #lost = 0;

  constructor(parts: SightLimitParts) {
    this.#parts = parts;
  }

  /** False: it is not to be shown, and counted as lost. */
  admits(): boolean {
    if (this.#shown === sightsMax) {
      this.#lost++;
      return false;
    }
    if (this.#shown++ === 0) this.#parts.after(spanMs, () => this.#end());
    return true;
  }

  #end(): void {
    const [lost, { ruleId, log, onSight }] = [this.#lost, this.#parts];
    this.#shown = 0;
    this.#lost = 0;
    if (lost === 0) return;
    log.info('rule.inspect_left_out', { rule: ruleId, lost });
    onSight()?.({ ruleId, lost });
  }
}
