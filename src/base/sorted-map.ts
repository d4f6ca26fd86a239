// An ordered map: keys are strings compared by code unit, so that bytes written as latin1 stand in
// the order of bytes. Its entries can be counted up to a key and found by their number, also by weights.
// Laws: a chunk is never empty and never longer than `chunkMax`; its sums are those of its values.

const chunkMax = 512;
/** A chunk that shrinks below this joins a neighbour, so that few keys never lie in many chunks. */
const chunkMin = chunkMax / 4;

interface Chunk<V> {
  readonly keys: string[];
  readonly values: V[];
  /** By weight. */
  readonly sums: number[];
}

/** What one entry counts for; whoever changes that says so by `reweigh`. */
export type Weight<V> = (value: V) => number;

/** An entry, and how much lies before it. */
export interface Ranked<V> {
  readonly key: string;
  readonly value: V;
  readonly before: number;
}

/**
 *     chunks  [ a b d ]  [ e g h i ]  [ m p ]     keys ascending within a chunk and from one to the next
 *
 * Cost: get, set and delete search twice by halving and move at most a chunk; set and delete move
 * the list of chunks, too, when a chunk comes or goes: once in a hundred calls. Keys that arrive in
 * order fill their chunks. rank and at look at every chunk and at the entries of one.
 */
export class SortedMap<V> {
  readonly #chunks: Chunk<V>[] = [];
  readonly #weights: readonly Weight<V>[];
  #size = 0;

  /** With weights, values are objects of their own: none is set under two keys. */
  constructor(weights: readonly Weight<V>[] = []) {
    this.#weights = weights;
  }

  get size(): number {
    return this.#size;
  }

  get(key: string): V | undefined {
    const chunk = this.#chunks[this.#chunkOf(key)];
    if (!chunk) return undefined;
    const at = lowerBound(chunk.keys, key);
    return chunk.keys[at] === key ? chunk.values[at] : undefined;
  }

  has(key: string): boolean {
    const keys = this.#chunks[this.#chunkOf(key)]?.keys;
    return keys !== undefined && keys[lowerBound(keys, key)] === key;
  }

  set(key: string, value: V): void {
    const index = this.#chunkOf(key);
    const chunk = this.#chunks[index];
    if (!chunk) {
      this.#chunks.push(this.#chunk([key], [value]));
      this.#size += 1;
      return;
    }
    const at = lowerBound(chunk.keys, key);
    if (chunk.keys[at] === key) {
      this.#weigh(chunk, chunk.values[at] as V, -1);
      chunk.values[at] = value;
      this.#weigh(chunk, value, 1);
      return;
    }
    this.#size += 1;
    if (chunk.keys.length < chunkMax) this.#insert(chunk, at, key, value);
    else this.#insertSplitting(index, chunk, at, key, value);
  }

  /** False: there was none. */
  delete(key: string): boolean {
    const index = this.#chunkOf(key);
    const chunk = this.#chunks[index];
    if (!chunk) return false;
    const at = lowerBound(chunk.keys, key);
    if (chunk.keys[at] !== key) return false;
    this.#weigh(chunk, chunk.values[at] as V, -1);
    chunk.keys.splice(at, 1);
    chunk.values.splice(at, 1);
    this.#size -= 1;
    if (chunk.keys.length < chunkMin) this.#shrink(index, chunk);
    return true;
  }

  /**
   * Visits in order from `from` (included) to `to` (excluded; undefined: the end). A visit that
   * answers false is the last. The map may not be changed meanwhile.
   */
  visit(from: string, to: string | undefined, call: (key: string, value: V) => boolean): void {
    const first = this.#chunkOf(from);
    for (let index = first; index < this.#chunks.length; index += 1) {
      const { keys, values } = this.#chunks[index] as Chunk<V>;
      for (let at = index === first ? lowerBound(keys, from) : 0; at < keys.length; at += 1) {
        const key = keys[at] as string;
        if (to !== undefined && key >= to) return;
        if (!call(key, values[at] as V)) return;
      }
    }
  }

  /** The last key below the bound. */
  lastBelow(bound: string): string | undefined {
    const index = this.#chunkOf(bound);
    const keys = this.#chunks[index]?.keys;
    if (!keys) return undefined;
    const at = lowerBound(keys, bound);
    // The bound may be the very key that this chunk begins with.
    return at > 0 ? keys[at - 1] : this.#chunks[index - 1]?.keys.at(-1);
  }

  /** The weight of an entry has changed by so much. */
  reweigh(key: string, weight: number, by: number): void {
    const chunk = this.#chunks[this.#chunkOf(key)];
    if (chunk) chunk.sums[weight] = (chunk.sums[weight] as number) + by;
  }

  /** Of all entries; without a weight each counts one. */
  total(weight?: number): number {
    if (weight === undefined) return this.#size;
    let sum = 0;
    for (const { sums } of this.#chunks) sum += sums[weight] as number;
    return sum;
  }

  /** How much lies before a key, whether it is there or not. */
  rank(key: string, weight?: number): number {
    const index = this.#chunkOf(key);
    const chunk = this.#chunks[index];
    if (!chunk) return 0;
    let before = 0;
    for (let i = 0; i < index; i += 1) before += sumOf(this.#chunks[i] as Chunk<V>, weight);
    const end = lowerBound(chunk.keys, key);
    if (weight === undefined) return before + end;
    const weigh = this.#weights[weight] as Weight<V>;
    for (let at = 0; at < end; at += 1) before += weigh(chunk.values[at] as V);
    return before;
  }

  /** The entry that so much lies before, or the one that this falls into. */
  at(offset: number, weight?: number): Ranked<V> | undefined {
    let before = 0;
    for (const chunk of this.#chunks) {
      const sum = sumOf(chunk, weight);
      if (offset < before + sum) return this.#within(chunk, offset, before, weight);
      before += sum;
    }
    return undefined;
  }

  #within(chunk: Chunk<V>, offset: number, start: number, weight?: number): Ranked<V> | undefined {
    const { keys, values } = chunk;
    const weigh = weight === undefined ? one : (this.#weights[weight] as Weight<V>);
    let before = start;
    for (let at = 0; at < keys.length; at += 1) {
      const own = weigh(values[at] as V);
      if (offset < before + own) {
        return { key: keys[at] as string, value: values[at] as V, before };
      }
      before += own;
    }
    return undefined;
  }

  #chunk(keys: string[], values: V[]): Chunk<V> {
    const chunk = { keys, values, sums: this.#weights.map(() => 0) };
    for (const value of values) this.#weigh(chunk, value, 1);
    return chunk;
  }

  #weigh({ sums }: Chunk<V>, value: V, by: 1 | -1): void {
    const weights = this.#weights;
    for (let i = 0; i < weights.length; i += 1) {
      sums[i] = (sums[i] as number) + by * (weights[i] as Weight<V>)(value);
    }
  }

  #insert(chunk: Chunk<V>, at: number, key: string, value: V): void {
    chunk.keys.splice(at, 0, key);
    chunk.values.splice(at, 0, value);
    this.#weigh(chunk, value, 1);
  }

  /** The last chunk that begins at or before the key, the first one for a key before all others. */
  #chunkOf(key: string): number {
    const chunks = this.#chunks;
    let low = 0;
    let high = chunks.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >>> 1;
      if (((chunks[middle] as Chunk<V>).keys[0] as string) <= key) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  #insertSplitting(index: number, chunk: Chunk<V>, at: number, key: string, value: V): void {
    const isAppended = at === chunkMax && index === this.#chunks.length - 1;
    const middle = isAppended ? chunkMax : chunkMax / 2;
    const behind = this.#chunk(chunk.keys.splice(middle), chunk.values.splice(middle));
    addSums(chunk, behind, -1);
    if (at >= middle) this.#insert(behind, at - middle, key, value);
    else this.#insert(chunk, at, key, value);
    this.#chunks.splice(index + 1, 0, behind);
  }

  #shrink(index: number, chunk: Chunk<V>): void {
    if (chunk.keys.length === 0) {
      this.#chunks.splice(index, 1);
      return;
    }
    if (!this.#join(index)) this.#join(index - 1);
  }

  /** Joins a chunk and the one behind it where they leave room to grow. */
  #join(index: number): boolean {
    const chunk = this.#chunks[index];
    const behind = this.#chunks[index + 1];
    if (!chunk || !behind || chunk.keys.length + behind.keys.length > chunkMax / 2) return false;
    chunk.keys.push(...behind.keys);
    chunk.values.push(...behind.values);
    addSums(chunk, behind, 1);
    this.#chunks.splice(index + 1, 1);
    return true;
  }
}

const one = (): number => 1;

function addSums<V>({ sums }: Chunk<V>, other: Chunk<V>, by: 1 | -1): void {
  for (let i = 0; i < sums.length; i += 1) {
    sums[i] = (sums[i] as number) + by * (other.sums[i] as number);
  }
}

function sumOf<V>({ keys, sums }: Chunk<V>, weight: number | undefined): number {
  return weight === undefined ? keys.length : (sums[weight] as number);
}

/** The first place whose key is not below the one given. */
function lowerBound(keys: readonly string[], key: string): number {
  let low = 0;
  let high = keys.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((keys[middle] as string) < key) low = middle + 1;
    else high = middle;
  }
  return low;
}
