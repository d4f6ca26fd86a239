// What `inspect` sees in one worker, on its way to the control thread. Law: so many are under way and no
// more; of those that found no room it is told how many, as soon as there is room again.

import type { InspectSeen } from '#sdk';

const underWayMax = 64;

export class SightLane {
  readonly #tell: (seen: InspectSeen) => Promise<unknown>;
  /** By rule. */
  readonly #lost = new Map<string, number>();
  #underWay = 0;

  constructor(tell: (seen: InspectSeen) => Promise<unknown>) {
    this.#tell = tell;
  }

  push(seen: InspectSeen): void {
    if (this.#underWay < underWayMax) {
      void this.#send(seen);
      return;
    }
    const { ruleId } = seen;
    const lost = 'lost' in seen ? seen.lost : 1;
    this.#lost.set(ruleId, (this.#lost.get(ruleId) ?? 0) + lost);
  }

  async #send(seen: InspectSeen): Promise<void> {
    this.#underWay++;
    try {
      await this.#tell(seen);
    } catch {
      // The control thread ends, or the plugin: there is nobody any more who would watch.
    }
    this.#underWay--;
    const [next] = this.#lost;
    if (next === undefined) return;
    const [ruleId, lost] = next;
    this.#lost.delete(ruleId);
    void this.#send({ ruleId, lost });
  }
}
