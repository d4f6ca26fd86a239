// Makes a fresh clone ready, and does nothing when it is. Runs before `npm start` and `npm test`, on
// whatever Node the machine has (20 or newer), so it imports nothing but Node. npm's own record of
// what it installed (node_modules/.package-lock.json) is the stamp: it is written last, and `npm ci`
// removes it first, so an interrupted install is seen and repeated.
//
//   node scripts/setup.mjs          the packages of package-lock.json
//   node scripts/setup.mjs --test   those for development too, and the programs the tests talk to

import { spawnSync } from 'node:child_process';
import { accessSync, constants, existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { writeFileSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const modules = join(root, 'node_modules');
const nodeWanted = [24, 21];

/** Outside programs: the Debian package that has each, and what is not tested without it. */
const testTools = {
  mosquitto: { debian: 'mosquitto', for: 'comparison with another broker' },
  mosquitto_pub: {
    debian: 'mosquitto-clients',
    for: 'interoperability: Mosquitto clients publish',
  },
  mosquitto_sub: {
    debian: 'mosquitto-clients',
    for: 'interoperability: Mosquitto clients subscribe',
  },
  openssl: { debian: 'openssl', for: 'TLS seen from outside' },
  curl: { debian: 'curl', for: 'HTTP seen from outside' },
  'prometheus-pushgateway': {
    debian: 'prometheus-pushgateway',
    for: 'metrics pushed to a real push gateway',
  },
};

/** Installs packages when what is installed is not what the lock file says. */
export function installPackages(withDevelopment) {
  const why = whyInstall(withDevelopment);
  if (why === undefined) return;
  const what = `npm ci --loglevel=error --no-audit --no-fund${withDevelopment ? ' --include=dev' : ''}`;
  console.log(`setup: ${why}; running "${what}"`);
  const [program, ...leading] = npmCommand();
  const started = Date.now();
  const run = spawnSync(program, [...leading, ...what.split(' ').slice(1)], {
    cwd: root,
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  const wrong =
    run.error?.message ??
    (run.status === 0 ? whyInstall(withDevelopment) : `exit code ${run.status ?? run.signal}`);
  if (wrong !== undefined) {
    fail(
      `Cannot install the packages: "${what}" failed (${wrong})`,
      'The first start and the first test download them and need the npm registry:',
      `check the network or "npm config get registry", then run "${what}" in ${root}`,
    );
  }
  console.log(`setup: packages are ready after ${seconds(started)}`);
}

/** The reason for an install in a few words, or nothing when everything is in place. */
function whyInstall(withDevelopment) {
  const wanted = readPackages(join(root, 'package-lock.json'));
  if (wanted === undefined) fail('Cannot read package-lock.json: the checkout is incomplete');
  const installed = readPackages(join(modules, '.package-lock.json'));
  if (installed === undefined) return 'packages are not installed';
  for (const [path, { version, integrity, dev, optional, link }] of Object.entries(wanted)) {
    if (path === '' || link) continue;
    const found = installed[path];
    if (found === undefined && (optional || (dev && !withDevelopment))) continue;
    if (found?.version !== version || found?.integrity !== integrity)
      return `${path} is not ${version}`;
  }
  // A node_modules that was copied from another kind of machine has the wrong Node in it.
  const node = `node_modules/node-${process.platform}-${process.arch}`;
  return node in wanted && !(node in installed) ? `${node} is missing` : undefined;
}

function readPackages(file) {
  try {
    return JSON.parse(readFileSync(file, 'utf8')).packages;
  } catch {
    return undefined; // Absent or cut short: the same as never installed.
  }
}

/** npm runs on the Node that started it, not on the one inside node_modules that it will replace. */
function npmCommand() {
  const { npm_execpath: npm, npm_node_execpath: node } = process.env;
  return npm !== undefined && /\.c?js$/.test(npm) ? [node ?? process.execPath, npm] : ['npm'];
}

/** The Node that runs TypeScript: the one of this checkout, else the machine's when new enough. */
export function localNode() {
  const local = join(modules, '.bin', 'node');
  if (existsSync(local)) return local;
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
  const [majorWanted, minorWanted] = nodeWanted;
  if (major > majorWanted || (major === majorWanted && minor >= minorWanted))
    return process.execPath;
  fail(`Cannot run on Node ${process.versions.node}: ${nodeWanted.join('.')} or newer is wanted`);
}

/** Finds or installs the outside programs; what is still missing is written down for the tests. */
function prepareTestTools() {
  const missing = () => Object.keys(testTools).filter((name) => findProgram(name) === undefined);
  let reason;
  if (missing().length > 0) reason = installFromDebian(missing());
  const record = {};
  for (const name of Object.keys(testTools)) {
    const path = findProgram(name) ?? null;
    record[name] = { path, reason: path === null ? `${name} is not installed: ${reason}` : null };
  }
  const cache = join(modules, '.cache');
  mkdirSync(cache, { recursive: true });
  writeFileSync(join(cache, 'broker-test-tools.json'), `${JSON.stringify(record, null, 2)}\n`);

  if (missing().length === 0) return;
  console.log('setup: these suites will be skipped:');
  for (const name of missing()) console.log(`  ${testTools[name].for}: ${record[name].reason}`);
}

/** Returns why the programs may still be missing; says nothing about those that now exist. */
function installFromDebian(names) {
  const apt = findProgram('apt-get');
  if (apt === undefined) return 'it is not on the PATH, and there is no apt-get to install it with';
  if (process.getuid?.() !== 0) return 'it is not on the PATH, and only root may install it';
  const packages = [...new Set(names.map((name) => testTools[name].debian))];
  console.log(`setup: installing ${packages.join(', ')} with apt-get`);
  const started = Date.now();
  const environment = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  const options = ['-q', '-y', '-o', 'Acquire::Retries=1', '-o', 'Acquire::http::Timeout=20'];
  for (const command of [['update'], ['install', '--no-install-recommends', ...packages]]) {
    const run = withoutServices(() =>
      spawnSync(apt, [...options, ...command], { env: environment, encoding: 'utf8' }),
    );
    if (run.status === 0) continue;
    console.error(`${run.stdout ?? ''}${run.stderr ?? ''}`.trimEnd());
    return `"apt-get ${command.join(' ')}" failed`;
  }
  console.log(`setup: ${packages.join(', ')} ready after ${seconds(started)}`);
  return 'the package does not contain it';
}

/** Debian starts a service when it installs one; a Mosquitto on port 1883 would be in our way. */
function withoutServices(install) {
  const policy = '/usr/sbin/policy-rc.d';
  const ours = !existsSync(policy);
  if (ours) writeFileSync(policy, '#!/bin/sh\nexit 101\n', { mode: 0o755 });
  try {
    return install();
  } finally {
    if (ours) rmSync(policy);
  }
}

/** Servers live in /usr/sbin, which is not on every user's PATH. */
function findProgram(name) {
  const folders = (process.env.PATH ?? '').split(delimiter);
  return [...folders, '/usr/local/sbin', '/usr/sbin']
    .map((folder) => join(folder, name))
    .find((path) => {
      try {
        accessSync(path, constants.X_OK);
        return true;
      } catch {
        return false; // Not there, or not to be run: look in the next folder.
      }
    });
}

function seconds(started) {
  return `${((Date.now() - started) / 1000).toFixed(1)} s`;
}

function fail(...lines) {
  console.error(lines.join('\n  '));
  process.exit(1);
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const forTests = process.argv.includes('--test');
  installPackages(forTests);
  if (forTests) prepareTestTools();
}
