// A journal whose batches go when a test says so, in the two steps of the real one: handed over, then
// settled. Meanwhile writes go to the next batch. A batch that "fails" never reaches the engine.

import test from 'node:test';
import { Batch, forEachWrite } from './batch.ts';
import type { Engine } from './engine.ts';
import type { MakeEngine } from './engine-fixture.ts';
import type { Journal } from './journal.ts';
import { MemoryEngine } from './memory-engine.ts';

interface Gathered {
  readonly batch: Batch;
  readonly calls: ((isFlushed: boolean) => void)[];
}

export class HandJournal implements Journal {
  readonly engine: Engine;
  readonly isShared: boolean;
  #gathered: Gathered = { batch: new Batch(), calls: [] };
  #underWay: Gathered | undefined;
  #spare: Batch | undefined;

  constructor(engine: Engine, isShared = false) {
    this.engine = engine;
    this.isShared = isShared;
  }

  get open(): Batch {
    return this.#gathered.batch;
  }

  get isUnderWay(): boolean {
    return this.#underWay !== undefined;
  }

  /** Writes of the open batch that were not taken back. */
  get openWrites(): number {
    let count = 0;
    forEachWrite(this.open.bytes, this.open.length, () => void count++);
    return count;
  }

  onSettled(call: (isFlushed: boolean) => void): void {
    this.#gathered.calls.push(call);
  }

  /** What is told from here on belongs to another batch. One at a time, as in the real one. */
  handOver(): void {
    if (this.#underWay !== undefined) throw new Error('Cannot hand over: a batch is under way');
    this.#underWay = this.#gathered;
    this.#gathered = { batch: this.#spare ?? new Batch(), calls: [] };
    this.#spare = undefined;
  }

  async settle(isFlushed: boolean): Promise<void> {
    const { batch, calls } = this.#underWay as Gathered;
    if (isFlushed) await this.engine.commit(batch);
    this.#underWay = undefined;
    // The next batch lies in the memory of this one, as with the real journal.
    this.#spare = batch.clear();
    for (const call of calls) call(isFlushed);
  }

  async flush(): Promise<void> {
    this.handOver();
    await this.settle(true);
  }

  async fail(): Promise<void> {
    this.handOver();
    await this.settle(false);
  }
}

export const makeMemory: MakeEngine = () => ({
  engine: new MemoryEngine(),
  [Symbol.asyncDispose]: async () => {},
});

/** Registers a test that gets an engine of its own. */
export type OnEngine = (title: string, body: (journal: HandJournal) => Promise<void>) => void;

export function onEngine(subject: string, make: MakeEngine): OnEngine {
  return (title, body) => {
    test(`${subject}: ${title}`, async () => {
      await using made = await make();
      await body(new HandJournal(made.engine));
    });
  };
}
