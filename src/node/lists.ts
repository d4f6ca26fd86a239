// The lists of a worker (connections, sessions, subscriptions, routes) as management reads them: a slice
// at a time, because a hundred thousand rows at once would hold up every client of the worker; and
// where the n-th row is, without reading those before it. Putting workers together: list-reader.ts.

import type { Broker } from '#core/broker';
import { type ListKind, type ListOrder, ordersOf } from './list-orders.ts';
import type { Row } from './list-rows.ts';

export interface ListPage {
  readonly rows: readonly Row[];
  /** Where the next slice begins; undefined: there is none. */
  readonly next: string | undefined;
}

export interface SliceBounds {
  /** Exclusive. */
  readonly to?: string | undefined;
  readonly rowsMax?: number | undefined;
  /** Only rows of this user. */
  readonly username?: string | undefined;
}

export interface ListStart {
  readonly total: number;
  /** Undefined: there are not so many rows. */
  readonly key: string | undefined;
}

export interface ListSamples {
  /** In order, and about equally far from each other. */
  readonly keys: readonly string[];
  /** These are all there are. */
  readonly isWhole: boolean;
}

/** Of a slice. */
export const sliceRows: number = 1000;
/** Entries that are looked at for it, shown or not. */
const sliceEntries = 10_000;
/** Time that it may take, looked at once for so many entries: some rows ask the disk. */
const sliceMs = 5;
const entriesPerLook = 32;
const samplesMax = 64;

export class Lists {
  readonly #broker: Broker;
  readonly #orders: Readonly<Record<ListKind, ListOrder>>;

  constructor(broker: Broker) {
    this.#broker = broker;
    this.#orders = ordersOf(broker);
  }

  /** What comes and goes between two slices may be seen or not; nothing is seen twice. */
  page(kind: ListKind, from = '', bounds: SliceBounds = {}): ListPage {
    const { to, username } = bounds;
    const rowsMax = Math.min(bounds.rowsMax ?? sliceRows, sliceRows);
    const { clock } = this.#broker.core;
    const untilMs = clock.monotonicMs() + sliceMs;
    const rows: Row[] = [];
    let next: string | undefined;
    let seen = 0;
    this.#orders[kind].visit(from, (key, rowOf) => {
      if (to !== undefined && key >= to) return false;
      const isLate = seen % entriesPerLook === entriesPerLook - 1 && clock.monotonicMs() > untilMs;
      if (rows.length >= rowsMax || seen >= sliceEntries || isLate) {
        next = key;
        return false;
      }
      seen++;
      const row = rowOf?.();
      if (row !== undefined && isOf(row, username)) rows.push(row);
      return true;
    });
    return { rows, next };
  }

  /** How many rows there are, and which is the n-th. */
  start(kind: ListKind, offset: number): ListStart {
    const order = this.#orders[kind];
    return { total: order.total(), key: order.keyAt(offset) };
  }

  /** Keys from one (included) to another (excluded), spread evenly. */
  samples(kind: ListKind, from: string, to: string | undefined): ListSamples {
    const order = this.#orders[kind];
    const first = order.rank(from);
    const count = (to === undefined ? order.total() : order.rank(to)) - first;
    const taken = Math.min(count, samplesMax);
    const keys: string[] = [];
    for (let i = 0; i < taken; i++) {
      const key = order.keyAt(first + Math.floor((i * count) / taken));
      if (key !== undefined) keys.push(key);
    }
    return { keys, isWhole: count <= samplesMax };
  }

  /** How many rows are before each of these keys. */
  ranks(kind: ListKind, keys: readonly string[]): number[] {
    const order = this.#orders[kind];
    return keys.map((key) => order.rank(key));
  }
}

function isOf(row: Row, username: string | undefined): boolean {
  return username === undefined || row['username'] === username;
}
