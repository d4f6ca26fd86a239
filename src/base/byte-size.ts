// Sizes as people write them: a whole number of bytes, or one with KB, MB or GB (1024 each step).

const unitBytes: Readonly<Record<string, number>> = {
  '': 1,
  KB: 1024,
  MB: 1024 ** 2,
  GB: 1024 ** 3,
};

/** Bytes, or undefined when the text is not a size. */
export function parseByteSize(text: string): number | undefined {
  const parts = /^(\d+)(KB|MB|GB)?$/i.exec(text);
  if (!parts) return undefined;
  const bytes = Number(parts[1]) * (unitBytes[(parts[2] ?? '').toUpperCase()] ?? Number.NaN);
  return Number.isSafeInteger(bytes) ? bytes : undefined;
}

/** The largest unit that divides the number; what `parseByteSize` reads back to the same number. */
export function formatByteSize(bytes: number): string {
  for (const unit of ['GB', 'MB', 'KB']) {
    const size = unitBytes[unit] ?? Number.NaN;
    if (bytes > 0 && bytes % size === 0) return `${bytes / size}${unit}`;
  }
  return String(bytes);
}
