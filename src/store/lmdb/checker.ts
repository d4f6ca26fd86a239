// The program of `check.ts`: reads every record of a store, without writing, and compares with what
// the tables say of themselves. It may die of what it reads; that is why it is a process of its own.
// Ends with 0: in order; 3: damaged, and the finding on standard output; else: it could not tell.

import { invariant } from '#base/assert';
import { damageOf } from './damage.ts';
import { openForKeys, openRoot, recordCount, type TableDatabase } from './environment.ts';

const damagedExit = 3;

function findingOf(dir: string): string | undefined {
  const root = openRoot(dir, 'read');
  const names: string[] = [];
  // Names end with a zero byte, as C writes them.
  const add = (key: Buffer): unknown => names.push(key.toString().replace('\0', ''));
  try {
    const inRoot = walk(root, 'list of tables', add);
    if (inRoot !== undefined) return inRoot;
    for (const name of names) {
      const finding = walk(openForKeys(root, name), `table ${name}`);
      if (finding !== undefined) return finding;
    }
    return undefined;
  } catch (error) {
    return `reading it failed: ${(error as Error).message}`;
  }
}

function walk(
  table: TableDatabase,
  title: string,
  visit?: (key: Buffer) => unknown,
): string | undefined {
  const expected = recordCount(table);
  let count = 0;
  let last: Buffer = Buffer.alloc(0);
  // Values are read, too: they may lie on pages of their own.
  for (const { key } of table.getRange({})) {
    if (count > 0 && Buffer.compare(last, key) >= 0) return `the ${title} is not in order`;
    last = key;
    count += 1;
    // A wrong page may lead in circles.
    if (count > expected) break;
    visit?.(key);
  }
  if (count === expected) return undefined;
  const found = count > expected ? `more than ${expected}` : String(count);
  return `the ${title} has ${found} records, it says ${expected}`;
}

const dir = process.argv[2];
invariant(dir !== undefined, 'checker.ts is given a directory');
try {
  const finding = findingOf(dir);
  if (finding !== undefined) {
    process.stdout.write(finding);
    process.exitCode = damagedExit;
  }
} catch (error) {
  process.stdout.write(damageOf(error)?.message ?? String(error));
  process.exitCode = damageOf(error) ? damagedExit : 1;
}
