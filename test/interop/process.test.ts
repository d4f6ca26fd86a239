import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { networkInterfaces } from 'node:os';
import { join } from 'node:path';
import type { Duplex } from 'node:stream';
import test from 'node:test';
import tls from 'node:tls';
import { createWebSocketStream, WebSocket } from 'ws';
import { RawClient } from '#test/raw-client';
import { BrokerProcess, launcher, onlyListeners, Place } from './broker-process.ts';
import { OutsideClient } from './outside-client.ts';
import { Program, toolOnPath } from './outside-program.ts';

const serverShuttingDown = 0x8b;
/** What the broker promises from SIGTERM to its end. */
const shutdownMs = 5000;

test('SIGTERM tells every MQTT 5 client and ends with exit code 0', async () => {
  await using broker = await BrokerProcess.start(onlyListeners('tcp', 'ws'));
  const tcp = `mqtt://127.0.0.1:${broker.port('tcp')}`;
  await using five = await OutsideClient.open(tcp, { clientId: 'five' });
  const ws = `ws://127.0.0.1:${broker.port('ws')}/mqtt`;
  await using web = await OutsideClient.open(ws, { clientId: 'web' });
  await using four = await OutsideClient.open(tcp, { clientId: 'four', version: 4 });
  const { code, err } = await broker.stop(shutdownMs);
  assert.deepEqual([code, err], [0, '']);
  assert.equal((await five.ended()).disconnect?.reasonCode, serverShuttingDown);
  assert.equal((await web.ended()).disconnect?.reasonCode, serverShuttingDown);
  assert.equal((await four.ended()).disconnect, undefined);
  assert.deepEqual(broker.events('broker.stopping')[0]?.['signal'], 'SIGTERM');
  assert.equal(broker.events('broker.unread').length, 0);
});

test('SIGINT ends the broker as SIGTERM does', async () => {
  await using broker = await BrokerProcess.start();
  await using client = await OutsideClient.open(`mqtt://127.0.0.1:${broker.port('tcp')}`);
  broker.program.signal('SIGINT');
  assert.equal((await broker.program.outcome(shutdownMs)).code, 0);
  assert.equal((await client.ended()).disconnect?.reasonCode, serverShuttingDown);
});

test('SIGTERM ends the broker in time whatever its clients do not do', async () => {
  await using broker = await BrokerProcess.start(onlyListeners('tcp', 'ssl', 'ws'));
  await using clients = new AsyncDisposableStack();
  const silent = (socket: Duplex): Duplex => {
    clients.defer(() => void socket.destroy());
    return socket.on('error', () => undefined);
  };
  // Some say nothing: no CONNECT, no handshake, no upgrade.
  for (const kind of ['tcp', 'ssl', 'ws'] as const) {
    await once(silent(connect(broker.port(kind), '127.0.0.1')), 'connect');
  }
  // Some do not read, and have more to read than the kernel keeps for them.
  const secured = silent(
    tls.connect({ port: broker.port('ssl'), host: '127.0.0.1', rejectUnauthorized: false }),
  );
  await once(secured, 'secureConnect');
  const web = new WebSocket(`ws://127.0.0.1:${broker.port('ws')}/mqtt`, 'mqtt');
  await once(web, 'open');
  const deaf = [
    await RawClient.open(broker.port('tcp')),
    new RawClient(secured, 5),
    new RawClient(silent(createWebSocketStream(web)), 5),
  ];
  for (const [i, client] of deaf.entries()) {
    clients.use(client);
    await client.connect({ clientId: `deaf-${i}` });
    await client.subscribe('flood');
    client.socket.pause();
  }
  await using publisher = await RawClient.open(broker.port('tcp'));
  await publisher.connect({ clientId: 'publisher' });
  const payload = Buffer.alloc(64 * 1024);
  for (let i = 0; i < 200; i++) publisher.sendPublish('flood', payload);
  await publisher.publish('flood', payload, { qos: 1 });
  const { code } = await broker.stop(shutdownMs);
  assert.equal(code, 0);
  // Each worker tells of its own.
  const unread = broker.events('broker.unread').map(({ connections }) => Number(connections));
  assert.equal(
    unread.reduce((sum, count) => sum + count, 0),
    deaf.length,
  );
});

test('SIGTERM ends the broker in time although nobody reads its log', async () => {
  using place = new Place();
  const sets = [...onlyListeners('tcp'), 'log.to=console', 'log.level=debug'];
  const child = spawn(launcher, place.args('foreground', sets), {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  await using cleanup = new AsyncDisposableStack();
  cleanup.defer(() => void child.kill('SIGKILL'));
  let port: string | undefined;
  for (let told = ''; port === undefined; ) {
    const [text] = (await once(child.stdout, 'data')) as [Buffer];
    told += text.toString();
    port = /^ {2}mqtt:tcp \S+:(\d+) .*\n {2}data in/m.exec(told)?.[1];
  }
  child.stdout.pause();
  // A line for each, and together more than the pipe and we keep.
  for (let i = 0; i < 40; i++) {
    const clients = Array.from({ length: 25 }, async (_, k) => {
      await using client = await RawClient.open(Number(port));
      await client.connect({ clientId: `${i}-${k}-${'x'.repeat(800)}` });
      await client.disconnect();
    });
    await Promise.all(clients);
  }
  child.kill('SIGTERM');
  const [code] = await once(child, 'exit', { signal: AbortSignal.timeout(shutdownMs) });
  assert.equal(code, 0);
});

test('a second broker on the same port tells which listener, and how to choose another', async () => {
  await using first = await BrokerProcess.start();
  using place = new Place();
  const taken = `127.0.0.1:${first.port('tcp')}`;
  const sets = [...onlyListeners(), `listener.tcp.external=${taken}`, 'log.to=off'];
  const { code, out, err } = await place.command('foreground', sets);
  assert.equal(code, 1);
  assert.equal(out, '');
  assert.match(
    err,
    new RegExp(`^Cannot listen on "${taken}" for listener\\.tcp\\.external: it is in use`),
  );
  assert.match(err, /--set listener\.tcp\.external=127\.0\.0\.1:<port>/);
  assert.equal(err.trim().split('\n').length, 1, 'one line and no stack');
  assert.equal(existsSync(join(place.dataDir, 'broker.pid')), false);
});

test('two brokers run side by side by --set alone', async () => {
  await using one = await BrokerProcess.start(onlyListeners('tcp', 'ssl', 'ws', 'wss'));
  await using two = await BrokerProcess.start(onlyListeners('tcp', 'ssl', 'ws', 'wss'));
  const clients = await Promise.all(
    [one, two].map((broker) =>
      OutsideClient.open(`mqtt://127.0.0.1:${broker.port('tcp')}`, { clientId: 'same' }),
    ),
  );
  await using cleanup = new AsyncDisposableStack();
  for (const [i, client] of clients.entries()) {
    cleanup.use(client);
    await client.subscribe('who', { qos: 1 });
    await client.publish('who', `broker ${i}`, { qos: 1 });
  }
  assert.deepEqual(await clients[0]?.payloads(1), ['broker 0']);
  assert.deepEqual(await clients[1]?.payloads(1), ['broker 1']);
});

test('bin/broker start, status, ping, pid, restart and stop follow a broker that serves', async () => {
  using place = new Place();
  const sets = onlyListeners('tcp');
  await using cleanup = new AsyncDisposableStack();
  cleanup.defer(async () => {
    await place.command('stop', sets);
  });
  const started = await place.command('start', sets);
  assert.deepEqual([started.code, started.err], [0, '']);
  const [, pid, port] =
    /is started: pid (\d+)\n.*\n {2}mqtt:tcp 127\.0\.0\.1:(\d+) /.exec(started.out) ?? [];
  assert.ok(pid && port, started.out);
  const client = cleanup.use(await OutsideClient.open(`mqtt://127.0.0.1:${port}`));
  assert.deepEqual(await place.command('ping', sets), { code: 0, out: 'pong\n', err: '' });
  assert.equal((await place.command('pid', sets)).out, `${pid}\n`);
  const status = await place.command('status', sets);
  assert.match(
    status.out,
    new RegExp(`^Node broker@127\\.0\\.0\\.1 is running\\n.*pid ${pid}, up `),
  );
  assert.match(status.out, new RegExp(`mqtt:tcp 127\\.0\\.0\\.1:${port}\\n$`));

  const restarted = await place.command('restart', sets);
  assert.equal(restarted.code, 0, restarted.err);
  assert.equal((await client.ended()).disconnect?.reasonCode, serverShuttingDown);
  assert.notEqual((await place.command('pid', sets)).out, `${pid}\n`);

  assert.deepEqual(await place.command('stop', sets), {
    code: 0,
    out: 'broker is stopped\n',
    err: '',
  });
  assert.equal((await place.command('ping', sets)).code, 1);
  assert.equal((await place.command('status', sets)).out, 'Node broker@127.0.0.1 is stopped\n');
});

test('the environment overrides the file, and --set overrides the environment', async () => {
  // The shipped file says 0.0.0.0:1883, which is not what the broker listens on here.
  const others = onlyListeners().filter((set) => !set.startsWith('listener.tcp.external='));
  const env = { BROKER_LISTENER__TCP__EXTERNAL: '127.0.0.1:0', BROKER_NODE__NAME: 'env@127.0.0.1' };
  await using broker = await BrokerProcess.start([...others, 'node.name=set@127.0.0.1'], { env });
  assert.notEqual(broker.port('tcp'), 1883);
  const [started] = broker.events('broker.started');
  assert.equal(started?.['node'], 'set@127.0.0.1');
  assert.deepEqual(started?.['listeners'], [`mqtt:tcp 127.0.0.1:${broker.port('tcp')}`]);
  await using client = await OutsideClient.open(`mqtt://127.0.0.1:${broker.port('tcp')}`);
  await client.publish('served', '', { qos: 1 });
});

test('the first start makes a certificate and says so, the second start uses it', async () => {
  using place = new Place();
  const certificates: string[] = [];
  for (const told of [1, 0]) {
    await using broker = await BrokerProcess.start(onlyListeners('ssl', 'wss'), { place });
    const events = broker.events('tls.self_signed.created');
    assert.deepEqual(
      events.map(({ level, file }) => [level, file]),
      told === 1 ? [['warning', place.certFile]] : [],
    );
    certificates.push(readFileSync(place.certFile, 'utf8'));
    const url = `mqtts://127.0.0.1:${broker.port('ssl')}`;
    await using client = await OutsideClient.open(url, { ca: certificates[0] ?? '' });
    await client.publish('trusted', '', { qos: 1 });
  }
  assert.equal(certificates[0], certificates[1]);
  assert.equal(statSync(join(place.dataDir, 'self-signed-key.pem')).mode & 0o777, 0o600);
});

const hasIpv6 = Object.values(networkInterfaces()).some((addresses) =>
  addresses?.some(({ address }) => address === '::1'),
);

test('a listener on an IPv6 address is told as it can be typed again', {
  skip: hasIpv6 ? false : 'this machine has no address ::1',
}, async () => {
  const sets = [...onlyListeners(), 'listener.tcp.external=[::1]:0'];
  await using broker = await BrokerProcess.start(sets);
  const shown = `[::1]:${broker.port('tcp')}`;
  await using client = await OutsideClient.open(`mqtt://${shown}`);
  await client.publish('served', '', { qos: 1 });
  assert.deepEqual(broker.events('broker.started')[0]?.['listeners'], [`mqtt:tcp ${shown}`]);
});

const perl = toolOnPath('perl');
const notify = toolOnPath('systemd-notify');

/** A supervisor's end of the notify socket: Node.js has no datagram sockets of the unix family. */
const receiver = `
  use IO::Socket::UNIX;
  $| = 1;
  my $s = IO::Socket::UNIX->new(Type => SOCK_DGRAM(), Local => $ARGV[0]) or die "bind: $!";
  print "bound\\n";
  while (defined $s->recv(my $told, 4096)) { $told =~ s/\\n/ /g; print "$told\\n"; }
`;

test('a supervisor is told when the broker is ready and when it stops', {
  skip: perl.skip || notify.skip,
}, async () => {
  using place = new Place();
  const socket = join(place.root, 'notify');
  await using supervisor = new Program(perl.path, ['-e', receiver, socket]);
  await supervisor.lines.take('the socket', (line) => line === 'bound');
  await using broker = await BrokerProcess.start(onlyListeners('tcp'), {
    place,
    env: { NOTIFY_SOCKET: socket },
  });
  await supervisor.lines.take('READY=1', (line) => line.includes('READY=1'));
  assert.ok(!supervisor.out.includes('STOPPING=1'));
  await broker.stop(shutdownMs);
  await supervisor.lines.take('STOPPING=1', (line) => line.includes('STOPPING=1'));
  assert.equal(broker.events('supervisor.unreachable').length, 0);
});

test('a configuration that cannot be used ends with 1, the file and the lines', async () => {
  using place = new Place();
  const file = join(place.root, 'broker.conf');
  writeFileSync(
    file,
    'listener.tcp.external = 127.0.0.1:0\n\nmqtt.max_packet_size = huge\nmqtt.max_qos = 1\n',
  );
  const { code, out, err } = await place.command('foreground', [], file);
  assert.equal(code, 1);
  assert.equal(out, '');
  assert.match(err, /^Cannot use the configuration: 2 problems\n/);
  assert.ok(err.includes(`${file}:3: Cannot use mqtt.max_packet_size = "huge"`), err);
  assert.ok(err.includes(`${file}:4: `), err);
  assert.equal(existsSync(join(place.dataDir, 'broker.pid')), false);
});

test('the log file is renamed at its size, and only so many are kept', async () => {
  using place = new Place();
  const sets = ['log.to=file', 'log.level=debug', 'log.rotation.size=1KB', 'log.rotation.count=2'];
  await using broker = await BrokerProcess.start([...onlyListeners('tcp'), ...sets], { place });
  const url = `mqtt://127.0.0.1:${broker.port('tcp')}`;
  for (let i = 0; i < 30; i++) {
    await using client = await OutsideClient.open(url, { clientId: `logged-${i}` });
    await client.leave();
  }
  await broker.stop();
  const file = join(place.logDir, 'broker.log');
  for (const name of [file, `${file}.1`, `${file}.2`]) {
    const { size } = statSync(name);
    assert.ok(size > 0 && size <= 1024, `${name} has ${size} bytes`);
  }
  assert.equal(existsSync(`${file}.3`), false);
  const newest = readFileSync(`${file}.1`, 'utf8') + readFileSync(file, 'utf8');
  const lines = newest.trim().split('\n');
  assert.equal((JSON.parse(lines.at(-1) ?? '') as { event: string }).event, 'broker.stopped');
  assert.match(newest, /"clientId":"logged-29"/);
});

test('no password gets into the log, whether it was right or wrong', async () => {
  const password = 'pA55-word-that-nobody-may-see';
  using place = new Place();
  const log = ['log.to=both', 'log.level=debug'];
  const closed = ['listener.tcp.closed=127.0.0.1:0', 'listener.tcp.closed.zone=closed'];
  const sets = [...onlyListeners('tcp'), ...log, ...closed, 'zone.closed.allow_anonymous=false'];
  await using broker = await BrokerProcess.start(sets, { place });
  for (const version of [3, 4, 5] as const) {
    const options = { version, username: 'known-user', password };
    const url = `mqtt://127.0.0.1:${broker.port('tcp')}`;
    const letIn = { ...options, clientId: `let-in-${version}` };
    await using client = await OutsideClient.open(url, letIn);
    await client.publish('secret/topic', password, { qos: 1, retain: true });
    await client.leave();
    const refused = { ...options, clientId: `refused-${version}` };
    await assert.rejects(
      OutsideClient.open(`mqtt://127.0.0.1:${broker.port('tcp', 1)}`, refused),
      /Not authorized/,
    );
  }
  const { out } = await broker.stop();
  const written = readFileSync(join(place.logDir, 'broker.log'), 'utf8');
  for (const text of [out, written]) {
    assert.match(text, /let-in-5/);
    assert.match(text, /refused-3.*known-user/);
    assert.ok(!text.includes(password));
    assert.ok(!text.includes(Buffer.from(password).toString('base64')));
    assert.ok(!text.includes(Buffer.from(password).toString('hex')));
  }
});
