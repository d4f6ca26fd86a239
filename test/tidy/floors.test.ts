// The floors of ARCHITECTURE.md, held by force: a file sees the floors below its own and its own
// folder. Types obey too, because a ring made of types is a ring.

import assert from 'node:assert/strict';
import { posix } from 'node:path';
import test from 'node:test';
import { assertNone, filesOf, importsOf, readTree, type Tree } from './tree.ts';

/** From the ground up; folders on one floor are strangers to each other. */
const floors = [
  'base',
  'wire topics config',
  'hooks',
  'core',
  'net store access observe modules',
  'cluster plugin rules',
  'node',
  'admin bridge',
  'host http',
];
const levelOf = new Map(
  floors.flatMap((names, level) => names.split(' ').map((name) => [name, level] as const)),
);

/** Folders that see less than everything below them. */
const sees = new Map([['cli', ['base', 'config', 'plugin']]]);

/** Packages by the folder that may know them; the others speak to that folder. */
const packages = new Map([
  ['base', ['pino']],
  ['net', ['ws']],
  ['access', ['bcryptjs']],
  ['store', ['lmdb']],
  ['admin', ['typebox', 'typebox/value']],
  ['http', ['fastify']],
]);

/** The one way up: the command line starts the broker in its own process when asked to. */
const stairs = { from: 'src/cli/', to: 'src/main.ts' };

const tree = readTree();

test('a file imports only from floors below its own', () => {
  assertNone(floorViolations(tree));
});

test('no files import each other in a ring, types included', () => {
  assertNone(rings(tree));
});

test('the floor law sees a way up, a stranger, a detour and an unknown package', () => {
  const planted = new Map([
    ['src/wire/up.ts', "import type { Broker } from '#core/broker';"],
    ['src/net/stranger.ts', "import { Store } from '#store/memory';"],
    ['src/core/detour.ts', "export { x } from '../wire/packet.ts';"],
    ['src/core/detour-home.ts', "import '#core/broker';"],
    ['src/core/package.ts', "import ws from 'ws';"],
    ['src/cli/curious.ts', "import { x } from '#core/broker';"],
    ['src/cli/static.ts', "import { main } from '../main.ts';"],
    ['src/cli/fine.ts', "const { main } = await import('../main.ts');"],
    ['src/attic/new.ts', "import { x } from '#base/assert';"],
    [
      'src/core/fine.ts',
      "import { x } from '#base/assert';\n// from '#net/tcp'\nimport 'node:fs';",
    ],
    ['src/core/fine.test.ts', "import { x } from '#net/tcp';"],
    ['src/main.ts', "import { x } from '#net/tcp';"],
  ]);
  const found = floorViolations(planted).map((violation) => violation.split(':')[0]);
  assert.deepEqual(found, [
    'src/wire/up.ts',
    'src/net/stranger.ts',
    'src/core/detour.ts',
    'src/core/detour-home.ts',
    'src/core/package.ts',
    'src/cli/curious.ts',
    'src/cli/static.ts',
    'src/attic/new.ts',
  ]);
});

test('the ring law sees a ring of types over two folders', () => {
  const planted = new Map([
    ['src/core/a.ts', "import type { B } from './b.ts';"],
    ['src/core/b.ts', "import { c } from '#wire/c';"],
    ['src/wire/c.ts', "import type { A } from '#core/a';"],
    ['src/wire/d.ts', "import type { A } from '#core/a';"],
  ]);
  assert.deepEqual(rings(planted), [
    'src/core/a.ts → src/core/b.ts → src/wire/c.ts → src/core/a.ts',
  ]);
});

function floorViolations(files: Tree): string[] {
  const wrong: string[] = [];
  for (const file of filesOf(files, ['src'], 'code')) {
    const home = folderOf(file);
    if (home === undefined) continue; // The roof: main.ts and its neighbours may import anything.
    for (const { target, line, dynamic } of importsOf(files.get(file) ?? '')) {
      const why = objection(file, home, target, dynamic);
      if (why !== undefined) wrong.push(`${file}:${line} imports "${target}": ${why}`);
    }
  }
  return wrong;
}

function objection(
  file: string,
  home: string,
  target: string,
  dynamic: boolean,
): string | undefined {
  if (target.startsWith('node:')) return undefined;
  if (target.startsWith('.')) {
    const path = posix.join(posix.dirname(file), target);
    if (path.startsWith(`src/${home}/`)) return undefined;
    if (dynamic && file.startsWith(stairs.from) && path === stairs.to) return undefined;
    return 'write "#floor/file" for another folder, so that the eye sees the crossing';
  }
  if (!target.startsWith('#')) {
    if (packages.get(home)?.includes(target)) return undefined;
    return `src/${home} knows no such package; ask a folder that does, or write an ADR and add it here`;
  }
  const other = target.slice(1).split('/')[0] ?? '';
  if (other === home) return 'write a relative path inside one folder';
  const allowed = sees.get(home);
  if (allowed !== undefined) {
    return allowed.includes(other) ? undefined : `src/${home} sees only ${allowed.join(' and ')}`;
  }
  const level = levelOf.get(home);
  const levelOther = levelOf.get(other);
  if (level === undefined)
    return `src/${home} is on no floor; give it one in ${posix.basename(import.meta.filename)}`;
  if (levelOther === undefined) return `#${other} is on no floor`;
  if (levelOther > level)
    return `${other} is above ${home}; name what you need as a port and let main.ts hand it in`;
  if (levelOther === level)
    return `${other} and ${home} are strangers on one floor; meet in core/ports.ts`;
  return undefined;
}

/** Undefined for files directly in src/. */
function folderOf(file: string): string | undefined {
  const parts = file.split('/');
  return parts.length > 2 ? parts[1] : undefined;
}

function rings(files: Tree): string[] {
  const code = filesOf(files, ['src'], 'code');
  const next = new Map(
    code.map((file) => [
      file,
      importsOf(files.get(file) ?? '').map(({ target }) => resolve(file, target)),
    ]),
  );
  const found: string[] = [];
  const done = new Set<string>();
  const visit = (file: string, path: readonly string[]): void => {
    const at = path.indexOf(file);
    if (at >= 0) found.push([...path.slice(at), file].join(' → '));
    if (at >= 0 || done.has(file)) return;
    for (const target of next.get(file) ?? []) visit(target, [...path, file]);
    done.add(file);
  };
  for (const file of code) visit(file, []);
  return found;
}

function resolve(file: string, target: string): string {
  if (target === '#sdk') return 'src/sdk.ts';
  if (target.startsWith('#')) return `src/${target.slice(1)}.ts`;
  return target.startsWith('.') ? posix.join(posix.dirname(file), target) : target;
}
