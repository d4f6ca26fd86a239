// Finds what matches a filter among the keys of the retained table, which stand level by level
// (keys.ts), without looking at most of the others. Law: no leap passes a match.

import { isLong, levelEndByte, retainedKey } from './keys.ts';

const dollar = 0x24;
const pastDollar: Buffer = Buffer.of(dollar + 1);
/** The least byte that can continue a level. */
const leastByte = 0x01;
const lowestKey: Buffer = Buffer.of(levelEndByte);
/** Behind all keys: no text begins with such a byte. */
const pastAll: Buffer = Buffer.of(0xff);
const noBytes: Buffer = Buffer.alloc(0);

/**
 * Where a key does not match, the level that failed says which is the lowest key that still can:
 *
 *   a␀1␀x   a␀1␀y   a␀1␀z   a␀2   a␀2␀x   a␀2␀y   a␀3!   b␀1␀y        filter a/+/y
 *     └───────┴✓──────┴───────┴─────┴───────┴✓──────┴──────┘ no more
 *
 * a later one under the same levels (a␀1␀x → a␀1␀y), or the next sibling at the last `+` before the
 * level that failed (a␀1␀z → a␀1\x01, which is past all of `a/1/…`).
 */
export class FilterScan {
  /** A `+` is null; a `#` at the end is `#takesRest`. */
  readonly #levels: readonly (Buffer | null)[];
  readonly #takesRest: boolean;
  /**
   * `#runs[i]`: the literal levels from i on to the next wildcard, as they stand in a key. Those up to
   * one wildcard share their memory: a filter may have as many levels as it has bytes.
   */
  readonly #runs: readonly Buffer[];
  /** The lowest key that can match. */
  readonly first: Buffer;
  /** After `matches` said no: the lowest key behind that one that can match; undefined: none. */
  next: Buffer | undefined;

  /** A filter without fault and without the prefix of a shared subscription. */
  constructor(filter: string) {
    const levels = filter.split('/');
    this.#takesRest = levels.at(-1) === '#';
    if (this.#takesRest) levels.pop();
    this.#levels = levels.map((level) => (level === '+' ? null : retainedKey(level)));
    this.#runs = runsOf(levels);
    const start = this.#runs[0] ?? noBytes;
    if (start.length === 0) this.first = lowestKey;
    else this.first = isLong(start) ? pastAll : start;
  }

  /** Whether a key's topic is among those that the filter stands for. */
  matches(key: Buffer): boolean {
    const levels = this.#levels;
    // [MQTT-4.7.2-1]
    if (key[0] === dollar && (levels[0] ?? null) === null) return this.#leap(pastDollar);
    let plusEnd = -1;
    let at = 0;
    for (let i = 0; i < levels.length; i++) {
      if (at > key.length) return this.#leapUnder(key, key.length, i, plusEnd);
      const level = levels[i] as Buffer | null;
      if (level === null) {
        at = plusEnd = levelEnd(key, at);
      } else {
        const order = compareLevel(key, at, level);
        if (order < 0) return this.#leapUnder(key, at - 1, i, plusEnd);
        if (order > 0) return this.#leapToSibling(key, plusEnd);
        at += level.length;
      }
      at++;
    }
    if (at > key.length || this.#takesRest) return true;
    return this.#leapToSibling(key, plusEnd);
  }

  /**
   * To the lowest match below the first `end` bytes of a key, which are the levels before level i. Where
   * no key is so long, there is none below them.
   */
  #leapUnder(key: Buffer, end: number, i: number, plusEnd: number): false {
    const run = this.#runs[i] as Buffer;
    if (end < 0) return this.#leap(isLong(run) ? undefined : run);
    const target = Buffer.allocUnsafe(end + 1 + run.length);
    if (isLong(target)) return this.#leapToSibling(key, plusEnd);
    target.set(key.subarray(0, end));
    target[end] = levelEndByte;
    target.set(run, end + 1);
    return this.#leap(target);
  }

  #leapToSibling(key: Buffer, plusEnd: number): false {
    if (plusEnd < 0) return this.#leap(undefined);
    const target = Buffer.allocUnsafe(plusEnd + 1);
    target.set(key.subarray(0, plusEnd));
    target[plusEnd] = leastByte;
    return this.#leap(target);
  }

  #leap(target: Buffer | undefined): false {
    this.next = target;
    return false;
  }
}

/** With the end of the last level where a `+` follows: what matches is longer then. */
function runsOf(levels: readonly string[]): Buffer[] {
  const runs: Buffer[] = [];
  while (runs.length < levels.length) {
    const from = runs.length;
    const plus = levels.indexOf('+', from);
    const literal = levels.slice(from, plus < 0 ? levels.length : plus);
    let rest = retainedKey(plus < 0 ? literal.join('/') : [...literal, ''].join('/'));
    for (const level of literal) {
      runs.push(rest);
      rest = rest.subarray(Buffer.byteLength(level) + 1);
    }
    if (plus >= 0) runs.push(noBytes);
  }
  return runs;
}

function levelEnd(key: Buffer, start: number): number {
  let at = start;
  while (at < key.length && key[at] !== levelEndByte) at++;
  return at;
}

/** How the level of the key that begins at `start` compares with another one. */
function compareLevel(key: Buffer, start: number, level: Buffer): number {
  let i = 0;
  while (i < level.length && key[start + i] === level[i]) i++;
  const at = start + i;
  const keyByte = at < key.length ? (key[at] as number) : levelEndByte;
  const levelByte = i < level.length ? (level[i] as number) : levelEndByte;
  return keyByte - levelByte;
}
