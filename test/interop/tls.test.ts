import assert from 'node:assert/strict';
import { readFileSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';
import { connectPacket } from '#test/raw-bytes';
import { BrokerProcess, onlyListeners, Place } from './broker-process.ts';
import { OutsideClient } from './outside-client.ts';
import { type Outcome, Program, runToEnd, toolOf } from './outside-program.ts';

const openssl = toolOf('openssl');
const { skip } = openssl;

const connackOfSuccess = Buffer.from([0x20, 2, 0, 0]);
const connectV4 = connectPacket({ level: 4 });

test('a certificate that is replaced on disk holds for new connections only', {
  skip,
}, async () => {
  using place = new Place();
  const files = await selfSigned(place, 'live', 'first.example');
  await using broker = await BrokerProcess.start(
    [...onlyListeners('ssl', 'wss'), ...['ssl', 'wss'].flatMap((kind) => serverFiles(kind, files))],
    { place },
  );
  const url = `mqtts://127.0.0.1:${broker.port('ssl')}`;
  const trust = (cert: string) => ({
    ca: readFileSync(cert),
    checkServerIdentity: () => undefined,
  });
  await using old = await OutsideClient.open(url, { ...trust(files.cert), clientId: 'old' });
  await old.subscribe('still', { qos: 1 });
  assert.match((await handshake(broker.port('ssl'))).out, /CN ?= ?first.example/);

  const fresh = await selfSigned(place, 'fresh', 'second.example');
  renameSync(fresh.key, files.key);
  renameSync(fresh.cert, files.cert);
  await broker.event('tls.certificate.reloaded');
  await broker.event('tls.certificate.reloaded');
  for (const kind of ['ssl', 'wss'] as const) {
    assert.match((await handshake(broker.port(kind))).out, /CN ?= ?second.example/);
  }
  await using young = await OutsideClient.open(url, { ...trust(files.cert), clientId: 'young' });
  await young.publish('still', 'connected', { qos: 1 });
  assert.deepEqual(await old.payloads(1), ['connected']);
});

test('a new certificate that cannot be used leaves the old one in place', { skip }, async () => {
  using place = new Place();
  const files = await selfSigned(place, 'live', 'good.example');
  const other = await selfSigned(place, 'other', 'not-for-this-key.example');
  await using broker = await BrokerProcess.start(
    [...onlyListeners('ssl'), ...serverFiles('ssl', files)],
    { place, expectedErrors: ['tls.certificate.kept'] },
  );
  renameSync(other.cert, files.cert);
  assert.equal((await broker.event('tls.certificate.kept')).level, 'error');
  assert.match((await handshake(broker.port('ssl'))).out, /CN ?= ?good.example/);
});

test('the common name of a client certificate becomes the username', { skip }, async () => {
  using place = new Place();
  const ca = await selfSigned(place, 'ca', 'Test CA');
  const client = await signed(place, ca, 'client', 'device-42');
  const stranger = await selfSigned(place, 'stranger', 'device-42');
  await using broker = await BrokerProcess.start(
    [
      ...onlyListeners('ssl', 'tcp'),
      'listener.ssl.external.verify=verify_peer',
      'listener.ssl.external.fail_if_no_peer_cert=true',
      'listener.ssl.external.peer_cert_as_username=cn',
      `listener.ssl.external.cacertfile=${ca.cert}`,
      'listener.ssl.external.zone=devices',
      'zone.devices.allow_anonymous=true',
      'zone.devices.mountpoint=devices/%u/',
    ],
    { place },
  );
  // Its username is seen from outside by the mountpoint that is made of it.
  await using watcher = await OutsideClient.open(`mqtt://127.0.0.1:${broker.port('tcp')}`);
  await watcher.subscribe('devices/#', { qos: 1 });
  const url = `mqtts://127.0.0.1:${broker.port('ssl')}`;
  const server = { ca: readFileSync(place.certFile) };
  const identity = ({ key, cert }: Pair) => ({ key: readFileSync(key), cert: readFileSync(cert) });
  await using device = await OutsideClient.open(url, {
    ...server,
    ...identity(client),
    username: 'somebody-else',
  });
  await device.publish('state', 'on', { qos: 1 });
  const { topic } = await watcher.next();
  assert.equal(topic, 'devices/device-42/state');
  await assert.rejects(OutsideClient.open(url, server), 'no certificate');
  await assert.rejects(
    OutsideClient.open(url, { ...server, ...identity(stranger) }),
    'a certificate of another authority',
  );
});

test('openssl s_client gets a CONNACK by TLS 1.2 and by TLS 1.3', { skip }, async () => {
  await using broker = await BrokerProcess.start(onlyListeners('ssl'));
  const port = broker.port('ssl');
  for (const [option, name] of [
    ['-tls1_2', 'TLSv1.2'],
    ['-tls1_3', 'TLSv1.3'],
  ] as const) {
    const trust = [
      '-CAfile',
      broker.place.certFile,
      '-verify_return_error',
      '-verify_ip',
      '127.0.0.1',
    ];
    const { out } = await handshake(port, [option, ...trust]);
    assert.match(out, new RegExp(`(New|Reused), ${name}, Cipher is`));
    assert.match(out, /Verify return code: 0 \(ok\)/);
    assert.deepEqual(await connackThrough(port, option), connackOfSuccess);
  }
  const old = await handshake(port, ['-tls1_1', '-cipher', 'ALL:@SECLEVEL=0']);
  assert.match(old.out, /Cipher is \(NONE\)/);
});

test('a listener for TLS 1.3 alone refuses TLS 1.2', { skip }, async () => {
  await using broker = await BrokerProcess.start([
    ...onlyListeners('ssl'),
    'listener.ssl.external.tls_versions=tlsv1.3',
  ]);
  const port = broker.port('ssl');
  assert.match((await handshake(port, ['-tls1_2'])).out, /Cipher is \(NONE\)/);
  assert.deepEqual(await connackThrough(port, '-tls1_3'), connackOfSuccess);
});

interface Pair {
  readonly key: string;
  readonly cert: string;
}

function serverFiles(kind: string, { key, cert }: Pair): string[] {
  const listener = `listener.${kind}.external`;
  return [`${listener}.keyfile=${key}`, `${listener}.certfile=${cert}`];
}

const newKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];

async function selfSigned(place: Place, name: string, commonName: string): Promise<Pair> {
  const pair = { key: join(place.root, `${name}.key`), cert: join(place.root, `${name}.pem`) };
  const subject = ['-subj', `/CN=${commonName}`, '-days', '2'];
  await make('req', ['-x509', ...newKey, ...subject, '-keyout', pair.key, '-out', pair.cert]);
  return pair;
}

async function signed(place: Place, ca: Pair, name: string, commonName: string): Promise<Pair> {
  const pair = { key: join(place.root, `${name}.key`), cert: join(place.root, `${name}.pem`) };
  const request = join(place.root, `${name}.csr`);
  const subject = ['-subj', `/O=Devices/CN=${commonName}`];
  await make('req', [...newKey, ...subject, '-keyout', pair.key, '-out', request]);
  const issuer = ['-CA', ca.cert, '-CAkey', ca.key, '-set_serial', '2', '-days', '2'];
  await make('x509', ['-req', '-in', request, ...issuer, '-out', pair.cert]);
  return pair;
}

async function make(command: string, args: readonly string[]): Promise<void> {
  const { code, err } = await runToEnd(openssl.path, [command, ...args]);
  assert.equal(code, 0, err);
}

/** What s_client tells about a handshake; it ends with its input. */
function handshake(port: number, options: readonly string[] = []): Promise<Outcome> {
  const where = ['-connect', `127.0.0.1:${port}`];
  return runToEnd(openssl.path, ['s_client', ...where, ...options]);
}

/** The first bytes that come back when a CONNECT is sent through s_client. */
async function connackThrough(port: number, option: string): Promise<Buffer> {
  const where = ['-connect', `127.0.0.1:${port}`];
  await using program = new Program(openssl.path, ['s_client', '-quiet', ...where, option], {
    encoding: 'latin1',
  });
  program.write(connectV4);
  return Buffer.from(await program.output(connackOfSuccess.length), 'latin1');
}
