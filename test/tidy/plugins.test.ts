// The laws of the folders in plugins/: what one may import, and what it has to have.

import assert from 'node:assert/strict';
import { posix } from 'node:path';
import test from 'node:test';
import { discoverPlugins } from '#plugin/discover';
import { assertNone, filesOf, importsOf, isTest, readTree, type Tree } from './tree.ts';

/** Packages by the plugin that may know them. */
const packages = new Map([['broker_auth_jwt', ['jose']]]);

/** What tests of plugins use besides. */
const testTools = /^(?:#test\/|mqtt$|jose$)/;

const doors = ['#sdk', '#sdk/operations'];

/** What plugin.ts may load at once: every thread reads it, also where the plugin does not run. */
const light = ['#sdk', './config.ts'];

const tree = readTree();
const withKeys = (await discoverPlugins())
  .filter(({ definition }) => definition?.config !== undefined)
  .map(({ name }) => name);

test('a plugin imports the doors of the broker and its own folder, and nothing else', () => {
  assertNone(strangers(tree));
});

test('every plugin has plugin.ts, words, a test, and a file when it has keys', () => {
  assertNone(unfinished(tree, withKeys));
});

test('the law of doors sees a way around, a neighbour, a package, and a heavy plugin.ts', () => {
  const planted = new Map([
    [
      'plugins/a/plugin.ts',
      "import { definePlugin } from '#sdk';\nimport { x } from './worker.ts';",
    ],
    ['plugins/a/worker.ts', "import { Hooks } from '#hooks/runner';\nimport 'node:fs';"],
    ['plugins/a/control.ts', "import { x } from '../b/control.ts';"],
    ['plugins/a/keys.ts', "import { x } from 'jose';\nimport { y } from './deep/y.ts';"],
    ['plugins/a/deep/y.ts', "import type { z } from '../keys.ts';"],
    ['plugins/a/fine.test.ts', "import { startManaged } from '#test/managed';\nimport 'mqtt';"],
    ['plugins/a/bad.test.ts', "import { Broker } from '#core/broker';"],
    ['plugins/a/operations.ts', "import { Type } from '#sdk/operations';"],
    ['plugins/broker_auth_jwt/token.ts', "import { jwtVerify } from 'jose';"],
    [
      'plugins/b/plugin.ts',
      "import type { X } from './control.ts';\nimport { key } from './config.ts';\nconst f = () => import('./worker.ts');",
    ],
  ]);
  assert.deepEqual(
    strangers(planted).map((violation) => violation.split(' ')[0]),
    [
      'plugins/a/plugin.ts:2',
      'plugins/a/worker.ts:1',
      'plugins/a/control.ts:1',
      'plugins/a/keys.ts:1',
      'plugins/a/bad.test.ts:1',
    ],
  );
});

test('the law of folders sees what is missing', () => {
  const planted = new Map([
    ['plugins/bare/worker.ts', ''],
    ['plugins/whole/plugin.ts', ''],
    ['plugins/whole/README.md', ''],
    ['plugins/whole/plugin.test.ts', ''],
    ['plugins/keyed/plugin.ts', ''],
    ['plugins/keyed/README.md', ''],
    ['plugins/keyed/deep/x.test.ts', ''],
    ['etc/plugins/keyed.conf', ''],
  ]);
  assert.deepEqual(unfinished(planted, ['keyed', 'whole']), [
    'plugins/bare has no plugin.ts',
    'plugins/bare has no README.md',
    'plugins/bare has no test',
    'plugins/whole has keys and no etc/plugins/whole.conf; run "npm run gen"',
  ]);
});

function strangers(files: Tree): string[] {
  const all = [...filesOf(files, ['plugins'], 'code'), ...filesOf(files, ['plugins'], 'tests')];
  return all.flatMap((file) => {
    const text = files.get(file) ?? '';
    return importsOf(text).flatMap(({ target, line, dynamic }) => {
      const isType = /^(?:import|export) type\b/.test(text.split('\n')[line - 1] ?? '');
      const why = objection(file, target, dynamic || isType);
      return why === undefined ? [] : [`${file}:${line} imports "${target}": ${why}`];
    });
  });
}

function objection(file: string, target: string, isLazy: boolean): string | undefined {
  const [, plugin = ''] = file.split('/');
  const isHead = file === `plugins/${plugin}/plugin.ts`;
  if (isHead && !isLazy && !light.includes(target)) {
    return `plugin.ts loads ${light.join(' and ')}, and its parts by import() when they are run`;
  }
  if (target.startsWith('node:') || doors.includes(target)) return undefined;
  if (target.startsWith('.')) {
    const path = posix.join(posix.dirname(file), target);
    return path.startsWith(`plugins/${plugin}/`) ? undefined : 'it lies outside of the plugin';
  }
  if (isTestFile(file) && testTools.test(target)) return undefined;
  const known = packages.get(plugin) ?? [];
  if (known.some((name) => target === name || target.startsWith(`${name}/`))) return undefined;
  return `a plugin sees ${doors.join(' and ')}; what it needs of the broker is exported there`;
}

/** Fixtures belong to tests. */
function isTestFile(file: string): boolean {
  return isTest(file) || file.endsWith('-fixture.ts');
}

function unfinished(files: Tree, keyed: readonly string[]): string[] {
  const paths = [...files.keys()];
  const names = new Set(
    paths.filter((path) => path.startsWith('plugins/')).map((path) => path.split('/')[1] ?? ''),
  );
  return [...names].flatMap((name) => {
    const own = paths.filter((path) => path.startsWith(`plugins/${name}/`));
    const faults: string[] = [];
    if (!own.includes(`plugins/${name}/plugin.ts`)) faults.push('has no plugin.ts');
    if (!own.includes(`plugins/${name}/README.md`)) faults.push('has no README.md');
    if (!own.some((path) => path.endsWith('.test.ts'))) faults.push('has no test');
    const conf = `etc/plugins/${name}.conf`;
    if (keyed.includes(name) && !paths.includes(conf)) {
      faults.push(`has keys and no ${conf}; run "npm run gen"`);
    }
    return faults.map((fault) => `plugins/${name} ${fault}`);
  });
}
