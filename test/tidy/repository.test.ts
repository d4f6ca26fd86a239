// Laws of the repository as a whole: links lead somewhere, no text knows one particular machine, and
// what gets installed is exactly what was tested, on both kinds of CPU.

import assert from 'node:assert/strict';
import { posix } from 'node:path';
import test from 'node:test';
import { assertNone, lineAt, readTree, type Tree } from './tree.ts';

interface Manifest {
  readonly [group: string]: Readonly<Record<string, string>> | undefined;
}

interface Locked {
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

const tree = readTree();

test('links between files of the repository lead to a file', () => {
  assertNone(deadLinks(tree));
});

test('no text names a folder of one particular machine', () => {
  assertNone(machinePaths(tree));
});

test('package.json names exact versions', () => {
  assertNone(looseVersions(JSON.parse(tree.get('package.json') ?? '') as Manifest));
});

test('package-lock.json has both Linux CPUs for every native package', () => {
  const { packages } = JSON.parse(tree.get('package-lock.json') ?? '') as {
    packages: Record<string, Locked>;
  };
  assertNone(missingCpus(packages));
});

test('the law of links sees a file and a heading that are not there', () => {
  const planted = new Map([
    ['docs/a.md', '[x](missing.md) [y](../README.md#nowhere) `[code](no.md)`\n\n# Here'],
    ['docs/fine.md', '[x](../README.md#the-trip) [y](a.md) [z](https://example.org/) [h](#a)\n# A'],
    ['docs/folder.md', '[x](../docs/) [y](../src/)'],
    ['README.md', '# Read me\n## The trip\n'],
  ]);
  assert.deepEqual(deadLinks(planted), [
    'docs/a.md:1: "missing.md" leads nowhere; "docs/missing.md" does not exist',
    'docs/a.md:1: "../README.md#nowhere" leads nowhere; "README.md" has no such heading',
    'docs/folder.md:1: "../src/" leads nowhere; "src" does not exist',
  ]);
});

test('the law of machines sees a home folder', () => {
  const folder = ['', 'home', 'ann', 'broker'].join('/');
  assert.equal(machinePaths(new Map([['docs/a.md', `see ${folder}`]])).length, 1);
  assert.equal(machinePaths(new Map([['docs/a.md', 'see https://example.org/home/x']])).length, 0);
});

test('the law of versions sees a range', () => {
  const planted = {
    dependencies: { a: '1.2.3', b: '^1.2.3', c: '1.x' },
    devDependencies: { d: '*' },
  };
  assert.equal(looseVersions(planted).length, 3);
});

test('the law of CPUs sees a package that exists for one of them only', () => {
  const planted = {
    'node_modules/tool': { optionalDependencies: { 'tool-linux-x64': '1', 'tool-win32-x64': '1' } },
    'node_modules/tool-linux-x64': {},
    'node_modules/good': {
      optionalDependencies: { 'g-linux-x64-gnu': '1', 'g-linux-arm64-gnu': '1' },
    },
    'node_modules/g-linux-x64-gnu': {},
    'node_modules/g-linux-arm64-gnu': {},
  };
  assert.equal(missingCpus(planted).length, 1);
});

function deadLinks(files: Tree): string[] {
  const wrong: string[] = [];
  for (const [path, text] of files) {
    if (!path.endsWith('.md')) continue;
    const prose = text.replaceAll(/```[\s\S]*?```|`[^`\n]*`/g, (code) =>
      code.replaceAll(/[^\n]/g, ' '),
    );
    for (const match of prose.matchAll(/\]\(([^)\s]+)\)/g)) {
      const link = match[1] ?? '';
      if (/^[a-z]+:/.test(link)) continue;
      const [target = '', heading] = link.split('#');
      const file =
        target === '' ? path : posix.join(posix.dirname(path), target).replace(/\/$/, '');
      const why = linkObjection(files, file, heading);
      if (why !== undefined)
        wrong.push(`${path}:${lineAt(prose, match.index)}: "${link}" leads nowhere; ${why}`);
    }
  }
  return wrong;
}

function linkObjection(files: Tree, file: string, heading: string | undefined): string | undefined {
  const text = files.get(file);
  if (text === undefined) {
    const isFolder = file === '.' || [...files.keys()].some((path) => path.startsWith(`${file}/`));
    return isFolder ? undefined : `"${file}" does not exist`;
  }
  if (heading === undefined || !file.endsWith('.md')) return undefined;
  const headings = [...text.matchAll(/^#+ (.*)$/gm)].map(([, words = '']) =>
    words
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
      .replaceAll(' ', '-'),
  );
  return headings.includes(heading) ? undefined : `"${file}" has no such heading`;
}

/** The folders are spelled in parts, so that this file keeps its own law. */
function machinePaths(files: Tree): string[] {
  const pattern = new RegExp(
    `(?<![\\w.:/-])/(?:${['work', 'root', 'home', 'Users'].join('|')})/`,
    'g',
  );
  return [...files].flatMap(([path, text]) =>
    [...text.matchAll(pattern)].map(
      (match) => `${path}:${lineAt(text, match.index)}: write a path relative to the repository`,
    ),
  );
}

function looseVersions(manifest: Manifest): string[] {
  return ['dependencies', 'optionalDependencies', 'devDependencies'].flatMap((group) =>
    Object.entries(manifest[group] ?? {})
      .filter(([, version]) => !/^\d+\.\d+\.\d+$/.test(version))
      .map(([name, version]) => `package.json: ${name} is "${version}"; pin one version`),
  );
}

/**
 * npm leaves a package that the registry lacks for another CPU out of the lock without a word, and
 * the other machine finds out. So: what a package offers for one Linux CPU must be locked for both.
 */
function missingCpus(packages: Readonly<Record<string, Locked>>): string[] {
  const locked = new Set(Object.keys(packages).map((path) => path.split('node_modules/').at(-1)));
  return Object.entries(packages).flatMap(([path, { optionalDependencies = {} }]) =>
    Object.keys(optionalDependencies)
      .filter((name) => /linux-(x64|arm64)/.test(name))
      .flatMap((name) => [name.replace('arm64', 'x64'), name.replace('x64', 'arm64')])
      .filter((name, at, all) => all.indexOf(name) === at && !locked.has(name))
      .map(
        (name) =>
          `package-lock.json: ${path || 'the project'} lacks ${name}; choose a version that has it`,
      ),
  );
}
