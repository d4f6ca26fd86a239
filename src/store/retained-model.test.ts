// Retained messages that are written, flushed, failed and read in any order, compared with a plain
// model of what must show. Walks go on over all that happens between their slices.

import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import { matches } from '#topics/match';
import type { Engine } from './engine.ts';
import type { MakeEngine } from './engine-fixture.ts';
import { HandJournal, makeMemory } from './journal-fixture.ts';
import { openTemporary } from './lmdb/store-fixture.ts';
import { type Bench, benchOn } from './retained-fixture.ts';

const given = process.env['FUZZ_SEED'];
const seed: number = given === undefined ? (Math.random() * 0x7fff_ffff) | 0 : Number(given);

const longLevel = 'l'.repeat(2000);
const plainNames = ['a', 'a/', 'a/b', 'a/b/c', 'a/-b', 'a!', '$SYS/a', '/', 'b/c'];
const oddNames = ['a/€', 'a/\uffff', 'a/\u{1f600}', `a/${longLevel}`, `${longLevel}/b`];
const names = [...plainNames, ...oddNames];
const filters = ['#', 'a/#', 'a/+', '+/b', '+/#', '$SYS/#', '+/b/#', 'a', `a/${longLevel}`, '/+'];

type Step =
  | { readonly do: 'put' | 'delete'; readonly topic: string }
  | { readonly do: 'handOver' | 'flush' | 'fail' }
  | { readonly do: 'begin'; readonly filter: string }
  | { readonly do: 'slice'; readonly namesMax: number };

/** Few topics in a run, so that one is written again and again. */
const steps: fc.Arbitrary<Step[]> = fc
  .subarray(names, { minLength: 1, maxLength: 6 })
  .chain((some) => {
    const topic = fc.constantFrom(...some);
    const filter = fc.constantFrom(...filters);
    const namesMax = fc.integer({ min: 1, max: 4 });
    return fc.array(
      fc.oneof(
        { weight: 5, arbitrary: step('put', { topic }) },
        { weight: 4, arbitrary: step('delete', { topic }) },
        { weight: 2, arbitrary: step('handOver', {}) },
        { weight: 2, arbitrary: fc.oneof(step('flush', {}), step('fail', {})) },
        { weight: 1, arbitrary: step('begin', { filter }) },
        { weight: 4, arbitrary: step('slice', { namesMax }) },
      ),
      { minLength: 1, maxLength: 60, size: 'max' },
    );
  });

function step<D extends Step['do'], F>(
  what: D,
  fields: { [K in keyof F]: fc.Arbitrary<F[K]> },
): fc.Arbitrary<{ readonly do: D } & F> {
  return fc.record(fields).map((found) => ({ do: what, ...found }) as { readonly do: D } & F);
}

type Values = ReadonlyMap<string, string>;

/** A walk under way: what was there at its beginning and has not been gone since must be seen. */
interface Walk {
  readonly filter: string;
  readonly seen: Set<string>;
  lasting: Set<string>;
  from: string;
}

class Model {
  flushed: Values = new Map();
  underWay: Map<string, string | undefined> | undefined;
  open = new Map<string, string | undefined>();

  get shown(): Map<string, string> {
    return applied(applied(this.flushed, this.underWay ?? new Map()), this.open);
  }

  handOver(): void {
    this.underWay = this.open;
    this.open = new Map();
  }

  settle(isFlushed: boolean): void {
    if (isFlushed) this.flushed = applied(this.flushed, this.underWay ?? new Map());
    this.underWay = undefined;
  }
}

function applied(
  values: Values,
  writes: ReadonlyMap<string, string | undefined>,
): Map<string, string> {
  const after = new Map(values);
  for (const [topic, value] of writes) {
    if (value === undefined) after.delete(topic);
    else after.set(topic, value);
  }
  return after;
}

function law(make: MakeEngine, isShared = false): fc.IAsyncProperty<[Step[]]> {
  return fc.asyncProperty(steps, async (list) => {
    await using made = await make();
    await compare(made.engine, list, isShared);
  });
}

test('retained messages show as they must after any writes, flushes and failures', async (t) => {
  t.diagnostic(`FUZZ_SEED=${seed}`);
  await fc.assert(law(makeMemory), { seed, numRuns: 300 });
});

test('retained messages show as they must where others could write as well', async (t) => {
  t.diagnostic(`FUZZ_SEED=${seed}`);
  await fc.assert(law(makeMemory, true), { seed, numRuns: 300 });
});

test('retained messages show as they must after any writes, flushes and failures on LMDB', async (t) => {
  t.diagnostic(`FUZZ_SEED=${seed}`);
  await fc.assert(law(openTemporary), { seed, numRuns: 10 });
});

async function compare(engine: Engine, list: readonly Step[], isShared: boolean): Promise<void> {
  const bench = benchOn(engine, new HandJournal(engine, isShared));
  const model = new Model();
  let walk: Walk | undefined;
  for (const [number, step] of list.entries()) {
    if (step.do === 'begin') {
      const lasting = new Set(
        [...model.shown.keys()].filter((topic) => matches(step.filter, topic)),
      );
      walk = { filter: step.filter, seen: new Set(), lasting, from: '' };
    } else if (step.do === 'slice') {
      if (walk !== undefined) walk = goOn(walk, bench, model.shown, step.namesMax);
    } else {
      await change(step, `${number}`, bench, model);
    }
    assertShown(bench, model.shown);
    if (walk !== undefined) walk.lasting = walk.lasting.intersection(new Set(model.shown.keys()));
  }
  await finish(bench, model);
  assertShown(benchOn(engine), model.flushed);
}

async function change(
  step: Exclude<Step, { readonly do: 'begin' | 'slice' }>,
  payload: string,
  { journal, retained, put }: Bench,
  model: Model,
): Promise<void> {
  if (step.do === 'put') {
    put(step.topic, payload);
    model.open.set(step.topic, payload);
  } else if (step.do === 'delete') {
    retained.delete(step.topic);
    model.open.set(step.topic, undefined);
  } else if (step.do === 'handOver') {
    if (journal.isUnderWay) return;
    journal.handOver();
    model.handOver();
  } else if (journal.isUnderWay) {
    await journal.settle(step.do === 'flush');
    model.settle(step.do === 'flush');
  }
}

async function finish({ journal }: Bench, model: Model): Promise<void> {
  if (journal.isUnderWay) {
    await journal.settle(true);
    model.settle(true);
  }
  await journal.flush();
  model.handOver();
  model.settle(true);
}

function goOn(walk: Walk, { retained }: Bench, shown: Values, namesMax: number): Walk | undefined {
  const { filter, seen, lasting } = walk;
  const from = retained.slice(filter, walk.from, namesMax, ({ topic, payload }) => {
    assert.ok(!seen.has(topic), `"${topic}" was seen before`);
    assert.equal(payload.toString(), shown.get(topic), `"${topic}" is as it is shown`);
    assert.ok(matches(filter, topic), `"${topic}" belongs to ${filter}`);
    seen.add(topic);
    return true;
  });
  if (from !== undefined) return { ...walk, from };
  assert.deepEqual(lasting.difference(seen), new Set(), 'what was there all the time was seen');
  return undefined;
}

function assertShown({ retained, found }: Bench, shown: Values): void {
  assert.equal(retained.size, shown.size);
  for (const name of names) assert.equal(retained.has(name), shown.has(name), name);
  const all = [...found('#'), ...found('$SYS/#')].toSorted();
  assert.deepEqual(all, [...shown].map(([topic, payload]) => `${topic}=${payload}`).toSorted());
}
