// Runs the tests, each part in one `node --test`, and ends with node's closing lines.
//
//   npm test                              everything but crash, then crash with none, then conformance and crash with three workers
//   npm test -- --suite unit              tests that lie beside the code
//   npm test -- --suite conformance,fuzz  folders of test/
//   npm test -- --workers 3               with so many workers, in brokers of tests and of processes
//   npm test -- 'src/wire/*.test.ts'      files or globs
//   npm test -- --test-name-pattern=acl   other options go to node as they are

import { spawn } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { localNode } from './setup.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const unit = ['src/**/*.test.ts', 'plugins/**/*.test.ts', 'bench/**/*.test.ts'];
const everything = [...unit, 'test/**/*.test.ts'];

for (const part of partsOf(process.argv.slice(2))) {
  const { code, signal } = await run(part);
  if (code !== 0) process.exitCode ??= code ?? 1;
  if (signal === null) continue;
  console.error(`The test run was ended by ${signal}`);
  break;
}

/** What is asked for; without any word, what a change has to pass. */
function partsOf(words) {
  if (words.length > 0) return [parse(words)];
  // Crash takes minutes and is told how many workers there are: it runs with none and with three.
  const folders = readdirSync(join(root, 'test')).filter((name) => name !== 'crash');
  const all = folders.map((name) => `test/${name}/**/*.test.ts`);
  return [
    // Without a word brokers of tests have none, and processes as many as the machine gives them.
    { globs: [...unit, ...all], options: [], workers: undefined },
    { globs: suites('crash'), options: [], workers: 0 },
    { globs: suites('conformance,crash'), options: [], workers: 3 },
  ];
}

function run({ globs, options, workers }) {
  if (workers !== undefined) console.log(`With ${workers} workers:`);
  const child = spawn(
    localNode(),
    [
      '--test',
      // Many files wait for sockets and deadlines most of the time: one more than there are cores.
      `--test-concurrency=${availableParallelism() + 1}`,
      '--test-timeout=120000',
      `--import=${pathToFileURL(join(root, 'scripts', 'leak-watch.mjs'))}`,
      `--test-reporter=${join(root, 'scripts', 'report.mjs')}`,
      '--test-reporter-destination=stdout',
      ...options,
      ...globs,
    ],
    { cwd: root, stdio: 'inherit', env: environmentWith(workers) },
  );
  const pass = (signal) => child.kill(signal);
  for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, pass);
  return new Promise((resolve) => {
    child.on('close', (code, signal) => {
      for (const each of ['SIGINT', 'SIGTERM']) process.off(each, pass);
      resolve({ code, signal });
    });
  });
}

/**
 * Without a number it is left to whoever runs this, and to the broker's own default. Every file is a
 * process that loads much of the broker: compiled code is kept between them, half of their CPU.
 */
function environmentWith(workers) {
  const cache = join(root, 'node_modules', '.cache', 'compiled-tests');
  const env = { NODE_COMPILE_CACHE: cache, ...process.env };
  if (workers === undefined) return env;
  return { ...env, BROKER_TEST_WORKERS: `${workers}`, BROKER_NODE__WORKERS: `${workers}` };
}

function parse(words) {
  const globs = [];
  const options = [];
  let workers;
  for (let at = 0; at < words.length; at++) {
    const word = words[at];
    if (word === '--suite') globs.push(...suites(words[++at]));
    else if (word.startsWith('--suite=')) globs.push(...suites(word.slice('--suite='.length)));
    else if (word === '--workers') workers = workersOf(words[++at]);
    else if (word.startsWith('--workers=')) workers = workersOf(word.slice('--workers='.length));
    else (word.startsWith('-') ? options : globs).push(word);
  }
  return { globs: globs.length > 0 ? globs : everything, options, workers };
}

function workersOf(text = '') {
  if (/^\d{1,3}$/.test(text)) return Number(text);
  console.error(`Cannot run with "${text}" workers: it is not a number`);
  process.exit(1);
}

function suites(names = '') {
  return names.split(',').flatMap((name) => {
    if (name === 'unit') return unit;
    if (name !== '' && existsSync(join(root, 'test', name))) return [`test/${name}/**/*.test.ts`];
    const known = readdirSync(join(root, 'test')).join(', ');
    console.error(`Cannot run suite "${name}": it is not one of unit, ${known}`);
    process.exit(1);
  });
}
