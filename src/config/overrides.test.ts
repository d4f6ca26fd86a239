import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type TestContext } from 'node:test';
import { ConfigError } from './config-error.ts';
import { loadConfig, loadNodeOnly, loadSettings } from './load.ts';
import { fromOverrides, overridesFile, writeOverrides } from './overrides.ts';

interface Place {
  readonly configFile: string;
  readonly dataDir: string;
}

function place(t: TestContext, conf: string, overrides?: string): Place {
  const root = mkdtempSync(join(tmpdir(), 'broker-overrides-'));
  t.after(() => rmSync(root, { recursive: true }));
  const [configFile, dataDir] = [join(root, 'broker.conf'), join(root, 'data')];
  mkdirSync(dataDir);
  writeFileSync(configFile, `node.data_dir = ${dataDir}\n${conf}`);
  if (overrides !== undefined) writeFileSync(overridesFile(dataDir), overrides);
  return { configFile, dataDir };
}

function textsOf(load: () => unknown): string[] {
  try {
    load();
  } catch (error) {
    if (error instanceof ConfigError) return error.problems.map(({ text }) => text);
    throw error;
  }
  return [];
}

test('what was set while the broker ran wins over the files and loses to environment and --set', (t) => {
  const conf = 'log.file = a\nlog.level = info\nnode.max_clients = 1\nlog.rotation.count = 1\n';
  const set = 'log.file = b\nlog.level = error\nnode.max_clients = 2\n';
  const { configFile } = place(t, conf, set);
  const env = { BROKER_NODE__MAX_CLIENTS: '3' };
  const { settings, effective } = loadConfig({ configFile, env, sets: ['log.level=debug'] });
  const { node, log } = settings;
  assert.deepEqual([log.file, log.level, node.maxClients, log.rotationCount], ['b', 'debug', 3, 1]);
  const originOf = (key: string): unknown[] =>
    effective
      .filter((value) => value.key === key)
      .map(({ origin, source }) => [origin.replace(/^.*\//, ''), source]);
  assert.deepEqual(originOf('log.file'), [['overrides.conf:1', 'overrides']]);
  assert.deepEqual(originOf('log.level'), [['--set', 'command line']]);
  assert.deepEqual(originOf('log.rotation.count'), [['broker.conf:5', 'file']]);
  assert.deepEqual(originOf('log.rotation.size'), [['default', 'default']]);
});

test('overrides.conf is looked for where --data-dir and --set say that the data are', (t) => {
  const { configFile, dataDir } = place(t, '', 'log.file = here\n');
  const elsewhere = join(dataDir, 'other');
  mkdirSync(elsewhere);
  writeFileSync(overridesFile(elsewhere), 'log.file = there\n');
  assert.equal(loadSettings({ configFile }).log.file, 'here');
  assert.equal(loadSettings({ configFile, dataDir: elsewhere }).log.file, 'there');
  const sets = [`node.data_dir=${elsewhere}`];
  assert.equal(loadSettings({ configFile, sets }).log.file, 'there');
});

test('overrides.conf cannot move the directory that it lies in', (t) => {
  const { configFile, dataDir } = place(t, '', 'node.data_dir = /elsewhere\n');
  assert.match(textsOf(() => loadConfig({ configFile }))[0] ?? '', /^Cannot set node\.data_dir: /);
  assert.equal(loadNodeOnly({ configFile }).dataDir, dataDir);
});

test('a key in overrides.conf that nobody knows any more is told with a remedy', (t) => {
  const { configFile } = place(t, '', 'visitors.max = 1\n');
  const [kept = ''] = textsOf(() => loadConfig({ configFile }));
  assert.match(
    kept,
    /^Cannot use key "visitors\.max": unknown key; it was set .* remove the line$/,
  );
  const overrides = new Map([['visitors.max', '1']]);
  const [wished] = textsOf(() => loadConfig({ configFile, overrides }));
  assert.equal(wished, 'Cannot use key "visitors.max": unknown key');
});

test('a bad line of overrides.conf is told with its place', (t) => {
  const { configFile } = place(t, '', '\nlog.level = loud\n');
  assert.throws(
    () => loadConfig({ configFile }),
    /data\/overrides\.conf:2: Cannot use log\.level = "loud"/,
  );
});

test('loadConfig checks values that would be written in place of the file', (t) => {
  const { configFile } = place(t, 'listener.tcp.a = 1883\n', 'log.level = loud\n');
  const check = (...overrides: [string, string][]): string[] =>
    textsOf(() => loadConfig({ configFile, overrides: new Map(overrides) }));
  assert.deepEqual(check(['log.level', 'info']), []);
  assert.deepEqual(check(['listener.tcp.b', '1883']), [
    'Cannot use listener.tcp.b = "1883": listener.tcp.a has that port already, expected another port or off',
  ]);
  assert.deepEqual(check(['log.file', 'a\nb = c']), [
    'Cannot set log.file: the value has several lines, expected one',
  ]);
});

test('writeOverrides writes what is read back, whatever is in the values', async (t) => {
  const { dataDir } = place(t, '');
  const values = new Map([
    ['zone.z.mountpoint', 'a/# b'],
    ['log.file', ' "quoted\\" '],
    ['empty', ''],
    ['plain', 'x=y'],
  ]);
  await writeOverrides(dataDir, values);
  const { assignments, problems } = fromOverrides(dataDir);
  assert.deepEqual(problems, []);
  const sorted = [...values].sort(([a], [b]) => (a < b ? -1 : 1));
  assert.deepEqual(
    assignments.map(({ key, value }) => [key, value]),
    sorted,
  );
  assert.equal(statSync(overridesFile(dataDir)).mode & 0o777, 0o600, 'it may hold passwords');
});

test('writeOverrides that cannot finish leaves the file as it was, and nothing beside it', async (t) => {
  const { dataDir } = place(t, '', 'log.file = old\n');
  rmSync(overridesFile(dataDir));
  // A directory of that name: the new file can be written, but not take its place.
  mkdirSync(overridesFile(dataDir));
  await assert.rejects(writeOverrides(dataDir, new Map([['log.file', 'new']])), /EISDIR|ENOTEMPTY/);
  assert.deepEqual(readdirSync(dataDir), ['overrides.conf']);
});
