// Sessions that put, settle and release messages, of their own and shared, while commits succeed and
// fail in any order, beside a model that knows what must be on disk. What the next process reads is
// what the model says, and no message is stored that nobody holds.

import assert from 'node:assert/strict';
import test from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import fc from 'fast-check';
import type { Message } from '#core/message';
import { type Receipt, type SessionStore, unstored } from '#core/store-port';
import { foundIn, sessionIn, type StoreBench, storeBench, tableSizes } from '#test/store-bench';
import { delivery, ownMessage, payloadsOf, sharedMessage } from './session-store-fixture.ts';
import { Table } from './table.ts';

const given = process.env['FUZZ_SEED'];
const seed: number = given === undefined ? (Math.random() * 0x7fff_ffff) | 0 : Number(given);

interface Entry {
  readonly seq: number;
  readonly message: Message;
  receipt: Receipt;
  state: 'whole' | 'released';
}

/** A session as the core keeps it: receipts of what was refused are forgotten. */
class Holder {
  readonly name: string;
  readonly store: SessionStore;
  readonly entries: Entry[] = [];
  #seq = 0;

  constructor(bench: StoreBench, name: string) {
    this.name = name;
    this.store = sessionIn(bench, name);
    this.store.watcher = {
      onFlushed: () => undefined,
      onRefused: (from, through) => {
        for (const entry of this.entries) {
          const isRefused = entry.seq >= from && entry.seq <= through && entry.state === 'whole';
          if (isRefused) entry.receipt = unstored;
        }
      },
    };
  }

  put(message: Message): void {
    const seq = ++this.#seq;
    const receipt = this.store.put(seq, message, delivery());
    this.entries.push({ seq, message, receipt, state: 'whole' });
  }

  settle(at: number): void {
    const [entry] = this.entries.splice(at % this.entries.length, 1);
    if (entry === undefined) return;
    const message = entry.state === 'whole' ? entry.message : undefined;
    this.store.settle(entry.seq, message, entry.receipt);
  }

  release(at: number): void {
    const entry = this.entries[at % this.entries.length];
    if (entry === undefined || entry.state === 'released') return;
    entry.receipt = this.store.release(entry.seq, entry.message, entry.receipt);
    entry.state = 'released';
  }

  /** What the next process has to find. */
  get stored(): string[] {
    return this.entries
      .filter(({ receipt }) => receipt !== unstored)
      .map(({ state, message }) => (state === 'whole' ? message.payload.toString() : state));
  }
}

interface Step {
  readonly do:
    | 'own'
    | 'shared'
    | 'again'
    | 'settle'
    | 'release'
    | 'end'
    | 'begin'
    | 'flush'
    | 'fail';
  readonly who: number;
  readonly at: number;
}
const steps = fc.array(
  fc.record<Step>({
    do: fc.constantFrom(
      ...(['own', 'shared', 'shared', 'again', 'settle', 'settle', 'release'] as const),
      ...(['begin', 'flush', 'flush', 'fail', 'end'] as const),
    ),
    who: fc.nat(2),
    at: fc.nat(20),
  }),
  { maxLength: 60, size: 'max' },
);

class Run {
  readonly #bench = storeBench();
  readonly #holders = ['a', 'b', 'c'].map((name) => new Holder(this.#bench, name));
  readonly #shared: Message[] = [];
  #named = 0;

  async run(all: readonly Step[]): Promise<void> {
    await this.#bench.store.flushed();
    this.#bench.engine.hold();
    for (const step of all) await this.#take(step);
    await this.#rest();
    const next = this.#bench.again();
    for (const { name, stored } of this.#holders) {
      assert.deepEqual(payloadsOf(foundIn(next, name).store), stored, name);
    }
    assert.deepEqual(next.faults, []);
    await this.#settleAll(next);
  }

  async #take({ do: what, who, at }: Step): Promise<void> {
    const holder = this.#holders[who] as Holder;
    if (what === 'own') holder.put(ownMessage(`${this.#named++}`));
    else if (what === 'shared') this.#publish(at);
    else if (what === 'again') this.#handOn(holder, at);
    else if (what === 'settle') holder.settle(at);
    else if (what === 'release') holder.release(at);
    else if (what === 'end') this.#replace(who);
    else await this.#commit(what);
  }

  #publish(at: number): void {
    const message = sharedMessage(`${this.#named++}`);
    this.#shared.push(message);
    for (const [i, holder] of this.#holders.entries()) if ((at >> i) % 2 === 0) holder.put(message);
  }

  /** As a message that goes to another member of its group, or is retained and asked for. */
  #handOn(holder: Holder, at: number): void {
    const message = this.#shared.at(-1 - (at % Math.max(1, this.#shared.length)));
    if (message !== undefined) holder.put(message);
  }

  /** The session ends, and its client begins another one. */
  #replace(who: number): void {
    const { name, store } = this.#holders[who] as Holder;
    store.end();
    this.#holders[who] = new Holder(this.#bench, name);
  }

  async #commit(how: 'begin' | 'flush' | 'fail'): Promise<void> {
    const { engine, clock } = this.#bench;
    await turn();
    clock.advance(1000);
    if (how === 'flush') engine.pending?.resolve();
    if (how === 'fail') engine.pending?.reject();
    await turn();
  }

  async #rest(): Promise<void> {
    const { engine, clock } = this.#bench;
    engine.pass();
    // Long enough for all retries, then until ended sessions are cleared away, one after another.
    for (let i = 0; i < 8 || (i < 500 && engine.count(Table.ended) > 0); i++) {
      await turn();
      clock.advance(1000);
    }
  }

  /** Nothing is left behind. */
  async #settleAll(bench: StoreBench): Promise<void> {
    for (const { name } of this.#holders) {
      const { store } = foundIn(bench, name);
      for (const { seq, message, receipt } of store.read(0, 10_000, 10_000)) {
        store.settle(seq, message, receipt);
      }
    }
    await bench.store.flushed();
    const { meta: _, ...sizes } = tableSizes(bench);
    assert.deepEqual(sizes, { sessions: 3 });
  }
}

test('what sessions hold is on disk and nothing else, whatever fails', async (t) => {
  t.diagnostic(`FUZZ_SEED=${seed}`);
  const law = fc.asyncProperty(steps, async (all) => new Run().run(all));
  await fc.assert(law, { seed, numRuns: 300 });
});
