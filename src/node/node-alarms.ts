// The alarms of the node out of those of its workers: one is raised as long as any worker raises it,
// with the details of the one that raised it last.

import type { AlarmDetails, Alarms } from '#core/alarms';

export class NodeAlarms {
  readonly #alarms: Alarms;
  /** Who raises it, by its name. */
  readonly #raisedBy = new Map<string, Set<number>>();

  constructor(alarms: Alarms) {
    this.#alarms = alarms;
  }

  onChange(
    worker: number,
    change: 'raised' | 'cleared',
    name: string,
    details: AlarmDetails,
  ): void {
    if (change === 'cleared') {
      this.#clear(worker, name);
      return;
    }
    const raisedBy = this.#raisedBy.get(name) ?? new Set();
    this.#raisedBy.set(name, raisedBy.add(worker));
    this.#alarms.raise(name, { ...details, worker });
  }

  /** It is dead, and so is what it complained of. */
  forget(worker: number): void {
    for (const name of [...this.#raisedBy.keys()]) this.#clear(worker, name);
  }

  #clear(worker: number, name: string): void {
    const raisedBy = this.#raisedBy.get(name);
    if (raisedBy?.delete(worker) !== true || raisedBy.size > 0) return;
    this.#raisedBy.delete(name);
    this.#alarms.clear(name);
  }
}
