// An ordered map: keys are strings compared by code unit, so that bytes written as latin1 stand in
// the order of bytes. Law: a chunk is never empty and never longer than `chunkMax`.

const chunkMax = 512;
/** A chunk that shrinks below this joins a neighbour, so that few keys never lie in many chunks. */
const chunkMin = chunkMax / 4;

interface Chunk<V> {
  readonly keys: string[];
  readonly values: V[];
}

/**
 *     chunks  [ a b d ]  [ e g h i ]  [ m p ]     keys ascending within a chunk and from one to the next
 *
 * Cost: get, set and delete search twice by halving and move at most a chunk; set and delete move
 * the list of chunks, too, when a chunk comes or goes: once in a hundred calls. Keys that arrive in
 * order fill their chunks.
 */
export class SortedMap<V> {
  readonly #chunks: Chunk<V>[] = [];
  #size = 0;

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
      this.#chunks.push({ keys: [key], values: [value] });
      this.#size += 1;
      return;
    }
    const at = lowerBound(chunk.keys, key);
    if (chunk.keys[at] === key) {
      chunk.values[at] = value;
      return;
    }
    this.#size += 1;
    if (chunk.keys.length < chunkMax) insert(chunk, at, key, value);
    else this.#insertSplitting(index, chunk, at, key, value);
  }

  /** False: there was none. */
  delete(key: string): boolean {
    const index = this.#chunkOf(key);
    const chunk = this.#chunks[index];
    if (!chunk) return false;
    const at = lowerBound(chunk.keys, key);
    if (chunk.keys[at] !== key) return false;
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
    // Nothing lies below in this chunk only when it is the first of all.
    return at > 0 ? keys[at - 1] : undefined;
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
    const behind = { keys: chunk.keys.splice(middle), values: chunk.values.splice(middle) };
    if (at >= middle) insert(behind, at - middle, key, value);
    else insert(chunk, at, key, value);
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
    this.#chunks.splice(index + 1, 1);
    return true;
  }
}

function insert<V>(chunk: Chunk<V>, at: number, key: string, value: V): void {
  chunk.keys.splice(at, 0, key);
  chunk.values.splice(at, 0, value);
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
