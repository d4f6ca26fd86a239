// Laws of the single file: what it begins with, what it is called, what it must not contain.

import assert from 'node:assert/strict';
import { basename } from 'node:path';
import test from 'node:test';
import { assertNone, codeOnly, filesOf, isTest, lineAt, readTree, type Tree } from './tree.ts';

type Law = (path: string, text: string) => string[];

const tree = readTree();
const folders = ['src', 'plugins', 'test', 'bench', 'scripts'];

test('every source file begins with a comment that says what lives there', () => {
  assertNone(apply(tree, header));
});

test('every source file is named after a thing of the domain', () => {
  assertNone(apply(tree, name));
});

test('no source file has more than 400 lines', () => {
  assertNone(apply(tree, length));
});

test('no file uses any, .only, console where it does not belong, or leaves work undone', () => {
  assertNone([...apply(tree, words), ...apply(tree, undone)]);
});

test('the law of headers sees a file that begins with code', () => {
  const planted = new Map([
    ['src/core/bare.ts', "import 'node:fs';\n"],
    ['src/core/fine.ts', "// What lives here.\n\nimport 'node:fs';\n"],
    ['src/core/fine.test.ts', "import 'node:fs';\n"],
    ['src/core/block.ts', '/* What lives here. */\n'],
  ]);
  assert.deepEqual(pathsOf(apply(planted, header)), ['src/core/bare.ts']);
});

test('the law of names sees drawers for everything and capital letters', () => {
  const planted = ['utils', 'helpers', 'common', 'index', 'types', 'Session', 'filter-trie'];
  const files = new Map(planted.map((word) => [`src/core/${word}.ts`, '']));
  assert.equal(apply(files, name).length, 6);
});

test('the law of length sees a long file, and lets tables of cases be', () => {
  const long = '// x\n'.repeat(401);
  const planted = new Map([
    ['src/core/long.ts', long],
    ['src/wire/cases-connect.ts', long],
    ['src/core/fine.ts', '// x\n'.repeat(400)],
  ]);
  assert.deepEqual(pathsOf(apply(planted, length)), ['src/core/long.ts']);
});

test('the law of words sees any, .only and console in code, not in comments and strings', () => {
  const planted = new Map([
    ['src/core/a.ts', 'const x = y as any;'],
    ['src/core/b.ts', 'function f(x: any): void {}'],
    ['src/core/c.ts', 'const x: Map<string, any> = y;'],
    ['src/core/d.ts', "console.log('x');"],
    ['src/core/e.test.ts', "test.only('x', () => {});"],
    ['src/core/f.test.ts', "test('x', { only: true }, () => {});"],
    ['src/cli/fine.ts', "console.log('as any');"],
    ['src/core/fine.ts', "// console.log, : any\nconst many: Many = 'console.log(x as any)';"],
  ]);
  const letters = ['a.ts', 'b.ts', 'c.ts', 'd.ts', 'e.test.ts', 'f.test.ts'];
  assert.deepEqual(
    pathsOf(apply(planted, words)),
    letters.map((file) => `src/core/${file}`),
  );
});

test('the law of finished work sees a note to the future', () => {
  const marker = ['TO', 'DO'].join('');
  const planted = new Map([
    ['src/core/later.ts', `// ${marker}: the rest`],
    ['src/core/fine.ts', '// NOTE a trap'],
  ]);
  assert.deepEqual(pathsOf(apply(planted, undone)), ['src/core/later.ts']);
});

/** The subject of a test file is its neighbour, which says it. */
function header(path: string, text: string): string[] {
  if (path.endsWith('.test.ts') || /^(#!.*\n)?\/[/*]/.test(text)) return [];
  return [
    `${path}: begin with a comment of one to five lines: what lives here, which law it keeps`,
  ];
}

function name(path: string): string[] {
  const word = basename(path).replace(/(\.test)?\.ts$/, '');
  if (/^(utils?|helpers?|common|index|types|misc|shared)$/.test(word)) {
    return [
      `${path}: "${word}" is a drawer, not a subject; put each thing with the code that makes it`,
    ];
  }
  if (!/^[a-z0-9]+(-[a-z0-9]+)*$/.test(word)) return [`${path}: write file names in kebab-case`];
  return [];
}

function length(path: string, text: string): string[] {
  const lines = text.split('\n').length - 1;
  if (lines <= 400 || isTest(path)) return [];
  return [
    `${path}: ${lines} lines, 400 is the ceiling; find the second subject in it and move it out`,
  ];
}

function words(path: string, text: string): string[] {
  const code = codeOnly(text);
  const found = (pattern: RegExp, advice: string): string[] =>
    [...code.matchAll(pattern)].map((match) => `${path}:${lineAt(code, match.index)}: ${advice}`);
  const mayPrint = /^(src\/cli|bench|scripts)\/|^src\/banner\.ts$/.test(path);
  return [
    ...found(
      /\bas any\b|(?<=[:<,|&]\s*)any\b(?=\s*[>,;)=[\]|&{\n])/g,
      'write "unknown" and narrow it where the value enters',
    ),
    ...found(/\.only\(|\bonly: true\b/g, 'take ".only" out: it silences every other test'),
    ...(mayPrint ? [] : found(/\bconsole\./g, 'log through the Logger that was handed in')),
  ];
}

/** Here the comments are what matters. The pattern does not contain itself. */
function undone(path: string, text: string): string[] {
  return [...text.matchAll(/\b(?:TOD[O]|FIXM[E]|XX[X]|HAC[K])\b/g)].map(
    (match) =>
      `${path}:${lineAt(text, match.index)}: finish it, or open an issue and leave no mark`,
  );
}

function apply(files: Tree, law: Law): string[] {
  const sources = law === words || law === undone ? folders : ['src', 'plugins'];
  const paths = [...filesOf(files, sources, 'code'), ...filesOf(files, sources, 'tests')];
  return paths.flatMap((path) => law(path, files.get(path) ?? ''));
}

function pathsOf(violations: readonly string[]): string[] {
  return violations.map((violation) => violation.split(':')[0] ?? '').sort();
}
