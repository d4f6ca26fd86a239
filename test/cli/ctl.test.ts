// `bin/broker_ctl` as its users run it: a process of its own, with a node and without one.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type TestContext } from 'node:test';
import { cliCatalogue } from '#admin/console-usage';
import { paperCatalogueOfAll } from '#host/paper-plugins';
import { installRoot } from '#base/install-root';
import { startCtlNode } from './ctl-node.ts';

const catalogue = await paperCatalogueOfAll();

const launcher = join(installRoot, 'bin', 'broker_ctl');

interface Outcome {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

function run(command: string, args: readonly string[], input = ''): Promise<Outcome> {
  const { promise, resolve, reject } = Promise.withResolvers<Outcome>();
  const child = spawn(command, args, { stdio: ['pipe', 'pipe', 'pipe'] });
  const said = { out: '', err: '' };
  child.stdout.setEncoding('utf8').on('data', (text: string) => void (said.out += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => void (said.err += text));
  child.once('error', reject);
  child.once('close', (code) => resolve({ code, ...said }));
  child.stdin.on('error', () => {});
  child.stdin.end(input);
  return promise;
}

function emptyDir(t: TestContext): string {
  const dir = mkdtempSync(join(tmpdir(), 'broker-ctl-'));
  t.after(() => rmSync(dir, { recursive: true }));
  return dir;
}

const usage =
  /^Usage: broker_ctl\n-{80}\nstatus {42}# .*\n(.*\n)*-{80}\ncompletion .*\n(?<options>[^]*)$/;

test('broker_ctl asks the node of a data directory and ends with its exit code', async () => {
  await using node = await startCtlNode(0);
  const ctl = (...args: string[]): Promise<Outcome> =>
    run(launcher, ['--data-dir', node.dataDir, ...args]);
  assert.deepEqual(await ctl('status'), {
    code: 0,
    out: "Node 'broker@127.0.0.1' is started\nbroker v0.1.0 is running\n",
    err: '',
  });
  const json = await ctl('status', '--json');
  assert.deepEqual(JSON.parse(json.out), { node: 'broker@127.0.0.1', version: 'v0.1.0' });
  const unknown = await ctl('dance');
  assert.equal(usage.exec(unknown.out)?.groups?.['options'], '');
  assert.deepEqual([unknown.code, unknown.err], [1, 'Cannot run "dance": unknown command\n']);
  const wrong = await ctl('listeners', 'stop', 'mqtt:tcp');
  assert.match(wrong.out, /^listeners .*\nlisteners stop <Proto> <Port> .*\n$/);
  const why = 'Cannot run "listeners stop mqtt:tcp": wrong arguments\n';
  assert.deepEqual([wrong.code, wrong.err], [0, why]);
  assert.deepEqual(await ctl('log', 'primary-level', 'loud'), {
    code: 1,
    out: '[error] Cannot use level "loud": expected one of trace, debug, info, notice, warning, error, critical, alert, emergency\n',
    err: '',
  });
  for (const args of [[], ['help']]) {
    const { out } = await ctl(...args);
    assert.match(usage.exec(out)?.groups?.['options'] ?? '', /^\nOptions, .*\n(.*\n)* {2}--json /);
  }
  const json404 = await ctl('--json', 'statsu');
  assert.match(json404.out, /^{"code":404,.*did you mean \\"status\\"/);
  const closedPipe = `"${launcher}" --data-dir "${node.dataDir}" help | head -n 1`;
  const cut = await run('bash', ['-c', `set -o pipefail; ${closedPipe}`]);
  assert.deepEqual(cut, { code: 0, out: 'Usage: broker_ctl\n', err: '' });
});

test('broker_ctl says that no node responds, and still helps', async (t) => {
  const dir = emptyDir(t);
  symlinkSync(launcher, join(dir, 'linked'));
  const ctl = (...args: string[]): Promise<Outcome> =>
    run(join(dir, 'linked'), ['--data-dir', join(dir, 'none'), ...args]);
  const where = `No broker answers in "${join(dir, 'none')}": one that was started with --data-dir or --config is asked with the same\n`;
  const down = { code: 1, out: '', err: `Node 'n@h' not responding to pings.\n${where}` };
  assert.deepEqual(await ctl('--set', 'node.name=n@h', 'status'), down);
  assert.deepEqual(await ctl('--set=node.name=n@h', 'no', 'such'), down);
  for (const args of [[], ['help'], ['--help']]) {
    const help = await ctl(...args);
    assert.match(help.out, usage);
    assert.deepEqual([help.code, help.err], [0, ''], args.join(' '));
  }
  const noFile = await ctl('-c', join(dir, 'no.conf'), 'status');
  assert.equal(noFile.err, `Cannot read "${join(dir, 'no.conf')}": there is no such file\n`);
  const group = await ctl('help', 'cluster');
  assert.match(group.out, /^cluster status {34}# Show the nodes of the cluster\n$/);
  assert.match((await ctl('--version')).out, /^broker_ctl \d+\.\d+\.\d+\n$/);
});

test('broker_ctl fails with 2 for options that it does not understand', async () => {
  for (const args of [
    ['--fast', 'status'],
    ['status', '--config'],
  ]) {
    const { code, out, err } = await run(launcher, args);
    assert.deepEqual([code, out], [2, ''], args.join(' '));
    assert.match(err, /^Cannot use --\w+: .*\n\nOptions, before the command:\n/);
  }
});

test('what broker_ctl knows without a node is what the broker brings', () => {
  const stored = readFileSync(join(installRoot, 'src', 'cli', 'catalogue.json'), 'utf8');
  assert.equal(stored, cliCatalogue(catalogue.commands()), 'run "npm run gen"');
});

test('bash completes the commands of broker_ctl', async (t) => {
  const dir = emptyDir(t);
  const script = await run(launcher, ['--data-dir', join(dir, 'none'), 'completion', 'bash']);
  assert.equal(script.code, 0);
  assert.deepEqual(await run('bash', ['-n'], script.out), { code: 0, out: '', err: '' });
  const complete = async (...words: string[]): Promise<string[]> => {
    const typed = ['broker_ctl', ...words].map((word) => `'${word}'`).join(' ');
    const asked = `COMP_WORDS=(${typed})\nCOMP_CWORD=${words.length}\n_broker_ctl\n`;
    const { out, err } = await run('bash', [], `${script.out}\n${asked}echo "\${COMPREPLY[*]}"`);
    assert.equal(err, '');
    return out.trim().split(' ');
  };
  assert.deepEqual(await complete('clus'), ['cluster']);
  assert.deepEqual(await complete('log', ''), ['handlers', 'primary-level', 'set-level']);
  assert.deepEqual(await complete('--data-dir', 'x', '--json', 'log', 'handlers', 's'), [
    'set-level',
  ]);
  assert.deepEqual(await complete('completion', ''), ['bash', 'fish', 'zsh']);
  assert.deepEqual(await complete('help', 'bro'), ['broker']);
  assert.deepEqual(await complete('--da'), ['--data-dir']);
  assert.deepEqual(await complete('status', ''), ['']);
});

test('broker_ctl completion knows three shells', async () => {
  for (const [shell, sign] of [
    ['zsh', /^#compdef broker_ctl\n/],
    ['fish', /^complete -c broker_ctl -f -n '__broker_ctl_at log handlers' -a 'list set-level'$/m],
  ] as const) {
    assert.match((await run(launcher, ['completion', shell])).out, sign);
  }
  const wrong = await run(launcher, ['completion', 'powershell']);
  assert.match(wrong.out, /^completion bash\|zsh\|fish .*\n$/);
  assert.deepEqual([wrong.code, wrong.err], [0, '']);
});
