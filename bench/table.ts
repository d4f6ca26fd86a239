// The comparison as Markdown: loads that are judged by the same figures share a table, a figure has
// a column per broker and, beside them, the ratio with its bar. Where that would be too wide, each
// figure is a row.

import { type Bar, type Figure, figures, type Outcome } from './load.ts';
import { ratioOf, type Row, type Verdict, verdictOf } from './summary.ts';

/** More would not fit side by side. */
const columnsMax = 4;
const marks: Readonly<Record<Verdict, string>> = { reached: '★', passed: '✓', failed: '✗' };

export function renderTables(rows: readonly Row[]): string {
  const groups = Map.groupBy(rows, (row) => row.load.figures.join());
  const tables = [...groups.values()].flatMap((alike) =>
    (alike[0]?.load.figures.length ?? 0) > columnsMax
      ? alike.map(renderUpright)
      : renderTable(alike),
  );
  const legend =
    'Ratios: above 1 is in our favour. ★ reach, ✓ bar, ✗ below the bar. CPU µs: processor time ' +
    'of the broker per message in or out, per PUBACK, per connection, or per subscription.';
  return [...tables, ...renderRemarks(rows), legend].join('\n\n');
}

/** One run as a line of progress. */
export function renderOutcome({ figures: found, lost, extra, notes, busy }: Outcome): string {
  const parts = (Object.keys(found) as Figure[]).map(
    (figure) => `${format(figure, found[figure])} ${figures[figure].heading}`,
  );
  if (busy !== undefined) {
    const percent = (share: number): string => `${Math.round(share * 100)} %`;
    parts.push(`busy: broker ${percent(busy.broker)}, generator ${percent(busy.generator)}`);
  }
  if (lost > 0) parts.push(`LOST ${lost}`);
  if (extra > 0) parts.push(`${extra} too many`);
  return [...parts, ...notes].join('; ');
}

function renderTable(rows: readonly Row[]): string {
  const columns = rows[0]?.load.figures ?? [];
  const heads = columns.flatMap((figure) => {
    const { heading } = figures[figure];
    const judged = isJudged(rows, figure) ? ['ratio (bar, reach)'] : [];
    return [`${heading}, ours`, 'Mosquitto', ...judged];
  });
  const body = rows.map((row) => [
    `${row.name}: ${row.load.title}`,
    ...columns.flatMap((figure) => {
      const cells = [row.medians.ours?.[figure], row.medians.mosquitto?.[figure]];
      const judged = isJudged(rows, figure) ? [verdictCell(row, figure)] : [];
      return [...cells.map((value) => format(figure, value)), ...judged];
    }),
  ]);
  return markdown([['load', ...heads], ...body]);
}

function renderUpright(row: Row): string {
  const body = row.load.figures.map((figure) => [
    figures[figure].heading,
    format(figure, row.medians.ours?.[figure]),
    format(figure, row.medians.mosquitto?.[figure]),
    verdictCell(row, figure),
  ]);
  const title = `${row.name}: ${row.load.title}`;
  return markdown([[title, 'ours', 'Mosquitto', 'ratio (bar, reach)'], ...body]);
}

/** Latency has no bar; its ratio would only widen the table. */
function isJudged(rows: readonly Row[], figure: Figure): boolean {
  return figures[figure].unit !== 'ms' || rows.some((row) => row.load.bars[figure] !== undefined);
}

function verdictCell(row: Row, figure: Figure): string {
  const ratio = ratioOf(row, figure);
  const verdict = verdictOf(row, figure);
  const bar = row.load.bars[figure];
  const parts = [Number.isFinite(ratio) ? `${ratio?.toFixed(2)}×` : '–'];
  if (bar !== undefined) parts.push(describe(figure, bar));
  if (verdict !== undefined) parts.push(marks[verdict]);
  return parts.join(' ');
}

function describe(figure: Figure, { kind, bar, reach }: Bar): string {
  const write = (limit: number): string =>
    figures[figure].unit === 'bytes' && kind !== 'ratio' ? format(figure, limit) : String(limit);
  const limits = reach === undefined ? write(bar) : `${write(bar)}, ${write(reach)}`;
  return kind === 'ratio' ? `(${limits})` : `(${kind === 'atMost' ? '≤' : '≥'} ${limits})`;
}

export function format(figure: Figure, value: number | undefined): string {
  if (value === undefined || !Number.isFinite(value)) return '–';
  switch (figures[figure].unit) {
    case 'count':
      return Math.round(value).toLocaleString('en-US').replaceAll(',', ' ');
    case 'bytes':
      return value < 10 * 1024 ** 2
        ? `${(value / 1024).toFixed(1)} KB`
        : `${(value / 1024 ** 2).toFixed(0)} MB`;
    case 'times':
      return `${value.toFixed(2)}×`;
    case '%':
      return `${value.toFixed(1)} %`;
    case 'µs':
    case 'ms':
      return value.toFixed(2);
  }
}

function renderRemarks(rows: readonly Row[]): string[] {
  const lines = rows.flatMap((row) => row.remarks.map((remark) => `- ${row.name}, ${remark}`));
  return lines.length > 0 ? [lines.join('\n')] : [];
}

export function markdown([head = [], ...body]: readonly string[][]): string {
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
  const rule = head.map((_, column) => (column === 0 ? '---' : '---:'));
  return [head, rule, ...body].map(line).join('\n');
}
