import assert from 'node:assert/strict';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type TestContext } from 'node:test';
import { isSecretKey } from '#config/key';
import { ownKeys } from '#config/key-table';
import { type LoadOptions, loadConfig, loadSettings } from '#config/load';
import { overridesFile } from '#config/overrides';
import { ConfigStore, fixedKeysOf, type LiveKey, shownValue } from './config-store.ts';
import { OperatingError } from './failures.ts';

interface Bench {
  readonly configs: ConfigStore;
  readonly options: LoadOptions & { readonly configFile: string };
  readonly overrides: string;
}

function bench(
  t: TestContext,
  conf: string,
  more: LoadOptions = {},
  live: ReadonlyMap<string, LiveKey> = new Map(),
): Bench {
  const root = mkdtempSync(join(tmpdir(), 'broker-configs-'));
  t.after(() => rmSync(root, { recursive: true }));
  const dataDir = join(root, 'data');
  mkdirSync(dataDir);
  const configFile = join(root, 'broker.conf');
  writeFileSync(configFile, `node.data_dir = ${dataDir}\n${conf}`);
  const options = { ...more, configFile };
  const { settings, effective } = loadConfig(options);
  const configs = new ConfigStore({ settings, effective, configFile, keys: ownKeys }, live);
  return { configs, options, overrides: overridesFile(dataDir) };
}

const put = (key: string, value: string): Map<string, string> => new Map([[key, value]]);

const refusal = (message: string | RegExp) => (error: unknown) => {
  assert.ok(error instanceof OperatingError && error.code === 102, String(error));
  if (typeof message === 'string') assert.equal(error.message, message);
  else assert.match(error.message, message);
  return true;
};

test('what is set holds at the next start', async (t) => {
  const { configs, options } = bench(t, 'log.file = a\n');
  assert.equal(await configs.change('broker', put('log.file', 'b')), 'after restart');
  assert.equal(loadSettings(options).log.file, 'b');
  assert.equal(await configs.change('broker', put('zone.new.max_inflight', '7')), 'after restart');
  const { log, zones } = loadSettings(options);
  assert.deepEqual([log.file, zones.get('new')?.maxInflight], ['b', 7]);
});

test('values tell what runs, and what will hold where that is something else', async (t) => {
  const { configs } = bench(t, 'log.file = a\nlog.error.file = errors\n');
  const find = (key: string) => configs.values().find((value) => value.key === key);
  await configs.change('broker', put('log.file', 'b'));
  await configs.change('broker', put('log.critical.file', 'c'));
  assert.deepEqual([find('log.file')?.running?.text, find('log.file')?.next?.text], ['a', 'b']);
  assert.equal(find('log.critical.file')?.running?.text, undefined);
  assert.equal(find('log.critical.file')?.next?.text, 'c');
  assert.equal(find('log.error.file')?.next?.text, 'errors');
  assert.equal(find('retainer.max_payload_size')?.app, 'broker_retainer');
});

test('values tell what runs also while the files are broken', (t) => {
  const { configs, options } = bench(t, 'log.file = a\n');
  writeFileSync(options.configFile, 'nonsense');
  const value = configs.values().find(({ key }) => key === 'log.file');
  assert.deepEqual([value?.running?.text, value?.next?.text], ['a', 'a']);
});

test('what the loader would refuse is refused with its words, and nothing is written', async (t) => {
  const { configs, overrides } = bench(t, 'listener.tcp.a = 1883\n');
  const refused: [string, string, string | RegExp][] = [
    ['log.levle', 'info', 'Cannot use key "log.levle": unknown key, did you mean "log.level"?'],
    [
      'log.level',
      'warn',
      /^Cannot use log\.level = "warn": expected one of debug, .* did you mean "warning"\?$/,
    ],
    [
      'node.max_clients',
      '0',
      'Cannot use node.max_clients = "0": expected a whole number, 1 or more',
    ],
    [
      'listener.tcp.b',
      '1883',
      /^Cannot use listener\.tcp\.b = "1883": listener\.tcp\.a has that port already/,
    ],
    ['listener.tcp.c.backlog', '5', /there is no such listener/],
    [
      'node.data_dir',
      '/x',
      /^Cannot set node\.data_dir: what is set while the broker runs lies in that/,
    ],
    ['log.file', 'a\nb', /several lines/],
    [
      'retainer.max_payload_size',
      '1MB',
      'Cannot set retainer.max_payload_size of broker: it is a key of broker_retainer',
    ],
  ];
  for (const [key, value, message] of refused) {
    await assert.rejects(configs.change('broker', put(key, value)), refusal(message));
  }
  assert.ok(!existsSync(overrides));
});

test('of several keys none is set when one is bad', async (t) => {
  const { configs, overrides } = bench(t, '');
  const both = new Map([
    ['log.file', 'b'],
    ['log.level', 'loud'],
  ]);
  await assert.rejects(configs.change('broker', both), refusal(/loud/));
  assert.ok(!existsSync(overrides));
});

test('a key that environment or command line set is not set here', async (t) => {
  const env = { BROKER_LOG__FILE: 'e' };
  const { configs } = bench(t, '', { env, sets: ['log.level=error'] });
  await assert.rejects(
    configs.change('broker', put('log.file', 'b')),
    refusal(
      'Cannot set log.file: "environment BROKER_LOG__FILE" sets it, which stands before what is set here',
    ),
  );
  await assert.rejects(
    configs.change('broker', put('log.level', 'info')),
    refusal(/"--set" sets it/),
  );
});

test('what environment and command line set is part of the check', async (t) => {
  const { configs } = bench(t, '', { sets: ['listener.tcp.a=1883'] });
  await assert.rejects(
    configs.change('broker', put('listener.tcp.b', '1883')),
    refusal(/listener\.tcp\.b has that port/),
  );
  assert.equal(await configs.change('broker', put('listener.tcp.a.backlog', '5')), 'after restart');
});

test('a file that was broken since the start refuses every change, with its place', async (t) => {
  const { configs, options } = bench(t, '');
  writeFileSync(options.configFile, 'log.level = loud\n');
  await assert.rejects(
    configs.change('broker', put('log.file', 'b')),
    refusal(/broker\.conf:1: Cannot use log\.level = "loud"/),
  );
});

test('what is taken away lets the files hold again', async (t) => {
  const { configs, options, overrides } = bench(t, 'log.file = a\n');
  await configs.change('broker', put('log.file', 'b'));
  const gone = new Map([['log.file', undefined]]);
  assert.equal(await configs.change('broker', gone), 'now', 'it never held');
  assert.equal(loadSettings(options).log.file, 'a');
  assert.doesNotMatch(readFileSync(overrides, 'utf8'), /log\.file/);
  await assert.rejects(configs.change('broker', gone), refusal(/^Cannot unset "log\.file": /));
});

test('a line that a later version does not know can be taken away', async (t) => {
  const { configs, options, overrides } = bench(t, '');
  writeFileSync(overrides, 'log.bygone = 1\nlog.file = b\n');
  await assert.rejects(configs.change('broker', put('log.file', 'c')), refusal(/log\.bygone/));
  await configs.change('broker', new Map([['log.bygone', undefined]]));
  assert.equal(loadSettings(options).log.file, 'b');
});

test('what holds already is effective now, what a zone inherits is looked at too', async (t) => {
  const { configs } = bench(t, 'log.file = a\nmqtt.max_topic_alias = 5\nzone.z.max_inflight = 1\n');
  assert.equal(await configs.change('broker', put('log.file', 'a')), 'now');
  assert.equal(await configs.change('broker', put('mqtt.max_topic_alias', '5')), 'now');
  assert.equal(await configs.change('broker', put('mqtt.max_topic_alias', '6')), 'after restart');
  assert.equal(await configs.change('broker', new Map()), 'now');
});

test('a live key takes effect at once, and only when it is the one that is set', async (t) => {
  let level = 'warning';
  const applied: string[] = [];
  const logLevel: LiveKey = {
    current: () => level,
    apply: async (text) => {
      applied.push(text);
      level = text;
    },
  };
  const { configs, options } = bench(t, '', {}, new Map([['log.level', logLevel]]));
  assert.equal(await configs.change('broker', put('log.level', 'info')), 'now');
  assert.equal(loadSettings(options).log.level, 'info');
  level = 'debug';
  await configs.change('broker', put('log.file', 'b'));
  assert.deepEqual(applied, ['info']);
  const value = configs.values().find(({ key }) => key === 'log.level');
  assert.deepEqual([value?.running?.text, value?.next?.text], ['debug', 'info']);
  assert.equal(await configs.change('broker', new Map([['log.level', undefined]])), 'now');
  assert.deepEqual(applied, ['info', 'warning']);
});

test('changes that come at once are all kept', async (t) => {
  const { configs, options } = bench(t, '');
  const names = Array.from({ length: 20 }, (_, index) => `z${index}`);
  const changes = names.map((name) =>
    configs.change('broker', put(`zone.${name}.max_inflight`, '1')),
  );
  await assert.rejects(configs.change('broker', put('log.level', 'loud')));
  await Promise.all(changes);
  assert.deepEqual([...loadSettings(options).zones.keys()].sort(), names.sort());
});

test('what can be set has a bound', async (t) => {
  const { configs, overrides } = bench(t, '');
  const keys = Array.from({ length: 1001 }, (_, index) => `zone.z${index}.max_inflight`);
  const many = new Map(keys.map((key) => [key, '1']));
  await assert.rejects(configs.change('broker', many), refusal(/expected at most 1000$/));
  assert.ok(!existsSync(overrides));
});

test('secrets are not shown, names of hash functions are', () => {
  assert.equal(shownValue('dashboard.default_user.password', 'public'), '******');
  assert.equal(shownValue('management.application.default_secret', 'x'), '******');
  assert.equal(shownValue('management.application.default_secret', ''), '');
  assert.equal(shownValue('log.file', 'x'), 'x');
  assert.ok(!isSecretKey('auth.client.password_hash'));
});

test('the keys of a plugin without names are whole', () => {
  const patterns = fixedKeysOf(ownKeys, 'broker_retainer').map(({ pattern }) => pattern);
  assert.ok(patterns.includes('retainer.max_payload_size'));
  assert.ok(fixedKeysOf(ownKeys, 'broker').every(({ pattern }) => !/[$<(]/.test(pattern)));
});
