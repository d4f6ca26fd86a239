// The one command before a commit: everything that is fast, two steps at a time, each with its time,
// then a list of what failed. `--static` leaves the tests out, for CI, which runs all of them anyway.

import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { installPackages, localNode } from './setup.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
installPackages(true);
const node = localNode();
const tool = (name) => join(root, 'node_modules', '.bin', name);

// The longest first, so that the short ones fill the other core.
const steps = [
  ['tests', node, 'scripts/test.mjs', '--suite', 'unit,tidy'],
  ['types', tool('tsc'), '-p', '.'],
  ['lint', tool('oxlint'), '--type-aware', '--deny-warnings'],
  ['format', tool('biome'), 'format', '.'],
  ['generated files', node, 'scripts/gen.ts', '--check'],
].filter(([name, , script]) => {
  if (name === 'tests') return !process.argv.includes('--static');
  return name !== 'generated files' || existsSync(join(root, script));
});

/** What to do about a step that failed, where a command can do it. */
const remedies = {
  format: 'npm run format',
  'generated files': 'npm run gen',
};

const started = performance.now();
const waiting = [...steps];
const failed = [];
await Promise.all([worker(), worker()]);

if (failed.length === 0) {
  console.log(`ok in ${seconds(started)}`);
} else {
  console.log(`\nNot ok: ${failed.join(', ')}`);
  for (const name of failed) if (remedies[name]) console.log(`  ${name}: run "${remedies[name]}"`);
  process.exitCode = 1;
}

async function worker() {
  for (let step = waiting.shift(); step !== undefined; step = waiting.shift()) {
    const [name, program, ...words] = step;
    const began = performance.now();
    const { code, output } = await run(program, words);
    console.log(`${code === 0 ? '✔' : '✖'} ${name} (${seconds(began)})`);
    if (code === 0) continue;
    failed.push(name);
    console.log(output.trimEnd());
  }
}

function run(program, words) {
  return new Promise((resolve) => {
    const child = spawn(program, words, { cwd: root, stdio: ['ignore', 'pipe', 'pipe'] });
    let output = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text) => {
        output += text;
      });
    }
    child.on('error', (error) => resolve({ code: 1, output: `${output}${error.message}` }));
    child.on('close', (code) => resolve({ code: code ?? 1, output }));
  });
}

function seconds(since) {
  return `${((performance.now() - since) / 1000).toFixed(1)} s`;
}
