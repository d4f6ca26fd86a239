// The list of bans as management keeps it: on disk, and upheld in every worker, so that a new one holds
// everywhere before it is confirmed. Laws: at most one entry for each name; what has expired is not
// listed, and is swept away within a minute.

import type { Clock, ClockTimer } from '#base/clock';
import { describeError } from '#base/errors';
import type { Logger } from '#base/log';
import { SortedMap } from '#base/sorted-map';
import type { RecordStore } from '#core/store-port';
import { type Ban, banFault, banKey, banKinds, type BanName, isOver } from '#access/banned';
import type { NodeRecords, WorkersFace } from '#node/node-face';
import { OperatingError } from './failures.ts';

export interface BanEntry extends Ban {
  readonly reason: string | undefined;
  readonly desc: string | undefined;
  /** Who banned. */
  readonly by: string | undefined;
}

export interface BansParts {
  readonly workers: WorkersFace;
  readonly records: NodeRecords;
  readonly clock: Clock;
  readonly log: Logger;
  readonly entriesMax?: number;
}

const entriesMaxDefault = 100_000;
const sweepMs = 60_000;

export class Bans implements Disposable {
  readonly #parts: BansParts;
  readonly #records: RecordStore;
  readonly #entries = new SortedMap<BanEntry>();
  readonly #entriesMax: number;
  /** Keys of those on their way to the disk, and how often. */
  readonly #coming = new Map<string, number>();
  /** No entry expires before this. */
  #soonestMs = Number.POSITIVE_INFINITY;
  #timer: ClockTimer | undefined;

  constructor(parts: BansParts) {
    this.#parts = parts;
    this.#entriesMax = parts.entriesMax ?? entriesMaxDefault;
    this.#records = parts.records.records('banned');
    for (const [key, value] of this.#records.entries()) {
      if (isEntry(value)) this.#enter(entryOf(value));
      else parts.log.warn('bans.unreadable', { key });
    }
  }

  /** Before anybody is let in. */
  async start(): Promise<void> {
    this.sweep();
    this.#sweepLater();
    await this.#parts.workers.uphold('setBans', () => [this.#all()]);
  }

  get size(): number {
    this.sweep();
    return this.#entries.size;
  }

  /** It holds now. */
  has(name: BanName): boolean {
    this.sweep();
    return this.#entries.has(banKey(name));
  }

  /** By kind, then by name. `limit` is at least 1. */
  list(offset: number, limit: number): BanEntry[] {
    this.sweep();
    const rows: BanEntry[] = [];
    let skipped = 0;
    this.#entries.visit('', undefined, (_, entry) => {
      if (skipped < offset) skipped += 1;
      else rows.push(entry);
      return rows.length < limit;
    });
    return rows;
  }

  /**
   * In place of one with the same name. Resolves when it is on disk and every worker that answers
   * refuses by it, to the number of clients that it ended.
   */
  async add(entry: BanEntry): Promise<number> {
    const fault = banFault(entry);
    if (fault !== undefined) {
      throw new OperatingError('invalid', `Cannot ban "${entry.who}": ${fault}`);
    }
    // It has come too late to hold, and yet in place of the one before.
    if (isOver(entry, this.#parts.clock.nowMs())) {
      await this.remove(entry);
      return 0;
    }
    const key = banKey(entry);
    const count = this.#entries.size + this.#coming.size;
    if (!this.#entries.has(key) && !this.#coming.has(key) && count >= this.#entriesMax) {
      const most = this.#entriesMax;
      throw new OperatingError('failed', `Cannot ban more: there are ${most} entries, the most`);
    }
    this.#move(key, 1);
    try {
      this.#records.put(key, entry);
      await this.#flushed();
    } finally {
      this.#move(key, -1);
    }
    this.#enter(entry);
    return this.#tellWorkers([banOf(entry)], []);
  }

  #move(key: string, by: 1 | -1): void {
    const count = (this.#coming.get(key) ?? 0) + by;
    if (count === 0) this.#coming.delete(key);
    else this.#coming.set(key, count);
  }

  /** Also when there is none. */
  async remove(name: BanName): Promise<void> {
    if (banFault(name) !== undefined) return;
    const key = banKey(name);
    // Also when it is not in the list: one may be on its way to the disk.
    this.#records.delete(key);
    await this.#flushed();
    this.#entries.delete(key);
    await this.#tellWorkers([], [nameOf(name)]);
  }

  /** Takes away what has expired, in this turn as far as lists are concerned. */
  sweep(): void {
    const nowMs = this.#parts.clock.nowMs();
    if (nowMs < this.#soonestMs) return;
    this.#soonestMs = Number.POSITIVE_INFINITY;
    const over: BanEntry[] = [];
    this.#entries.visit('', undefined, (_, entry) => {
      if (isOver(entry, nowMs)) over.push(entry);
      else this.#expectEnd(entry);
      return true;
    });
    if (over.length === 0) return;
    for (const entry of over) {
      const key = banKey(entry);
      this.#entries.delete(key);
      // What is told last counts: one that comes in its place is on its way already.
      if (!this.#coming.has(key)) this.#records.delete(key);
    }
    // What the disk does not forget now is found expired by the next start.
    void this.#parts.records.flushed().catch(() => undefined);
    void this.#tellWorkers([], over.map(nameOf));
  }

  [Symbol.dispose](): void {
    this.#timer?.cancel();
  }

  #sweepLater(): void {
    this.#timer = this.#parts.clock.setTimer(sweepMs, () => {
      this.#sweepLater();
      this.sweep();
    });
  }

  #enter(entry: BanEntry): void {
    this.#entries.set(banKey(entry), entry);
    this.#expectEnd(entry);
  }

  #expectEnd({ until }: Ban): void {
    if (until !== undefined) this.#soonestMs = Math.min(this.#soonestMs, until * 1000);
  }

  #all(): Ban[] {
    const all: Ban[] = [];
    this.#entries.visit('', undefined, (_, entry) => all.push(banOf(entry)) > 0);
    return all;
  }

  async #flushed(): Promise<void> {
    try {
      await this.#parts.records.flushed();
    } catch (cause) {
      throw new OperatingError('failed', `Cannot store the ban: ${describeError(cause)}`, {
        cause,
      });
    }
  }

  /** One that is down is told the whole list before it lets anybody in; one that is slow, when it listens. */
  async #tellWorkers(added: readonly Ban[], removed: readonly BanName[]): Promise<number> {
    const { workers, log } = this.#parts;
    const { answers, missing } = await workers.everywhere('changeBans', [added, removed]);
    for (const [worker, why] of missing) log.warn('bans.untold', { worker, why });
    return answers.reduce((sum, [, ended]) => sum + ended, 0);
  }
}

/** What workers have to know of it. */
function banOf({ as, who, until }: BanEntry): Ban {
  return { as, who, until };
}

function nameOf({ as, who }: BanName): BanName {
  return { as, who };
}

type Stored = BanName & { readonly [F in 'reason' | 'desc' | 'by' | 'until']?: unknown };

function isEntry(value: unknown): value is Stored {
  const { as, who } = (value ?? {}) as Partial<BanName>;
  if (as === undefined || typeof who !== 'string' || !banKinds.includes(as)) return false;
  return banFault({ as, who }) === undefined;
}

/** JSON leaves out what is undefined. */
function entryOf({ as, who, reason, desc, by, until }: Stored): BanEntry {
  const text = (value: unknown): string | undefined =>
    typeof value === 'string' ? value : undefined;
  return {
    as,
    who,
    reason: text(reason),
    desc: text(desc),
    by: text(by),
    until: typeof until === 'number' ? until : undefined,
  };
}
