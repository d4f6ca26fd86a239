// Durations as people write them: numbers with d, h, m, s or ms, added up (`1h30m`). A bare number
// has no unit and is refused, except 0, which needs none.

const unitMs = { d: 86_400_000, h: 3_600_000, m: 60_000, s: 1000, ms: 1 } as const;
type Unit = keyof typeof unitMs;

/** Milliseconds, or undefined when the text is not a duration. */
export function parseDurationMs(text: string): number | undefined {
  if (text === '0') return 0;
  if (!/^(\d+(ms|[dhms]))+$/.test(text)) return undefined;
  let total = 0;
  for (const [, count = '', unit = ''] of text.matchAll(/(\d+)(ms|[dhms])/g)) {
    total += Number(count) * unitMs[unit as Unit];
  }
  return Number.isSafeInteger(total) ? total : undefined;
}

/** The shortest sum of units; what `parseDurationMs` reads back to the same number. */
export function formatDuration(ms: number): string {
  let left = Math.max(0, Math.round(ms));
  let text = '';
  for (const [unit, size] of Object.entries(unitMs)) {
    const count = Math.floor(left / size);
    if (count > 0) text += `${count}${unit}`;
    left -= count * size;
  }
  return text === '' ? '0' : text;
}
