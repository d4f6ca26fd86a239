import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { claimPidFile, pidFileOf, runningPid } from './pid-file.ts';

const claimant = fileURLToPath(new URL('claim-fixture.ts', import.meta.url));
const program = fileURLToPath(new URL('broker.ts', import.meta.url));
const needsProc = { skip: existsSync('/proc/self/stat') ? false : 'this system has no /proc' };

/** More than any system gives out. */
const nobody = 2 ** 30;

function directory(t: TestContext): string {
  const path = mkdtempSync(join(tmpdir(), 'broker-pid-'));
  t.after(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

/** A process that does nothing, with these words in its command line. */
async function bystander(t: TestContext, words: readonly string[], cwd: string): Promise<number> {
  const script = 'process.stdout.write("up"); setInterval(() => {}, 1000)';
  const child = spawn(process.execPath, ['-e', script, ...words], {
    cwd,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  t.after(() => child.kill('SIGKILL'));
  await once(child.stdout, 'data');
  assert.ok(child.pid !== undefined);
  return child.pid;
}

test('a claimed pid file begins with the process id and goes with the claim', (t) => {
  const dir = directory(t);
  {
    using _claim = claimPidFile(dir);
    assert.equal(readFileSync(pidFileOf(dir), 'utf8').split('\n')[0], String(process.pid));
    assert.deepEqual(readdirSync(dir), ['broker.pid'], 'nothing else is left behind');
  }
  assert.deepEqual(readdirSync(dir), []);
});

test('a claim that is given up leaves the pid file of another broker alone', (t) => {
  const dir = directory(t);
  {
    using _claim = claimPidFile(dir);
    writeFileSync(pidFileOf(dir), `${nobody}\n`);
  }
  assert.equal(readFileSync(pidFileOf(dir), 'utf8'), `${nobody}\n`);
});

for (const [what, text] of [
  ['names nobody', `${nobody}\n`],
  ['names this process in an earlier life', `${process.pid}\nsome-boot 1\n`],
  ['is no number', 'broker\n'],
  ['stays empty', ''],
] as const) {
  test(`a pid file that ${what} is replaced`, (t) => {
    const dir = directory(t);
    writeFileSync(pidFileOf(dir), text);
    assert.equal(runningPid(dir), undefined);
    using _claim = claimPidFile(dir);
    assert.equal(readFileSync(pidFileOf(dir), 'utf8').split('\n')[0], String(process.pid));
    assert.deepEqual(readdirSync(dir), ['broker.pid']);
  });
}

test('the turn of a broker that was killed while it had it does not last', (t) => {
  const dir = directory(t);
  writeFileSync(pidFileOf(dir), `${nobody}\n`);
  writeFileSync(`${pidFileOf(dir)}.turn`, `${nobody}\n`);
  using _claim = claimPidFile(dir);
  assert.deepEqual(readdirSync(dir), ['broker.pid']);
});

test(
  'a pid that was given to another program is no broker, whatever that is called',
  needsProc,
  async (t) => {
    const dir = directory(t);
    const pid = await bystander(t, ['/var/log/broker.log', 'broker', '/elsewhere/broker.ts'], dir);
    writeFileSync(pidFileOf(dir), `${pid}\n`);
    assert.equal(runningPid(dir), undefined);
  },
);

test('a pid without its birth is a broker when it runs this very program', needsProc, async (t) => {
  const dir = directory(t);
  const byPath = await bystander(t, [program], dir);
  writeFileSync(pidFileOf(dir), `${byPath}\n`);
  assert.equal(runningPid(dir), byPath);
  const fromThere = await bystander(t, ['cli/broker.ts'], join(program, '..', '..'));
  writeFileSync(pidFileOf(dir), `${fromThere}\n`);
  assert.equal(runningPid(dir), fromThere);
});

test('a pid with its birth is that process and no other with its number', needsProc, async (t) => {
  const dir = directory(t);
  const [child] = await claimants(t, 1);
  assert.ok(child?.pid !== undefined);
  assert.equal(await claim(child, dir, 0), 'claimed');
  assert.equal(runningPid(dir), child.pid);
  assert.throws(() => claimPidFile(dir), new RegExp(`: pid ${child.pid} runs there, expected`));
  const [pid, birth = ''] = readFileSync(pidFileOf(dir), 'utf8').split('\n');
  writeFileSync(pidFileOf(dir), `${pid}\n${birth}0\n`);
  assert.equal(runningPid(dir), undefined);
});

test('a broker that was killed and not yet waited for does not run', needsProc, async (t) => {
  const dir = directory(t);
  const shell = spawn('sh', ['-c', 'sleep 60 & echo $!; exec sleep 60'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  t.after(() => shell.kill('SIGKILL'));
  const [said] = (await once(shell.stdout, 'data')) as [Buffer];
  const pid = Number(said.toString());
  // A shell would wait for its child; what it has become by then does not.
  const parent = `/proc/${shell.pid}/cmdline`;
  while (!readFileSync(parent, 'utf8').startsWith('sleep')) await new Promise(setImmediate);
  process.kill(pid, 'SIGKILL');
  const stat = (): string[] =>
    readFileSync(`/proc/${pid}/stat`, 'utf8')
      .replace(/^.*\) /s, '')
      .split(' ');
  while (stat()[0] !== 'Z') await new Promise(setImmediate);
  const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
  writeFileSync(pidFileOf(dir), `${pid}\n${boot} ${stat()[19]}\n`);
  assert.equal(runningPid(dir), undefined);
});

test('of brokers that start together on a left-over pid file one gets it', async (t) => {
  const root = directory(t);
  const children = await claimants(t, 3);
  for (let round = 0; round < 60; round++) {
    const dir = join(root, String(round));
    mkdirSync(dir);
    writeFileSync(pidFileOf(dir), `${nobody}\n`);
    const atMs = Date.now() + 4;
    const said = await Promise.all(children.map((child) => claim(child, dir, atMs)));
    const owners = children.filter((_, i) => said[i] === 'claimed');
    assert.equal(owners.length, 1, said.join('; '));
    assert.equal(runningPid(dir), owners[0]?.pid);
    assert.deepEqual(readdirSync(dir), ['broker.pid']);
  }
});

async function claimants(t: TestContext, count: number): Promise<ChildProcess[]> {
  const children = Array.from({ length: count }, () =>
    spawn(process.execPath, [claimant], { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] }),
  );
  t.after(() => {
    for (const child of children) child.kill();
  });
  await Promise.all(children.map((child) => once(child, 'message')));
  return children;
}

async function claim(child: ChildProcess, dataDir: string, atMs: number): Promise<string> {
  const answer = once(child, 'message');
  child.send([dataDir, atMs]);
  const [said] = (await answer) as [string];
  return said;
}
