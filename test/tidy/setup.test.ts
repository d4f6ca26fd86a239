// The set-up script, run as a user runs it, in a small checkout with an npm that only writes down how
// it was called. What it decides matters most where nobody looks: on somebody else's machine.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type TestContext } from 'node:test';
import { root } from './tree.ts';

const lock = {
  packages: {
    '': {},
    'node_modules/a': { version: '1.0.0', integrity: 'a1' },
    'node_modules/tool': { version: '2.0.0', integrity: 't2', dev: true },
    'node_modules/a-otheros': { version: '1.0.0', integrity: 'o1', optional: true },
  },
};
const { 'node_modules/a': a, 'node_modules/tool': tool } = lock.packages;

test('setup installs when nothing is installed', (t) => {
  const checkout = makeCheckout(t);
  const run = checkout.setup();
  assert.equal(run.status, 0, run.stderr);
  assert.match(checkout.npmCalls(), /^ci /);
  assert.match(run.stdout, /packages are not installed; running "npm ci/);
});

test('setup does nothing and says nothing when the lock file is satisfied', (t) => {
  const checkout = makeCheckout(t);
  checkout.installed({ 'node_modules/a': a, 'node_modules/tool': tool });
  const run = checkout.setup();
  assert.deepEqual([run.status, run.stdout, checkout.npmCalls()], [0, '', '']);
});

test('setup installs when a version differs, and says which', (t) => {
  const checkout = makeCheckout(t);
  checkout.installed({ 'node_modules/a': { version: '0.9.0', integrity: 'a0' } });
  const run = checkout.setup();
  assert.match(run.stdout, /node_modules\/a is not 1\.0\.0/);
  assert.match(checkout.npmCalls(), /^ci /);
});

test('setup wants the packages for development only for the tests', (t) => {
  const checkout = makeCheckout(t);
  checkout.installed({ 'node_modules/a': a });
  assert.equal(checkout.setup().status, 0);
  assert.equal(checkout.npmCalls(), '');
  assert.equal(checkout.setup(['--test']).status, 0);
  assert.match(checkout.npmCalls(), /--include=dev/);
});

test('setup says which command failed and what to do when npm cannot download', (t) => {
  const checkout = makeCheckout(t, { npmFails: true });
  const run = checkout.setup();
  assert.equal(run.status, 1);
  assert.match(run.stderr, /"npm ci [^"]*" failed \(exit code 7\)/);
  assert.match(run.stderr, /check the network/);
});

test('setup lists the suites that a missing program skips, and writes the reason down', (t) => {
  const checkout = makeCheckout(t);
  checkout.installed(lock.packages);
  const run = checkout.setup(['--test'], { PATH: checkout.folder });
  assert.equal(run.status, 0, run.stderr);
  assert.match(run.stdout, /skipped:\n[\s\S]*curl is not installed: .*no apt-get/);
  const file = join(checkout.folder, 'node_modules', '.cache', 'broker-test-tools.json');
  const tools = JSON.parse(readFileSync(file, 'utf8')) as Record<string, unknown>;
  assert.partialDeepStrictEqual(tools, { curl: { path: null } });
});

interface Checkout {
  readonly folder: string;
  setup(
    words?: string[],
    env?: NodeJS.ProcessEnv,
  ): { status: number | null; stdout: string; stderr: string };
  installed(packages: object): void;
  npmCalls(): string;
}

function makeCheckout(t: TestContext, { npmFails = false } = {}): Checkout {
  const folder = mkdtempSync(join(tmpdir(), 'broker-setup-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const calls = join(folder, 'calls');
  const record = join(folder, 'node_modules', '.package-lock.json');
  const npm = join(folder, 'npm.cjs');
  mkdirSync(join(folder, 'scripts'));
  mkdirSync(join(folder, 'node_modules'));
  cpSync(join(root, 'scripts', 'setup.mjs'), join(folder, 'scripts', 'setup.mjs'));
  writeFileSync(join(folder, 'package-lock.json'), JSON.stringify(lock));
  writeFileSync(
    npm,
    `const { appendFileSync, copyFileSync } = require('node:fs');
     appendFileSync(${JSON.stringify(calls)}, process.argv.slice(2).join(' '));
     if (${npmFails}) process.exit(7);
     copyFileSync(${JSON.stringify(join(folder, 'package-lock.json'))}, ${JSON.stringify(record)});`,
  );
  return {
    folder,
    setup: (words = [], env = {}) =>
      spawnSync(process.execPath, [join(folder, 'scripts', 'setup.mjs'), ...words], {
        encoding: 'utf8',
        env: { ...process.env, npm_execpath: npm, npm_node_execpath: process.execPath, ...env },
      }),
    installed: (packages) => writeFileSync(record, JSON.stringify({ packages })),
    npmCalls: () => (existsSync(calls) ? readFileSync(calls, 'utf8') : ''),
  };
}
