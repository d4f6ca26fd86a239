// Texts by what a reader calls a character: a letter with its accents, a flag, a family of emoji counts once.
// Cost: a text of ASCII is its own answer; any other is cut by the segmenter of the runtime, which takes less
// than half a microsecond a character.

const segmenter = new Intl.Segmenter('en', { granularity: 'grapheme' });
// NOTE CR LF is one grapheme.
const isSimple = /^[\0-\x7f]*$/;

export function graphemesOf(text: string): readonly string[] {
  if (isPlain(text)) return text.split('');
  return Array.from(segmenter.segment(text), ({ segment }) => segment);
}

export function graphemeCount(text: string): number {
  if (isPlain(text)) return text.length;
  let count = 0;
  for (const _ of segmenter.segment(text)) count++;
  return count;
}

/** `count`: undefined for all the rest. */
export function graphemeSlice(text: string, start: number, count: number | undefined): string {
  const end = count === undefined ? undefined : start + count;
  if (isPlain(text)) return text.slice(start, end);
  // No further than it has to: most want the beginning of a long text.
  let [place, from] = [0, text.length];
  for (const { index } of segmenter.segment(text)) {
    if (place === start) from = index;
    if (place === end) return text.slice(from, index);
    place++;
  }
  return text.slice(from);
}

function isPlain(text: string): boolean {
  return isSimple.test(text) && !text.includes('\r\n');
}
