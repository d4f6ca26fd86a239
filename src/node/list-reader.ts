// A list of the node, put together from the lists of its workers: any page of it, or all. Each worker has
// its own rows in the order of their keys; the key of the n-th row of all is found by narrowing down:
//
//   worker 0   a···d···h···m        every worker names some keys of its own, evenly spread (samples);
//   worker 1   b···f···k···z        all say how many of their rows are before each of them (ranks), and
//                └────┘             the sums say between which two the n-th is. Some 64 times closer a round.
//
// Law: no row is shown twice on a page. What comes and goes while it is read may be shown or not.

import { behind, type ListKind, rowKey, type RowTypes } from './list-orders.ts';
import { type ListPage, type ListStart, type SliceBounds, sliceRows } from './lists.ts';
import type { ListSlice } from './list-verbs.ts';
import type { WorkersFace } from './node-face.ts';
import { rowsIn } from './row-columns.ts';
import type { VerbAnswer, VerbArgs } from './verbs.ts';

/** A worker did not answer: what it has is unknown, and a list without it would say that it has nothing. */
export class ListUnanswered extends Error {
  override readonly name = 'ListUnanswered';
}

export interface FoundPage<K extends ListKind> {
  readonly rows: readonly RowTypes[K][];
  /** Of the whole list. */
  readonly count: number;
}

export interface RowsWanted extends SliceBounds {
  readonly from?: string | undefined;
  /** Aborted: nobody waits for them any more. */
  readonly signal?: AbortSignal | undefined;
}

type Asked = Pick<WorkersFace, 'everywhere'>;

/** Each round comes 64 times closer; only a list that changes all the time could need as many. */
const roundsMax = 8;

export async function readPage<K extends ListKind>(
  workers: Asked,
  kind: K,
  { offset, limit }: { readonly offset: number; readonly limit: number },
  signal?: AbortSignal,
): Promise<FoundPage<K>> {
  const starts = await ask(workers, 'listStart', [kind, offset]);
  const count = starts.reduce((sum, { total }) => sum + total, 0);
  const from = offset < count ? await startOf(workers, kind, offset, starts) : undefined;
  if (from === undefined) return { rows: [], count };
  const rows = await readRows(workers, kind, { from, rowsMax: limit, signal });
  return { rows, count };
}

/** The key of the n-th row, of one worker without any search. */
async function startOf(
  workers: Asked,
  kind: ListKind,
  offset: number,
  starts: readonly ListStart[],
): Promise<string | undefined> {
  if (offset === 0) return '';
  return starts.length === 1 ? starts[0]?.key : keyAt(workers, kind, offset);
}

/** The key of the n-th row of all workers together; undefined: so many have gone meanwhile. */
async function keyAt(workers: Asked, kind: ListKind, offset: number): Promise<string | undefined> {
  let low = '';
  let high: string | undefined;
  for (let round = 0; round < roundsMax; round++) {
    const samples = await ask(workers, 'listSamples', [kind, low, high]);
    const keys = [...new Set(samples.flatMap((one) => one.keys))].sort(byCodeUnit);
    if (keys.length === 0) return high;
    const ranks = await ask(workers, 'listRanks', [kind, keys]);
    const before = (place: number): number =>
      ranks.reduce((sum, one) => sum + (one[place] ?? 0), 0);
    const at = keys.findLastIndex((_, place) => before(place) <= offset);
    // All of them went meanwhile, or so many came before them.
    if (at === -1) return keys[0];
    const isWhole = samples.every((one) => one.isWhole);
    // Where all keys are known, the one behind this is the next row.
    if (isWhole) return before(at) < offset ? (keys[at + 1] ?? high) : keys[at];
    low = keys[at] as string;
    high = keys[at + 1] ?? high;
  }
  return low;
}

/** All rows between two keys, or the first so many, in order. */
export async function readRows<K extends ListKind>(
  workers: Asked,
  kind: K,
  wanted: RowsWanted,
): Promise<RowTypes[K][]> {
  const { to, username, signal, rowsMax = Number.POSITIVE_INFINITY } = wanted;
  const rows: RowTypes[K][] = [];
  for (let { from } = wanted; ; ) {
    const bounds = { to, username, rowsMax: Math.min(sliceRows, rowsMax - rows.length) };
    const slices = (await ask(workers, 'list', [kind, from, bounds])).map(pageIn);
    const next = firstNext(slices);
    rows.push(...merged<K>(slices, next).slice(0, rowsMax - rows.length));
    if (next === undefined || rows.length >= rowsMax) return rows;
    from = next;
    // Where worker and management are one thread, others have their turn between two slices.
    await new Promise((resolve) => setImmediate(resolve));
    signal?.throwIfAborted();
  }
}

function pageIn({ columns, next }: ListSlice): ListPage {
  return { rows: rowsIn(columns), next };
}

/** All workers have told everything before it. */
function firstNext(slices: readonly ListPage[]): string | undefined {
  let first: string | undefined;
  for (const { next } of slices) {
    if (next !== undefined && (first === undefined || next < first)) first = next;
  }
  return first;
}

/** The rows before a key, in order. A session that moves from worker to worker may be in both. */
function merged<K extends ListKind>(
  slices: readonly ListPage[],
  before: string | undefined,
): RowTypes[K][] {
  const byKey = new Map<string, RowTypes[K]>();
  for (const { rows } of slices) {
    for (const row of rows as readonly RowTypes[K][]) {
      const key = rowKey(row);
      if (before === undefined || key < before) byKey.set(key, row);
    }
  }
  // Of one worker they are in order.
  if (slices.length === 1) return [...byKey.values()];
  return Array.from(byKey)
    .sort(([a], [b]) => byCodeUnit(a, b))
    .map(([, row]) => row);
}

const byCodeUnit = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

/** Of all workers, or nothing. */
async function ask<V extends 'list' | 'listStart' | 'listSamples' | 'listRanks'>(
  workers: Asked,
  verb: V,
  args: VerbArgs<V>,
): Promise<VerbAnswer<V>[]> {
  const { answers, missing } = await workers.everywhere(verb, args);
  const [lost] = missing;
  if (lost !== undefined) {
    const [name, reason] = lost;
    throw new ListUnanswered(`Cannot list ${args[0]}: ${name} did not answer: ${reason}`);
  }
  return answers.map(([, answer]) => answer);
}

/** The rows of one client, asked where its session is. */
export async function readClient<K extends Exclude<ListKind, 'routes'>>(
  workers: Pick<WorkersFace, 'atClient'>,
  kind: K,
  clientId: string,
): Promise<RowTypes[K][]> {
  const rows: RowTypes[K][] = [];
  const bounds = { to: behind(clientId) };
  for (let from: string | undefined = clientId; from !== undefined; ) {
    const found: ListSlice | undefined = await workers.atClient(clientId, 'list', [
      kind,
      from,
      bounds,
    ]);
    const slice: ListPage | undefined = found && pageIn(found);
    rows.push(...((slice?.rows ?? []) as RowTypes[K][]));
    from = slice?.next;
    if (from !== undefined) await new Promise((resolve) => setImmediate(resolve));
  }
  return rows;
}
