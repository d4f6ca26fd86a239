// The repository as the laws see it: a map from path to text. A law is a pure function of such a map
// that returns its violations in words, so that each law can be shown a planted tree that breaks it.

import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, posix } from 'node:path';
import { fileURLToPath } from 'node:url';

export type Tree = ReadonlyMap<string, string>;

export interface Import {
  readonly target: string;
  readonly line: number;
  readonly dynamic: boolean;
}

export const root: string = dirname(dirname(dirname(fileURLToPath(import.meta.url))));

/** Text files only; what .gitignore names is left out (its lines here are names and root paths). */
export function readTree(folder: string = root): Tree {
  const ignored = readFileSync(join(folder, '.gitignore'), 'utf8')
    .split('\n')
    .filter((line) => line.endsWith('/'))
    .map((line) => line.slice(0, -1));
  const tree = new Map<string, string>();
  const walk = (path: string): void => {
    for (const entry of readdirSync(join(folder, path), { withFileTypes: true })) {
      const inner = posix.join(path, entry.name);
      if (ignored.includes(entry.name) || ignored.includes(`/${inner}`)) continue;
      if (entry.isDirectory() && entry.name !== '.git') walk(inner);
      if (entry.isFile() && !entry.name.endsWith('.tmp')) {
        const bytes = readFileSync(join(folder, inner));
        if (!bytes.includes(0)) tree.set(inner, bytes.toString('utf8'));
      }
    }
  };
  walk('');
  return tree;
}

/** Paths below one of the folders, tests or not. */
export function filesOf(tree: Tree, folders: readonly string[], kind: 'code' | 'tests'): string[] {
  return [...tree.keys()].filter(
    (path) =>
      path.endsWith('.ts') &&
      folders.some((folder) => path.startsWith(`${folder}/`)) &&
      isTest(path) === (kind === 'tests'),
  );
}

/** Case tables are tests: each of their entries becomes one. */
export function isTest(path: string): boolean {
  return /\.test\.ts$|(^|\/)(cases|contract)(-[a-z-]+)?\.ts$/.test(path);
}

/** Static, type-only, re-exporting and dynamic imports alike: a ring of types is a ring. */
export function importsOf(text: string): Import[] {
  const code = withoutComments(text);
  return [...code.matchAll(importPattern)].map((match) => ({
    target: match[1] ?? match[2] ?? '',
    line: lineAt(code, match.index),
    dynamic: match[2] !== undefined,
  }));
}

const importPattern =
  /^(?:import|export)\b(?:[^;'"`]*?\bfrom)?\s*'([^']+)'|\bimport\(\s*'([^']+)'/gm;

/** Each violation on a line of its own: these messages are how a newcomer learns the law. */
export function assertNone(violations: readonly string[]): void {
  if (violations.length > 0) assert.fail(`\n${violations.join('\n')}`);
}

export function lineAt(text: string, index: number): number {
  return text.slice(0, index).split('\n').length;
}

/** Comments blanked out, lines kept. */
export function withoutComments(text: string): string {
  return text.replace(tokens, (token) => (/^\/[/*]/.test(token) ? blank(token) : token));
}

/** Comments and the insides of strings blanked out, lines kept: what is left is code. */
export function codeOnly(text: string): string {
  return text.replace(tokens, (token) =>
    /^\/[/*]/.test(token) ? blank(token) : token[0] + blank(token.slice(1, -1)) + token.at(-1),
  );
}

export interface Literal {
  /** Without quotes and escapes; what a template inserts is left as it is written. */
  readonly value: string;
  readonly line: number;
  /** Whether it is the first argument of `test`. */
  readonly isTitle: boolean;
}

export function stringsOf(text: string): Literal[] {
  return [...text.matchAll(tokens)]
    .filter(([token]) => /^['"`]/.test(token))
    .map((match) => ({
      value: match[0].slice(1, -1).replaceAll(/\\(.)/g, '$1'),
      line: lineAt(text, match.index),
      isTitle: /\b(?:test|it)\(\s*$/.test(text.slice(Math.max(0, match.index - 40), match.index)),
    }));
}

/**
 * Comments, strings and regular expressions, whichever begins first. A slash begins a regular
 * expression only after something that cannot end a value. NOTE a template inside the `${}` of a
 * template ends the outer one early; our formatter keeps both on one line, so the damage is local.
 */
const tokens =
  /\/\/[^\n]*|\/\*[\s\S]*?\*\/|'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"|`(?:\\[\s\S]|[^`\\])*`|(?<=[(,=:[!&|?{};>]\s*|return )\/(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\\n[])+\//g;

function blank(text: string): string {
  return text.replaceAll(/[^\n]/g, ' ');
}
