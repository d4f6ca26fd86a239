// "Did you mean": the word of a list that is fewest slips of the finger away from another.

import { type Key, matchesSegment, showPattern, wordsOf } from './key.ts';

/** The closest word, when it is close enough to be what was meant. */
export function nearest(word: string, words: Iterable<string>): string | undefined {
  let best: string | undefined;
  let bestSlips = Math.max(2, Math.floor(word.length / 8)) + 1;
  for (const candidate of words) {
    const slips = slipsBetween(word, candidate);
    if (slips < bestSlips && slips < candidate.length) {
      best = candidate;
      bestSlips = slips;
    }
  }
  return best;
}

/** A key that was probably meant, with the names of the written one filled in. */
export function nearestKey(written: string, keys: readonly Key<unknown>[]): string | undefined {
  const lower = written.toLowerCase();
  const close = nearest(
    lower,
    keys.flatMap((key) => writtenLike(key.pattern, lower)),
  );
  if (close !== undefined) return close;
  // The right word under the wrong roof: mqtt.max_inflight for zone.<name>.max_inflight.
  const last = lower.split('.').at(-1);
  const sameEnd = keys.filter((key) => key.pattern.split('.').at(-1) === last);
  return sameEnd.length === 1 && sameEnd[0] ? showPattern(sameEnd[0].pattern) : undefined;
}

/** The keys of a pattern that have the names of the written key at their places. */
function writtenLike(pattern: string, written: string): string[] {
  const found = written.split('.');
  const wanted = pattern.split('.');
  if (wanted.length !== found.length) return [];
  let keys = [''];
  for (const [place, segment] of wanted.entries()) {
    const word = found[place] ?? '';
    const options = matchesSegment(segment, word) ? [word] : wordsOf(segment);
    keys = keys.flatMap((start) => options.map((o) => (start === '' ? o : `${start}.${o}`)));
  }
  return keys;
}

/**
 * Insertions, deletions, replacements and swaps of neighbours that turn one word into the other
 * (optimal string alignment). Cost: product of the lengths.
 */
export function slipsBetween(a: string, b: string): number {
  let twoAbove: number[] = [];
  let above = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const replaced = (above[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      let least = Math.min(replaced, (above[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1);
      const isSwap = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      if (isSwap) least = Math.min(least, (twoAbove[j - 2] ?? 0) + 1);
      row.push(least);
    }
    twoAbove = above;
    above = row;
  }
  return above[b.length] ?? 0;
}
