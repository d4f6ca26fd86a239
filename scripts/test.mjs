// Runs the tests, all in one `node --test`, and ends with node's closing lines.
//
//   npm test                              everything
//   npm test -- --suite unit              tests that lie beside the code
//   npm test -- --suite conformance,fuzz  folders of test/
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
const { globs, options } = parse(process.argv.slice(2));

const child = spawn(
  localNode(),
  [
    '--test',
    // Most of a test's time is the start of its process and its sockets: use the cores there are.
    `--test-concurrency=${Math.max(2, availableParallelism())}`,
    '--test-timeout=120000',
    `--import=${pathToFileURL(join(root, 'scripts', 'leak-watch.mjs'))}`,
    `--test-reporter=${join(root, 'scripts', 'report.mjs')}`,
    '--test-reporter-destination=stdout',
    ...options,
    ...globs,
  ],
  { cwd: root, stdio: 'inherit' },
);
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => child.kill(signal));
child.on('close', (code, signal) => {
  if (signal !== null) console.error(`The test run was ended by ${signal}`);
  process.exitCode = code ?? 1;
});

function parse(words) {
  const globs = [];
  const options = [];
  for (let at = 0; at < words.length; at++) {
    const word = words[at];
    if (word === '--suite') globs.push(...suites(words[++at]));
    else if (word.startsWith('--suite=')) globs.push(...suites(word.slice('--suite='.length)));
    else (word.startsWith('-') ? options : globs).push(word);
  }
  return { globs: globs.length > 0 ? globs : [...unit, 'test/**/*.test.ts'], options };
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
