import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { installRoot } from '#base/install-root';

const fixture = fileURLToPath(new URL('broker-fixture.ts', import.meta.url));

/** As the launcher does: some thirty processes start here. */
const compileCache = join(installRoot, 'node_modules', '.cache', 'broker');

interface Outcome {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

function run(command: string, args: readonly string[]): Promise<Outcome> {
  const { promise, resolve, reject } = Promise.withResolvers<Outcome>();
  const env = { ...process.env, NODE_COMPILE_CACHE: compileCache };
  const child = spawn(command, args, { env, stdio: ['ignore', 'pipe', 'pipe'] });
  let out = '';
  let err = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    out += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    err += text;
  });
  child.once('error', reject);
  child.once('close', (code) => resolve({ code, out, err }));
  return promise;
}

/** A place of its own: configuration and data directory, and the command around the idle broker. */
function place(t: TestContext, conf: string) {
  const root = mkdtempSync(join(tmpdir(), 'broker-cli-'));
  const configFile = join(root, 'broker.conf');
  writeFileSync(configFile, conf);
  const dataDir = join(root, 'data');
  const broker = (...args: string[]): Promise<Outcome> =>
    run(process.execPath, [fixture, ...args, '--config', configFile, '--data-dir', dataDir]);
  // In this order: without its directory a broker is not found any more, and would stay.
  t.after(async () => {
    await broker('stop');
    rmSync(root, { recursive: true, force: true });
  });
  return { configFile, dataDir, broker };
}

test('bin/broker finds its project through a link and tells its version', async (t) => {
  const root = mkdtempSync(join(tmpdir(), 'broker-bin-'));
  t.after(() => rmSync(root, { recursive: true }));
  symlinkSync(join(installRoot, 'bin', 'broker'), join(root, 'real'));
  symlinkSync('real', join(root, 'linked'));
  const { code, out, err } = await run(join(root, 'linked'), ['--version']);
  assert.equal(err, '');
  assert.match(out, /^broker \d+\.\d+\.\d+\n$/);
  assert.equal(code, 0);
});

test('broker config check accepts the shipped configuration', async () => {
  const { code, out, err } = await run(join(installRoot, 'bin', 'broker'), ['config', 'check']);
  assert.equal(err, '');
  assert.match(out, /^Configuration OK: .*broker\.conf, 5 listeners, 2 zones\n$/);
  assert.equal(code, 0);
});

test('broker config check tells every problem and fails', async (t) => {
  const { broker } = place(t, 'node.name = nobody\nlog.levle = info\n');
  const { code, out, err } = await broker('config', 'check', '--set', 'log.to=disk');
  assert.equal(out, '');
  assert.match(err, /^Cannot use the configuration: 3 problems\n/);
  assert.match(err, /broker\.conf:1: Cannot use node\.name = "nobody"/);
  assert.match(err, /broker\.conf:2: .*did you mean "log\.level"\?/);
  assert.match(err, /--set: Cannot use log\.to = "disk"/);
  assert.equal(code, 1);
});

test('broker config show prints lines that can be read back, with their origin', async (t) => {
  const { broker } = place(t, 'zone.z.mountpoint = "a # b"\n');
  const { code, out } = await broker('config', 'show', '--set', 'node.name=x@h');
  assert.match(out, /^node\.name = x@h {2}# --set$/m);
  assert.match(out, /^zone\.z\.mountpoint = "a # b" {2}# .*broker\.conf:1$/m);
  assert.match(out, /^log\.level = warning {2}# default$/m);
  assert.equal(code, 0);
});

test('broker explains itself, and fails with 2 when it is not understood', async (t) => {
  const { broker } = place(t, '');
  const help = await broker('--help');
  assert.match(help.out, /^Usage: broker <command>/);
  assert.equal(help.code, 0);
  for (const args of [['dance'], ['config'], ['start', 'now'], ['start', '--fast'], []]) {
    const { code, out, err } = await broker(...args);
    assert.equal(code, 2, args.join(' '));
    assert.equal(out, '');
    assert.match(err, /Usage: broker <command>/);
  }
});

test('broker start, status, ping, pid, restart and stop follow one broker', async (t) => {
  const { broker, dataDir, configFile } = place(t, 'node.name = one@127.0.0.1\nlog.to = console\n');
  const started = await broker('start');
  assert.equal(started.err, '');
  const [, pid, said = ''] = /is started: pid (\d+)\n(.*)\n$/.exec(started.out) ?? [];
  assert.ok(pid, started.out);
  assert.equal(readFileSync(join(dataDir, 'broker.pid'), 'utf8').split('\n')[0], pid);
  assert.equal(statSync(dataDir).mode & 0o007, 0, 'the data directory is closed to others');
  assert.equal(statSync(join(dataDir, 'start.out')).mode & 0o077, 0, "start.out is its owner's");
  const banner = { name: 'one@127.0.0.1', configFile, log: 'file' };
  assert.partialDeepStrictEqual(JSON.parse(said), banner);
  const left = readFileSync(join(dataDir, 'start.out'), 'utf8');
  assert.equal(left, '', 'a secret that was shown once does not stay behind');

  assert.deepEqual(await broker('ping'), { code: 0, out: 'pong\n', err: '' });
  assert.equal((await broker('pid')).out, `${pid}\n`);
  const status = await broker('status');
  assert.match(
    status.out,
    new RegExp(`^Node one@127.0.0.1 is running\\n  broker .*, pid ${pid}, up `),
  );
  assert.equal(status.code, 0);

  const again = await broker('start');
  assert.deepEqual(again, { code: 1, out: '', err: `broker is running already: pid ${pid}\n` });

  const badRestart = await broker('restart', '--set', 'log.level=loud');
  assert.equal(badRestart.code, 1);
  assert.equal((await broker('pid')).out, `${pid}\n`, 'a bad configuration takes nothing down');
  assert.equal((await broker('restart')).code, 0);
  assert.notEqual((await broker('pid')).out, `${pid}\n`);

  assert.deepEqual(await broker('stop'), { code: 0, out: 'broker is stopped\n', err: '' });
  assert.equal(existsSync(join(dataDir, 'broker.pid')), false);
  assert.deepEqual(
    [(await broker('ping')).code, (await broker('pid')).code, (await broker('stop')).code],
    [1, 1, 1],
  );
  const stopped = await broker('status');
  assert.deepEqual([stopped.code, stopped.out], [1, 'Node one@127.0.0.1 is stopped\n']);
});

test('broker start names the listeners of a broker that says nothing', async (t) => {
  const { broker } = place(t, 'node.name = one@127.0.0.1\nlog.to = off\n');
  assert.match((await broker('start')).out, /pid \d+\n {2}mqtt:tcp 127\.0\.0\.1:1\n$/);
});

test('broker takes -c for --config', async (t) => {
  const { configFile } = place(t, 'node.name = short@127.0.0.1\n');
  const { out } = await run(process.execPath, [fixture, 'config', 'show', '-c', configFile]);
  assert.match(out, /^node\.name = short@127\.0\.0\.1 /m);
});

test('broker start keeps what it says from others where they could read it before', async (t) => {
  const { broker, dataDir } = place(t, 'node.name = broken@127.0.0.1\n');
  mkdirSync(dataDir);
  const file = join(dataDir, 'start.out');
  writeFileSync(file, 'old\n', { mode: 0o644 });
  assert.equal((await broker('start')).code, 1);
  assert.equal(statSync(file).mode & 0o777, 0o600);
  assert.match(readFileSync(file, 'utf8'), /^Cannot listen/);
});

test('broker start tells why the broker did not start', async (t) => {
  const { broker, dataDir } = place(t, 'node.name = broken@127.0.0.1\n');
  const { code, err } = await broker('start');
  assert.equal(code, 1);
  assert.match(
    err,
    /^Cannot start: the broker ended with exit code 1:\nCannot listen on 127\.0\.0\.1:1/,
  );
  assert.equal(existsSync(join(dataDir, 'broker.pid')), false);
});

test('broker foreground refuses the data directory of a running broker', async (t) => {
  const { broker } = place(t, '');
  assert.equal((await broker('start')).code, 0);
  const { code, err } = await broker('foreground');
  assert.equal(code, 1);
  assert.match(err, /^Cannot start in ".*": pid \d+ runs there/);
  assert.equal((await broker('ping')).code, 0);
});

test('a pid file that a killed broker left behind does not count', async (t) => {
  const { broker, dataDir } = place(t, '');
  mkdirSync(dataDir);
  // Alive, and by its command line no broker: the number was given away again.
  const other = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { stdio: 'ignore' });
  t.after(() => other.kill());
  writeFileSync(join(dataDir, 'broker.pid'), `${other.pid}\n`);
  assert.equal((await broker('pid')).code, 1);
  assert.equal((await broker('stop')).code, 1);
  const { code, err } = await broker('start');
  assert.deepEqual([code, err], [0, '']);
  assert.equal(other.exitCode, null);
  assert.equal((await broker('stop')).code, 0);
});

test('broker start, ping and stop work in a data directory with a long path', async (t) => {
  const root = mkdtempSync(join(tmpdir(), 'broker-cli-'));
  t.after(() => rmSync(root, { recursive: true, force: true }));
  const dataDir = join(root, 'long-'.repeat(30), 'data');
  const broker = (command: string): Promise<Outcome> =>
    run(process.execPath, [fixture, command, '--data-dir', dataDir]);
  assert.equal((await broker('start')).code, 0);
  assert.deepEqual(await broker('ping'), { code: 0, out: 'pong\n', err: '' });
  assert.equal((await broker('stop')).code, 0);
  assert.equal((await broker('ping')).code, 1);
  assert.equal(existsSync(join(dataDir, 'broker.sock')), false);
});
