// How much is loaded before the node listens: every file costs each start, and each thread that loads it. What
// only management needs comes by import() when clients are let in already.

import assert from 'node:assert/strict';
import { posix } from 'node:path';
import test from 'node:test';
import { assertNone, importsOf, readTree, type Tree } from './tree.ts';

/** What must not be loaded, and what is done instead. */
const heavy: ReadonlyMap<string, string> = new Map([
  ['typebox', 'schemas belong to operations, which are loaded when management is'],
  ['fastify', 'management is loaded when the node listens'],
  ['node:http', 'take it from #base/node-http, or load what needs it later'],
  ['src/sdk-operations.ts', 'operations are loaded when management is'],
  ['src/sdk-rules.ts', 'loadRules of #sdk loads it'],
  ['src/sdk-rule-worker.ts', 'loadRuleWorker of #sdk loads it'],
]);

/** Workers are told their settings, and read none. */
const heavyInWorkers: ReadonlyMap<string, string> = new Map([
  ...heavy,
  ['src/config/load.ts', 'workers are told their settings'],
]);

/** What the control thread loads at every start. */
const control = [
  'src/cli/broker.ts',
  'src/main.ts',
  'src/node/thread-node.ts',
  'src/node/single-node.ts',
];
/** Of the plugins that run without a word. */
const loadedPlugins = ['broker_recon', 'broker_rule_engine'];

const tree = readTree();

test('nothing that only management needs is loaded before the node listens', () => {
  const parts = loadedPlugins.map((plugin) => `plugins/${plugin}/control.ts`);
  const heads = [...tree.keys()].filter((path) => /^plugins\/\w+\/plugin\.ts$/.test(path));
  assertNone(loadedBy(tree, [...control, ...heads, ...parts], heavy));
});

test('a worker loads neither the configuration nor what only management or rules need', () => {
  const parts = loadedPlugins.flatMap((plugin) =>
    ['plugin.ts', 'worker.ts'].map((file) => `plugins/${plugin}/${file}`),
  );
  assertNone(loadedBy(tree, ['src/node/worker.ts', ...parts], heavyInWorkers));
});

test('the law of starts sees a way over several files, and neither types nor what is loaded later', () => {
  const planted = new Map([
    ['src/main.ts', "import { a } from './a.ts';\nimport type { T } from 'typebox';"],
    ['src/a.ts', "export { b } from '#base/b';\nconst late = () => import('fastify');"],
    ['src/base/b.ts', "import {\n  createServer,\n} from 'node:http';"],
  ]);
  assert.deepEqual(loadedBy(planted, ['src/main.ts'], heavy), [
    `src/main.ts → src/a.ts → src/base/b.ts → node:http: ${heavy.get('node:http')}`,
  ]);
});

/** Each heavy one that these files load at once, with the way to it. */
function loadedBy(
  files: Tree,
  roots: readonly string[],
  refused: ReadonlyMap<string, string>,
): string[] {
  const ways = new Map<string, string>();
  const found: string[] = [];
  const walk = (path: string, way: string): void => {
    if (ways.has(path)) return;
    ways.set(path, way);
    const why = refused.get(path);
    if (why !== undefined) found.push(`${way}: ${why}`);
    for (const target of loadedAtOnce(files.get(path) ?? '')) {
      const next = fileOf(path, target);
      walk(next, `${way} → ${next}`);
    }
  };
  for (const root of roots) {
    assert.ok(files.has(root), root);
    walk(root, root);
  }
  return found;
}

function loadedAtOnce(text: string): string[] {
  const lines = text.split('\n');
  return importsOf(text).flatMap(({ target, line, dynamic }) => {
    const isType = /^(?:import|export) type\b/.test(lines[line - 1] ?? '');
    return dynamic || isType ? [] : target;
  });
}

/** A path of the repository, or the name of a package. */
function fileOf(from: string, target: string): string {
  if (target.startsWith('.')) return posix.join(posix.dirname(from), target);
  if (target === '#sdk') return 'src/sdk.ts';
  if (target.startsWith('#sdk/')) return `src/sdk-${target.slice('#sdk/'.length)}.ts`;
  return target.startsWith('#') ? `src/${target.slice(1)}.ts` : target;
}
