import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import test, { type TestContext } from 'node:test';
import { ConfigError, type ConfigProblem } from './config-error.ts';
import { installRoot } from '#base/install-root';
import { type LoadOptions, loadConfig, loadNodeOnly, loadSettings } from './load.ts';

/** Files of one test: name under its etc/ → content. Gives the path of the main one. */
function confIn(t: TestContext, files: Readonly<Record<string, string>>): string {
  const root = mkdtempSync(join(tmpdir(), 'broker-load-'));
  t.after(() => rmSync(root, { recursive: true }));
  mkdirSync(join(root, 'etc', 'plugins'), { recursive: true });
  for (const [name, content] of Object.entries(files)) {
    writeFileSync(join(root, 'etc', name), content);
  }
  return join(root, 'etc', 'broker.conf');
}

function problemsOf(options: LoadOptions): readonly ConfigProblem[] {
  try {
    loadSettings(options);
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
    throw error;
  }
  return [];
}

const textsOf = (...sets: string[]): string[] => problemsOf({ sets }).map(({ text }) => text);

test('loadSettings lets the later source win', (t) => {
  const configFile = confIn(t, {
    'broker.conf': 'node.name = main@h\nnode.max_clients = 1\nlog.level = info\nlog.file = a\n',
    'plugins/a.conf': 'node.max_clients = 2\nlog.level = notice\nlog.file = b\n',
    'plugins/b.conf': 'node.max_clients = 3\n',
    'plugins/c.txt': 'not = read\n',
  });
  const env = { BROKER_LOG__LEVEL: 'error', BROKER_LOG__FILE: 'c' };
  const { node, log } = loadSettings({ configFile, env, sets: ['log.file=d', 'log.file=e'] });
  assert.equal(node.name, 'main@h');
  assert.equal(node.maxClients, 3);
  assert.equal(log.level, 'error');
  assert.equal(log.file, 'e');
});

test('loadSettings reads environment names in any case and leaves those of others alone', () => {
  const env = {
    broker_listener__tcp__external: '127.0.0.1:2883',
    BROKER_ALLOW_ANONYMOUS: 'true',
    BROKER_PORT: 'tcp://10.0.0.1:1883',
    BROKER_SERVICE_HOST: '10.0.0.1',
    PATH: '/bin',
  };
  const { listeners, zones } = loadSettings({ env });
  assert.equal(listeners[0]?.port, 2883);
  assert.equal(zones.get('external')?.allowAnonymous, true);
});

test('loadSettings tells an environment name that is one of ours with a slip', () => {
  const env = { BROKER_NODE_NAME: 'x@h', BROKER_ALOW_ANONYMOUS: 'true', BROKER_NODE__NAMES: 'x' };
  assert.deepEqual(
    problemsOf({ env }).map(({ text }) => text),
    [
      'Cannot use BROKER_NODE_NAME: unknown key, did you mean BROKER_NODE__NAME?',
      'Cannot use BROKER_ALOW_ANONYMOUS: unknown key, did you mean BROKER_ALLOW_ANONYMOUS?',
      'Cannot use key "node.names": unknown key, did you mean "node.name"?',
    ],
  );
});

test('loadSettings tells all problems at once, each with its place', (t) => {
  const configFile = confIn(t, {
    'broker.conf': 'node.name = broker\nnode.name = twice@h\nnonsense\nlog.level = warn\n',
    'plugins/x.conf': '\nretainer.max_payload_size = big\n',
  });
  const env = { BROKER_NODE__MAX_CLIENTS: '' };
  const found = problemsOf({ configFile, env, sets: ['log.to=disk', 'log.to'] });
  assert.deepEqual(
    found.map(({ where }) => where.split('/').at(-1)),
    [
      'broker.conf:2',
      'broker.conf:3',
      '--set',
      'broker.conf:1',
      'broker.conf:4',
      'x.conf:2',
      'environment BROKER_NODE__MAX_CLIENTS',
      '--set',
    ],
  );
  const error = new ConfigError(found);
  assert.match(error.message, /^Cannot use the configuration: 8 problems\n {2}/);
  assert.equal(error.message.split('\n').length, 9);
});

test('loadSettings refuses a bad line also when a later source replaces it', (t) => {
  const configFile = confIn(t, { 'broker.conf': 'node.max_clients = many\n' });
  assert.equal(problemsOf({ configFile, sets: ['node.max_clients=5'] }).length, 1);
});

test('loadSettings says that a file is missing', (t) => {
  const configFile = join(confIn(t, {}), '..', 'none.conf');
  const [problem, ...more] = problemsOf({ configFile });
  assert.equal(problem?.text, 'Cannot read the configuration file: it does not exist');
  assert.deepEqual(more, []);
});

test('an unknown key comes with the one that was probably meant', () => {
  assert.deepEqual(
    textsOf(
      'zone.external.max_inflght=1',
      'listner.tcp.external=1883',
      'Node.Name=x@h',
      'mqtt.max_inflight=1',
      'log.levle=info',
      'something.else.entirely=1',
    ),
    [
      'Cannot use key "zone.external.max_inflght": unknown key, did you mean "zone.external.max_inflight"?',
      'Cannot use key "listner.tcp.external": unknown key, did you mean "listener.tcp.external"?',
      'Cannot use key "Node.Name": unknown key, did you mean "node.name"?',
      'Cannot use key "mqtt.max_inflight": unknown key, did you mean "zone.<name>.max_inflight"?',
      'Cannot use key "log.levle": unknown key, did you mean "log.level"?',
      'Cannot use key "something.else.entirely": unknown key',
    ],
  );
});

test('a key of the original platform is told why it is none here', () => {
  assert.deepEqual(textsOf('node.process_limit=2048000'), [
    'Cannot use key "node.process_limit": it tunes the runtime of the original platform and has no meaning here; the line can be removed',
  ]);
});

test('a bad word comes with the one that was probably meant', () => {
  assert.deepEqual(textsOf('log.level=warn', 'log.level=warnign'), [
    'Cannot use log.level = "warn": expected one of debug, info, notice, warning, error, critical, alert, emergency, did you mean "warning"?',
    'Cannot use log.level = "warnign": expected one of debug, info, notice, warning, error, critical, alert, emergency, did you mean "warning"?',
  ]);
});

test('a zone takes its own key, else the one of the broker, else what holds when absent', () => {
  const { zones } = loadSettings({
    sets: [
      'mqtt.max_packet_size=2MB',
      'acl_nomatch=allow',
      'zone.a.max_packet_size=3MB',
      'zone.a.max_inflight=7',
      'zone.b.acl_nomatch=deny',
    ],
  });
  assert.deepEqual([...zones.keys()], ['a', 'b']);
  const a = zones.get('a');
  const b = zones.get('b');
  assert.deepEqual([a?.maxPacketBytes, b?.maxPacketBytes], [3 * 1024 ** 2, 2 * 1024 ** 2]);
  assert.deepEqual([a?.aclNomatch, b?.aclNomatch], ['allow', 'deny']);
  assert.deepEqual([a?.maxInflight, b?.maxInflight], [7, 0]);
  assert.deepEqual([a?.maxTopicAlias, a?.serverKeepaliveSeconds], [0, undefined]);
});

test('a zone exists when a listener names it', () => {
  const { zones } = loadSettings({ sets: ['listener.tcp.x=1883', 'listener.tcp.x.zone=far'] });
  assert.deepEqual([...zones.keys()], ['far']);
});

test('without a line the closed answers hold', () => {
  const { zones, listeners } = loadSettings({ sets: ['zone.z.max_inflight=1'] });
  const zone = zones.get('z');
  assert.deepEqual(
    [zone?.allowAnonymous, zone?.aclNomatch, zone?.enableAcl],
    [false, 'deny', true],
  );
  assert.deepEqual(listeners, []);
});

test('a listener is made by its address, switched off by off, and has its parts by its kind', () => {
  const { listeners } = loadSettings({
    sets: [
      'listener.tcp.a=[::1]:1884',
      'listener.ssl.b=8883',
      'listener.ws.c=8083',
      'listener.wss.d=8084',
      'listener.tcp.e=1885',
      'listener.tcp.e.backlog=5',
      'listener.tcp.e=off',
      'listener.ssl.b.ciphers=A, B',
      'listener.tcp.a.access.10=deny all',
      'listener.tcp.a.access.9=allow 10.0.0.0/8',
    ],
  });
  assert.deepEqual(
    listeners.map(({ kind, name, host, port }) => [kind, name, host, port]),
    [
      ['tcp', 'a', '::1', 1884],
      ['ssl', 'b', undefined, 8883],
      ['ws', 'c', undefined, 8083],
      ['wss', 'd', undefined, 8084],
    ],
  );
  assert.deepEqual(
    listeners.map(({ tls, ws }) => [tls !== undefined, ws !== undefined]),
    [
      [false, false],
      [true, false],
      [false, true],
      [true, true],
    ],
  );
  assert.deepEqual(listeners[0]?.access, [
    { allow: true, range: '10.0.0.0/8' },
    { allow: false, range: 'all' },
  ]);
  assert.equal(listeners[1]?.tls?.ciphers, 'A:B');
  assert.deepEqual(
    [listeners[1]?.tls?.minVersion, listeners[1]?.tls?.maxVersion],
    ['TLSv1.2', 'TLSv1.3'],
  );
  assert.equal(listeners[1]?.tls?.keyFile, undefined);
});

test('keys that contradict each other are told', (t) => {
  const there = confIn(t, { 'broker.conf': '' });
  assert.deepEqual(
    textsOf(
      'listener.tcp.a=0.0.0.0:1883',
      'listener.tcp.b=127.0.0.1:1883',
      'listener.tcp.c=[::1]:1883',
      'listener.tcp.d=0',
      'listener.tcp.e=0',
      'listener.tcp.f.backlog=5',
      'listener.ssl.a=8883',
      `listener.ssl.a.keyfile=${there}`,
      'listener.ssl.a.ciphers=A',
      'listener.ssl.a.psk_ciphers=B',
      'listener.ssl.a.fail_if_no_peer_cert=true',
    ),
    [
      'Cannot use listener.tcp.f.backlog: there is no such listener, expected a line listener.tcp.f = <port>',
      'Cannot use listener.ssl.a.keyfile alone: expected listener.ssl.a.certfile as well',
      'Cannot use listener.ssl.a.psk_ciphers: ciphers is set too, expected one of the two',
      'Cannot use listener.ssl.a.fail_if_no_peer_cert: no certificate is asked for, expected verify = verify_peer',
      'Cannot use listener.tcp.b = "127.0.0.1:1883": listener.tcp.a has that port already, expected another port or off',
    ],
  );
});

test('a bad address of a listener is told once, not once more for its other keys', () => {
  assert.equal(textsOf('listener.tcp.a=nowhere', 'listener.tcp.a.backlog=5').length, 1);
});

test('a key of another kind of listener is unknown', () => {
  assert.match(textsOf('listener.tcp.a=1', 'listener.tcp.a.mqtt_path=/x')[0] ?? '', /unknown key/);
});

test('a file that cannot be read is refused when the configuration is loaded', () => {
  assert.match(
    textsOf('listener.ssl.a=8883', 'listener.ssl.a.dhfile=no/such.pem')[0] ?? '',
    /a file that exists/,
  );
});

test('relative paths start at the directory that holds etc/, --data-dir at the current one', () => {
  const inRoot = loadSettings({ sets: ['node.data_dir=d', 'log.dir=/var/log'], root: '/srv/x' });
  assert.deepEqual([inRoot.node.dataDir, inRoot.log.dir], ['/srv/x/d', '/var/log']);
  assert.equal(loadSettings({}).log.dir, resolve(installRoot, 'log'));
  assert.equal(
    loadSettings({ dataDir: 'd', sets: ['node.data_dir=e'] }).node.dataDir,
    resolve('d'),
  );
});

test('the settings cannot be changed', () => {
  const settings = loadSettings({ sets: ['zone.z.max_inflight=1', 'listener.tcp.a=1883'] });
  const { zones, listeners } = settings as unknown as {
    zones: Map<string, { maxInflight: number }>;
    listeners: object[];
  };
  assert.throws(() => zones.set('y', { maxInflight: 1 }), /frozen/);
  assert.throws(() => Object.assign(zones.get('z') ?? {}, { maxInflight: 2 }), TypeError);
  assert.throws(() => listeners.push({}), TypeError);
  assert.ok(structuredClone(settings).zones.has('z'), 'a worker thread can be given a copy');
});

test('loadConfig tells where each value comes from', (t) => {
  const configFile = confIn(t, { 'broker.conf': 'node.name = x@h\nmqtt.max_qos_allowed = 1\n' });
  const { effective } = loadConfig({
    configFile,
    env: { BROKER_NODE__MAX_CLIENTS: '9' },
    sets: ['zone.z.max_inflight=1'],
  });
  const originOf = (key: string): string | undefined =>
    effective.find((value) => value.key === key)?.origin.replace(/^.*\//, '');
  assert.equal(originOf('node.name'), 'broker.conf:1');
  assert.equal(originOf('node.max_clients'), 'environment BROKER_NODE__MAX_CLIENTS');
  assert.equal(originOf('zone.z.max_inflight'), '--set');
  assert.equal(originOf('zone.z.max_qos_allowed'), 'broker.conf:2');
  assert.equal(originOf('zone.z.retry_interval'), 'default');
  assert.equal(originOf('zone.z.mountpoint'), undefined);
});

test('loadNodeOnly finds the node in a configuration with mistakes elsewhere', () => {
  const node = loadNodeOnly({ sets: ['node.data_dir=/x', 'log.level=loud', 'no.key=1'] });
  assert.equal(node.dataDir, '/x');
});
