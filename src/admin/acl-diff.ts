// Other access rules compared with those that hold, over all workers: who would be decided about
// differently, in the order of client ids. Law: a worker that cannot be asked is a failure, never fewer
// differences; so many at a time, because each holds its rules in every worker.

import type { AclDifference, AclDiffSlice, Compared } from '#node/acl-diff';
import type { WorkersFace } from '#node/node-face';
import type { VerbAnswer, VerbArgs } from '#node/verbs';
import { OperatingError } from './failures.ts';

export interface AclDiffSummary {
  /** What was looked at, and what of it would be decided differently. */
  readonly looked: Compared;
  readonly changed: Compared;
  /** Who is asked besides the rules, and may have decided; they are not asked here. */
  readonly others: readonly string[];
}

const diffsMax = 4;
/** Rules are read and put in order in one go. */
const proposeMsMax = 60_000;

type DiffVerb = 'proposeAcl' | 'compareAcl' | 'forgetAcl';

export class AclDiffs {
  readonly #workers: WorkersFace;
  #running = 0;
  #nextId = 1;

  constructor(workers: WorkersFace) {
    this.#workers = workers;
  }

  /** Answers the differences slice by slice and at last, as its return value, what they come to. */
  async *compare(
    text: string,
    signal: AbortSignal,
  ): AsyncGenerator<readonly AclDifference[], AclDiffSummary> {
    if (this.#running >= diffsMax) {
      throw new OperatingError('tooMany', `Cannot compare access rules: ${diffsMax} are compared`);
    }
    this.#running++;
    const id = this.#nextId++;
    try {
      const others = await this.#everywhere('proposeAcl', [id, text], proposeMsMax);
      const merged = new MergedSlices();
      for (let isLast = false; !isLast; ) {
        signal.throwIfAborted();
        const rows = merged.take(await this.#everywhere('compareAcl', [id]));
        isLast = merged.isWhole;
        if (rows.length > 0) yield rows;
      }
      return { ...merged.summary(), others: [...new Set(others.flatMap(([, owners]) => owners))] };
    } finally {
      this.#running--;
      await this.#workers.everywhere('forgetAcl', [id]);
    }
  }

  async #everywhere<V extends DiffVerb>(
    verb: V,
    args: VerbArgs<V>,
    deadlineMs?: number,
  ): Promise<readonly (readonly [string, VerbAnswer<V>])[]> {
    const { answers, missing } = await this.#workers.everywhere(verb, args, deadlineMs);
    const [lost] = missing;
    if (lost === undefined) return answers;
    throw new OperatingError('badCall', `Cannot compare access rules: ${lost.join(': ')}`);
  }
}

/**
 * Each worker tells its rows in the order of client ids, a slice at a time. What is before the place
 * that the slowest of them has come to is in order for all.
 */
class MergedSlices {
  #waiting: AclDifference[] = [];
  readonly #looked = { clients: 0, subscriptions: 0, publishes: 0 };
  readonly #changed = { subscriptions: 0, publishes: 0 };
  readonly #changedClients = new Set<string>();
  isWhole = false;

  take(slices: readonly (readonly [string, AclDiffSlice])[]): readonly AclDifference[] {
    let before: string | undefined;
    for (const [, slice] of slices) {
      for (const counted of ['clients', 'subscriptions', 'publishes'] as const) {
        this.#looked[counted] += slice[counted];
      }
      for (const row of slice.rows) this.#add(row);
      const { next } = slice;
      if (next !== undefined && (before === undefined || next < before)) before = next;
    }
    this.isWhole = before === undefined;
    const all = this.#waiting.sort(byClientId);
    const end = before === undefined ? -1 : all.findIndex(({ clientId }) => clientId >= before);
    this.#waiting = end < 0 ? [] : all.slice(end);
    return end < 0 ? all : all.slice(0, end);
  }

  summary(): Pick<AclDiffSummary, 'looked' | 'changed'> {
    const changed = { clients: this.#changedClients.size, ...this.#changed };
    return { looked: this.#looked, changed };
  }

  #add(row: AclDifference): void {
    this.#waiting.push(row);
    this.#changedClients.add(row.clientId);
    this.#changed[row.action === 'publish' ? 'publishes' : 'subscriptions']++;
  }
}

/** Stable: the rows of one client stay as they came. */
function byClientId(a: AclDifference, b: AclDifference): number {
  if (a.clientId === b.clientId) return 0;
  return a.clientId < b.clientId ? -1 : 1;
}
