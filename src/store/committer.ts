// Group commit: what is told to the store in one turn, and while the last commit is under way, goes to
// the engine as one batch. One commit at a time. Laws: a promise of `flushed` resolves after the
// flush and never before; a batch that failed is refused to everyone who waits for it, except its
// lasting writes, which go ahead of the next batch until they are on disk. Trouble is over when the disk
// has taken something that it could have refused.

import type { Clock, ClockTimer } from '#base/clock';
import { latin1Of } from '#base/latin1';
import { Batch, forEachWrite, Op } from './batch.ts';
import type { Engine } from './engine.ts';
import { Table } from './table.ts';
import type { Journal } from './journal.ts';

/** After a failure the next try waits so long, doubling up to the second. */
const retryMsMin = 50;
const retryMsMax = 1000;
/** Memory of a finished batch that is worth keeping for the next one. */
const spareBytesMax = 4 * 1024 * 1024;
/** Written after a failure when nothing else is, to find out whether the disk takes it again. */
const probeKey: Buffer = Buffer.from('probe');
const probe: Buffer = Buffer.alloc(1);

export interface CommitterOptions {
  readonly clock: Clock;
  /** The first failure after success, and (undefined) the first success after failure. */
  readonly onTrouble: (error: unknown) => void;
  /** Somebody who was told of a flush threw: that is nobody else's affair. */
  readonly onFault: (error: unknown) => void;
  readonly isShared?: boolean;
}

type OnSettled = (isFlushed: boolean) => void;

/** Who waits for one batch. */
interface Waiting {
  readonly promise: Promise<void>;
  resolve(): void;
  reject(error: unknown): void;
}

export class Committer implements Journal {
  readonly engine: Engine;
  readonly isShared: boolean;
  readonly #clock: Clock;
  readonly #onTrouble: (error: unknown) => void;
  readonly #onFault: (error: unknown) => void;
  #open = new Batch();
  #spare: Batch | undefined;
  /** Of the open batch; grows with each one handed over. */
  serial = 1;
  #flushedSerial = 0;
  #waiting: Waiting | undefined;
  /** For the lasting writes of the open batch, of the one under way, and for those that are owed. */
  #lasting: Waiting | undefined;
  #underWayLasting: Waiting | undefined;
  #owedLasting: Waiting[] = [];
  #settled: OnSettled[] = [];
  /** Lasting writes of batches that failed. */
  #owed: Batch | undefined;
  #underWay: Promise<void> | undefined;
  #underWayBytes = 0;
  #isScheduled = false;
  #retryMs = 0;
  #retry: ClockTimer | undefined;
  #isClosed = false;

  constructor(engine: Engine, options: CommitterOptions) {
    this.engine = engine;
    this.isShared = options.isShared ?? false;
    this.#clock = options.clock;
    this.#onTrouble = options.onTrouble;
    this.#onFault = options.onFault;
  }

  get open(): Batch {
    if (!this.#isScheduled && this.#underWay === undefined) this.#schedule();
    return this.#open;
  }

  /** Whether everything told up to a batch is on disk. */
  isFlushed(serial: number): boolean {
    return serial <= this.#flushedSerial && this.#owed === undefined;
  }

  /** Bytes told and not flushed. */
  get pendingBytes(): number {
    return this.#open.length + this.#underWayBytes + (this.#owed?.length ?? 0);
  }

  onSettled(call: OnSettled): void {
    this.#settled.push(call);
  }

  flushed(): Promise<void> {
    if (this.#open.size > 0 || this.#owed !== undefined) {
      return (this.#waiting ??= waiting()).promise;
    }
    return this.#underWay ?? Promise.resolve();
  }

  /** The same for lasting writes alone. Never rejects: they are tried until they are there. */
  lastingFlushed(): Promise<void> {
    if (this.#open.size > 0 || this.#owed !== undefined) {
      return (this.#lasting ??= waiting()).promise;
    }
    if (this.#underWay === undefined) return Promise.resolve();
    return (this.#underWayLasting ??= waiting()).promise;
  }

  /** Writes what is left, then closes the engine. Nothing may be told after this. */
  async close(): Promise<void> {
    await this.#underWay?.catch(() => {});
    if (this.#open.size > 0 || this.#owed !== undefined) {
      const flushed = this.flushed();
      // Nobody waits for the next try: a timer does not keep the process alive until then.
      if (this.#retry !== undefined) this.#commit();
      await flushed.catch(() => {});
    }
    this.#isClosed = true;
    await this.engine.close();
  }

  #schedule(): void {
    this.#isScheduled = true;
    if (this.#retryMs === 0) setImmediate(() => this.#commit());
    else this.#retry = this.#clock.setTimer(this.#retryMs, () => this.#commit());
  }

  #commit(): void {
    this.#isScheduled = false;
    this.#retry?.cancel();
    this.#retry = undefined;
    if (this.#isClosed) return;
    const owed = this.#owed;
    const batch = this.#open;
    const settled = this.#settled;
    const told = this.#waiting ?? waiting();
    this.#open = this.#spare ?? new Batch();
    this.#spare = undefined;
    this.serial++;
    this.#settled = [];
    this.#waiting = undefined;
    this.#owed = undefined;
    this.#underWayLasting = this.#lasting;
    this.#lasting = undefined;
    this.#underWay = told.promise;
    this.#underWayBytes = batch.length + (owed?.length ?? 0);
    // Somebody may ask for it later; a failure is told to those who do.
    told.promise.catch(() => {});
    void this.#write(owed, batch, told, settled);
  }

  /** What is owed goes alone: a full disk may have room for that and not for more. */
  async #write(
    owed: Batch | undefined,
    batch: Batch,
    told: Waiting,
    settled: readonly OnSettled[],
  ): Promise<void> {
    let unwritten = owed === undefined ? [batch] : [owed, batch];
    try {
      if (owed !== undefined) await this.engine.commit(owed);
      unwritten = [batch];
      this.#tellLasting();
      if (batch.size > 0) await this.engine.commit(batch);
    } catch (error) {
      this.#failed(unwritten, told, settled, error);
      return;
    }
    this.#done(batch, told, settled);
  }

  #done(batch: Batch, told: Waiting, settled: readonly OnSettled[]): void {
    this.#underWay = undefined;
    this.#flushedSerial = this.serial - 1;
    if (this.#retryMs > 0 && batch.hasBrief) {
      this.#retryMs = 0;
      this.#onTrouble(undefined);
    }
    if (batch.bytes.length <= spareBytesMax) this.#spare = batch.clear();
    this.#underWayBytes = 0;
    told.resolve();
    this.#oweLasting();
    this.#tellLasting();
    this.#tell(settled, true);
    if (this.#retryMs > 0) this.#probe();
    if (this.#open.size > 0 && !this.#isScheduled) this.#schedule();
  }

  /** Those who wait for what was under way. */
  #oweLasting(): void {
    if (this.#underWayLasting !== undefined) this.#owedLasting.push(this.#underWayLasting);
    this.#underWayLasting = undefined;
  }

  #tellLasting(): void {
    for (const waiter of this.#owedLasting) waiter.resolve();
    this.#owedLasting = [];
  }

  /** Lasting writes tell little about the disk. */
  #probe(): void {
    if (!this.#open.hasBrief) this.#open.put(Table.meta, probeKey, probe);
  }

  #tell(settled: readonly OnSettled[], isFlushed: boolean): void {
    for (const call of settled) {
      try {
        call(isFlushed);
      } catch (error) {
        this.#onFault(error);
      }
    }
  }

  #failed(
    unwritten: readonly Batch[],
    told: Waiting,
    settled: readonly OnSettled[],
    error: unknown,
  ): void {
    this.#underWay = undefined;
    this.#underWayBytes = 0;
    this.#owed = lastingOf(unwritten);
    this.#oweLasting();
    if (this.#owed === undefined) this.#tellLasting();
    if (this.#retryMs === 0) this.#onTrouble(error);
    this.#retryMs = Math.min(Math.max(retryMsMin, this.#retryMs * 2), retryMsMax);
    this.#tell(settled, false);
    told.reject(error);
    this.#probe();
    if (!this.#isScheduled) this.#schedule();
  }
}

function waiting(): Waiting {
  return Promise.withResolvers<void>();
}

interface Owed {
  readonly op: number;
  readonly table: Table;
  readonly key: Buffer;
  readonly value: Buffer;
  by: number;
}

/** The last write of each key: a disk may be full for days, and clients come and go. */
function lastingOf(batches: readonly Batch[]): Batch | undefined {
  const all = new Map<string, Owed>();
  for (const { bytes, length } of batches) {
    forEachWrite(bytes, length, (op, table, key, value, isLasting) => {
      if (!isLasting) return;
      const isReference = op === Op.refer;
      const name = `${isReference} ${table} ${latin1Of(key, 0, key.length)}`;
      const by = isReference ? value.readInt32LE() + (all.get(name)?.by ?? 0) : 0;
      all.set(name, { op, table, key, value, by });
    });
  }
  const owed = new Batch();
  for (const { op, table, key, value, by } of all.values()) {
    if (op === Op.put) owed.put(table, key, value, true);
    else if (op === Op.remove) owed.remove(table, key, true);
    else if (by !== 0) owed.refer(table, key, by, true);
  }
  return owed.size > 0 ? owed : undefined;
}
