// Where values come from, in the order in which they win: the main file, the plugins' files beside
// it, what was set while the broker ran (overrides.ts), the environment, the command line. Gives
// assignments as they were written; what they mean is load.ts' business.

import { readdirSync, readFileSync } from 'node:fs';
import { basename, dirname, join, relative } from 'node:path';
import type { ConfigProblem } from './config-error.ts';
import { hasNames } from './key.ts';
import type { KeyTable } from './key-table.ts';
import { nearest } from './nearest.ts';
import { parseConf } from './parse.ts';
import type { Source } from './values.ts';

export interface Assignment {
  readonly key: string;
  readonly value: string;
  /** Shown in errors and as the origin of the value. */
  readonly where: string;
  readonly source: Source;
}

export interface Gathered {
  readonly assignments: Assignment[];
  readonly problems: ConfigProblem[];
}

/** What the strongest of these sources says of a key, unchecked. */
export function lastOf(sources: readonly Gathered[], key: string): string | undefined {
  const all = sources.flatMap(({ assignments }) => assignments);
  return all.findLast((assignment) => assignment.key === key)?.value;
}

/** The main file, then `plugins/*.conf` beside it by name, but for those of `broken` plugins. */
export function fromFiles(configFile: string, broken: ReadonlySet<string>): Gathered {
  const files = pluginFiles(configFile).filter((file) => !broken.has(basename(file, '.conf')));
  const found = [configFile, ...files].map((file) => fromFile(file));
  return {
    assignments: found.flatMap(({ assignments }) => assignments),
    problems: found.flatMap(({ problems }) => problems),
  };
}

function pluginFiles(configFile: string): string[] {
  const directory = join(dirname(configFile), 'plugins');
  try {
    const names = readdirSync(directory).filter((name) => name.endsWith('.conf'));
    return names.sort().map((name) => join(directory, name));
  } catch (error) {
    // A configuration of one file alone is whole.
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}

export interface FileKind {
  readonly source: Source;
  /** A file that is not there says nothing. */
  readonly isOptional: boolean;
}

export function fromFile(
  file: string,
  { source, isOptional }: FileKind = { source: 'file', isOptional: false },
): Gathered {
  const shown = showPath(file);
  let content: string;
  try {
    content = readFileSync(file, 'utf8');
  } catch (error) {
    const reason = (error as NodeJS.ErrnoException).code ?? String(error);
    if (isOptional && reason === 'ENOENT') return { assignments: [], problems: [] };
    const text = `Cannot read the configuration file: ${reason === 'ENOENT' ? 'it does not exist' : reason}`;
    return { assignments: [], problems: [{ where: shown, key: '', text }] };
  }
  const { lines, bad } = parseConf(content);
  return {
    assignments: lines.map(({ line, key, value }) => {
      return { key, value, where: `${shown}:${line}`, source };
    }),
    problems: bad.map(({ line, key, text }) => ({ where: `${shown}:${line}`, key, text })),
  };
}

const prefix = 'BROKER_';

/** `BROKER_ZONE__EXTERNAL__MAX_INFLIGHT=64` → `zone.external.max_inflight`. */
export function fromEnvironment(
  env: Readonly<Record<string, string | undefined>>,
  keys: KeyTable,
): Gathered {
  const found: Gathered = { assignments: [], problems: [] };
  for (const [name, value] of Object.entries(env)) {
    if (!name.toUpperCase().startsWith(prefix) || value === undefined) continue;
    const key = name.slice(prefix.length).toLowerCase().replaceAll('__', '.');
    const where = `environment ${name}`;
    if (key.includes('.') || keys.find(key)) {
      found.assignments.push({ key, value, where, source: 'environment' });
      continue;
    }
    // Others use the prefix too: Kubernetes sets BROKER_PORT and the like for a service of that
    // name. Only what looks like a slip in one of our keys is an error.
    const meant = slipOf(key, keys);
    if (meant === undefined) continue;
    const text = `Cannot use ${name}: unknown key, did you mean ${variableOf(meant)}?`;
    found.problems.push({ where, key, text });
  }
  return found;
}

function slipOf(key: string, keys: KeyTable): string | undefined {
  const fixed = keys.all.map(({ pattern }) => pattern).filter((pattern) => !hasNames(pattern));
  const singleUnderscores = fixed.find((pattern) => pattern.replaceAll('.', '_') === key);
  return (
    singleUnderscores ??
    nearest(
      key,
      fixed.filter((pattern) => !pattern.includes('.')),
    )
  );
}

function variableOf(key: string): string {
  return prefix + key.replaceAll('.', '__').toUpperCase();
}

/** `--set key=value`, as often as wanted; the last one of a key wins. */
export function fromCommandLine(sets: readonly string[]): Gathered {
  const found: Gathered = { assignments: [], problems: [] };
  for (const set of sets) {
    const equals = set.indexOf('=');
    const key = set.slice(0, Math.max(0, equals)).trim();
    const value = set.slice(equals + 1).trim();
    if (equals > 0) {
      found.assignments.push({ key, value, where: '--set', source: 'command line' });
    } else
      found.problems.push({
        where: '--set',
        key: set,
        text: `Cannot read "${set}": expected key=value`,
      });
  }
  return found;
}

/** As somebody would write it who stands where the broker was started. */
export function showPath(file: string): string {
  const fromHere = relative(process.cwd(), file);
  return fromHere.startsWith('..') ? file : fromHere;
}
