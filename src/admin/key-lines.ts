// Lines `key        : value`, as many commands print them: the value stands behind a column of keys.

export function keyLine(key: string, value: string | number, columns: number): string {
  return `${key.padEnd(columns)}: ${value}`;
}

/** By key. */
export function sortedKeyLines(
  values: Readonly<Record<string, string | number>>,
  columns: number,
): string {
  return Object.entries(values)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, value]) => keyLine(key, value, columns))
    .join('\n');
}
