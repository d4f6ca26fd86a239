import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { readFileSync, renameSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';
import { type ConnectionOptions, connect, type TLSSocket } from 'node:tls';
import { VirtualClock } from '#base/clock';
import type { TlsSettings } from '#config/settings';
import { collect, connectClient } from './client-fixture.ts';
import { listenerSettings, plainTls, TempDir, TriedListener, until } from './listener-fixture.ts';
import { ensureSelfSigned } from './self-signed.ts';

const watchTimes = { settleMs: 5, pollMs: 60_000 };

function sslSettings(changes: Partial<TlsSettings>): ReturnType<typeof listenerSettings> {
  return listenerSettings('ssl', { tls: { ...plainTls, ...changes } });
}

async function handshake(port: number, options: ConnectionOptions = {}): Promise<TLSSocket> {
  const { promise, resolve, reject } = Promise.withResolvers<TLSSocket>();
  const client = connect({ port, host: '127.0.0.1', rejectUnauthorized: false, ...options }, () =>
    resolve(client),
  );
  client.once('error', reject);
  await promise;
  return client.on('error', () => undefined);
}

async function serialAt(port: number): Promise<string> {
  const client = await handshake(port);
  const { serialNumber } = client.getPeerCertificate();
  client.destroy();
  return serialNumber;
}

/** A client certificate signed by an authority of its own, both made by openssl. */
function clientCertificate(dir: string): { ca: string; key: Buffer; cert: Buffer } {
  const at = (name: string): string => join(dir, name);
  const openssl = (...args: string[]): unknown => execFileSync('openssl', args, { stdio: 'pipe' });
  const ec = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes'];
  openssl(
    'req',
    '-x509',
    ...ec,
    '-subj',
    '/CN=authority',
    '-keyout',
    at('ca.key'),
    '-out',
    at('ca'),
  );
  const subject = '/C=FI/O=Plant, North/CN=device-1';
  openssl('req', ...ec, '-subj', subject, '-keyout', at('key'), '-out', at('csr'));
  const ca = ['-CA', at('ca'), '-CAkey', at('ca.key'), '-CAcreateserial'];
  openssl('x509', '-req', '-in', at('csr'), ...ca, '-out', at('cert'));
  return { ca: at('ca'), key: readFileSync(at('key')), cert: readFileSync(at('cert')) };
}

test('a verified client certificate is told as common name, distinguished name and PEM', async () => {
  using dir = new TempDir();
  const { ca, key, cert } = clientCertificate(dir.path);
  const settings = sslSettings({ verifyPeer: true, failIfNoPeerCert: true, caCertFile: ca });
  await using tried = await TriedListener.open(settings);
  const client = await handshake(tried.port, { key, cert });
  const { tls } = (await tried.sink()).transport.peer;
  assert.equal(tls?.commonName, 'device-1');
  assert.equal(tls?.distinguishedName, 'CN=device-1,O=Plant\\, North,C=FI');
  assert.equal(tls?.certificate, cert.toString());
  client.destroy();
});

test('a client without a certificate is refused only when one is required', async () => {
  using dir = new TempDir();
  const { ca } = clientCertificate(dir.path);
  for (const failIfNoPeerCert of [false, true]) {
    const settings = sslSettings({ verifyPeer: true, failIfNoPeerCert, caCertFile: ca });
    await using tried = await TriedListener.open(settings);
    const client = await handshake(tried.port);
    const got = collect(client);
    if (failIfNoPeerCert) {
      await until('the refusal', () => got.ended());
      assert.equal(tried.sinks.length, 0);
      assert.equal(tried.listener.shutdownCounts.get('tls_error'), 1);
    } else {
      assert.equal((await tried.sink()).transport.peer.tls?.certificate, undefined);
    }
    client.destroy();
  }
});

test('a certificate of an unknown authority is refused though none is required', async () => {
  using dir = new TempDir();
  using other = new TempDir();
  const { ca } = clientCertificate(dir.path);
  const stranger = clientCertificate(other.path);
  const settings = sslSettings({ verifyPeer: true, failIfNoPeerCert: false, caCertFile: ca });
  await using tried = await TriedListener.open(settings);
  const client = await handshake(tried.port, { key: stranger.key, cert: stranger.cert });
  const got = collect(client);
  await until('the refusal', () => got.ended());
  assert.equal(tried.sinks.length, 0);
  assert.equal(tried.listener.shutdownCounts.get('bad_certificate'), 1);
});

test('new handshakes see a replaced certificate and old connections stay', async () => {
  using dir = new TempDir();
  using fresh = new TempDir();
  const { keyFile, certFile } = ensureSelfSigned(dir.path);
  await using tried = await TriedListener.open(sslSettings({ keyFile, certFile }), { watchTimes });
  const old = await handshake(tried.port);
  const serial = old.getPeerCertificate().serialNumber;
  const replacement = ensureSelfSigned(fresh.path);
  renameSync(replacement.keyFile, keyFile);
  renameSync(replacement.certFile, certFile);
  await until('the reload', () => tried.log.events.includes('tls.certificate.reloaded'));
  assert.notEqual(await serialAt(tried.port), serial);
  old.write('still here');
  const sink = await tried.sink();
  await until('the bytes', () => sink.bytes.toString() === 'still here');
  old.destroy();
});

test('a symbolic link that is pointed elsewhere reloads the certificate', async () => {
  using dir = new TempDir();
  const at = (name: string): string => join(dir.path, name);
  ensureSelfSigned(at('v1'));
  ensureSelfSigned(at('v2'));
  symlinkSync('v1', at('..data'));
  symlinkSync('..data/self-signed-key.pem', at('tls.key'));
  symlinkSync('..data/self-signed-cert.pem', at('tls.crt'));
  const settings = sslSettings({ keyFile: at('tls.key'), certFile: at('tls.crt') });
  await using tried = await TriedListener.open(settings, { watchTimes });
  const serial = await serialAt(tried.port);
  symlinkSync('v2', at('..data_tmp'));
  renameSync(at('..data_tmp'), at('..data'));
  await until('the reload', () => tried.log.events.includes('tls.certificate.reloaded'));
  assert.notEqual(await serialAt(tried.port), serial);
});

test('a file that cannot be used keeps the old certificate, and a later good one is taken', async () => {
  using dir = new TempDir();
  using fresh = new TempDir();
  const { keyFile, certFile } = ensureSelfSigned(dir.path);
  await using tried = await TriedListener.open(sslSettings({ keyFile, certFile }), { watchTimes });
  const serial = await serialAt(tried.port);
  writeFileSync(certFile, 'not a certificate');
  await until('the refusal', () => tried.log.events.includes('tls.certificate.kept'));
  assert.equal(await serialAt(tried.port), serial);
  const replacement = ensureSelfSigned(fresh.path);
  renameSync(replacement.keyFile, keyFile);
  renameSync(replacement.certFile, certFile);
  await until('the reload', () => tried.log.events.includes('tls.certificate.reloaded'));
  assert.notEqual(await serialAt(tried.port), serial);
});

test('a changed file is found by the poll where nothing is told', async () => {
  using dir = new TempDir();
  using fresh = new TempDir();
  const clock = new VirtualClock();
  const { keyFile, certFile } = ensureSelfSigned(dir.path);
  const settings = sslSettings({ keyFile, certFile });
  await using tried = await TriedListener.open(settings, {
    clock,
    watchTimes: { settleMs: 1e9, pollMs: 30_000 },
  });
  const replacement = ensureSelfSigned(fresh.path);
  renameSync(replacement.keyFile, keyFile);
  renameSync(replacement.certFile, certFile);
  clock.advance(30_000);
  assert.ok(tried.log.events.includes('tls.certificate.reloaded'));
});

test('a listener with a bad certificate does not start and names the file', async () => {
  using dir = new TempDir();
  const { keyFile } = ensureSelfSigned(dir.path);
  const certFile = join(dir.path, 'absent.pem');
  await using missing = new TriedListener(sslSettings({ keyFile, certFile }));
  await assert.rejects(missing.listener.start(), /Cannot read TLS file ".*absent\.pem"/);
  await using mismatched = new TriedListener(sslSettings({ keyFile, certFile: keyFile }));
  await assert.rejects(mismatched.listener.start(), /Cannot use TLS files/);
});

test('versions outside of the settings are refused and those inside accepted', async () => {
  await using tried = await TriedListener.open(
    sslSettings({ minVersion: 'TLSv1.3', maxVersion: 'TLSv1.3' }),
  );
  await assert.rejects(handshake(tried.port, { maxVersion: 'TLSv1.2' }));
  const client = await handshake(tried.port);
  assert.equal(client.getProtocol(), 'TLSv1.3');
  client.destroy();
  await using old = await TriedListener.open(
    sslSettings({ minVersion: 'TLSv1', maxVersion: 'TLSv1.1' }),
  );
  const aged = await handshake(old.port, {
    minVersion: 'TLSv1',
    maxVersion: 'TLSv1.1',
    ciphers: 'DEFAULT:@SECLEVEL=0',
  });
  assert.equal(aged.getProtocol(), 'TLSv1.1');
  aged.destroy();
});

test('a session is reused by ticket unless that is off', async () => {
  for (const reuseSessions of [true, false]) {
    await using tried = await TriedListener.open(
      sslSettings({ reuseSessions, maxVersion: 'TLSv1.2' }),
    );
    const first = await handshake(tried.port);
    const session = first.getSession();
    first.destroy();
    const second = await handshake(tried.port, session === undefined ? {} : { session });
    assert.equal(second.isSessionReused(), reuseSessions);
    second.destroy();
  }
});

test('a handshake that does not end in time closes the connection', async () => {
  await using tried = await TriedListener.open(sslSettings({ handshakeTimeoutMs: 40 }));
  const client = await connectClient('tcp', tried.port);
  const got = collect(client);
  await until('the end', () => got.ended() && tried.listener.currentConnections === 0);
  assert.equal(tried.listener.shutdownCounts.get('handshake_timeout'), 1);
});

test('bytes that are no TLS close the connection and are counted', async () => {
  await using tried = await TriedListener.open(sslSettings({}));
  const client = await connectClient('tcp', tried.port);
  const got = collect(client);
  client.write('\x10\x0c\0\x04MQTT\x04\x02\0\0\0\0');
  await until('the end', () => got.ended() && tried.listener.currentConnections === 0);
  assert.equal(tried.listener.shutdownCounts.get('tls_error'), 1);
});

for (const version of ['tls1_2', 'tls1_3']) {
  test(`a pre-shared key opens a connection by its identity with ${version}`, async () => {
    const pskCiphers =
      'PSK-AES128-CBC-SHA,PSK-AES256-CBC-SHA,ECDHE-PSK-CHACHA20-POLY1305,TLS_AES_128_GCM_SHA256';
    const key = Buffer.from('c0ffee00c0ffee00c0ffee00c0ffee00', 'hex');
    await using tried = await TriedListener.open(sslSettings({ pskCiphers }), {
      pskLookup: (identity) => {
        if (identity === 'broken') throw new Error('lookup');
        return identity === 'device-1' ? key : undefined;
      },
    });
    const openssl = (identity: string): ReturnType<typeof spawn> =>
      spawn('openssl', [
        ...['s_client', '-quiet', `-${version}`, '-connect', `127.0.0.1:${tried.port}`],
        ...['-psk_identity', identity, '-psk', key.toString('hex')],
        ...(version === 'tls1_2'
          ? ['-cipher', 'PSK']
          : ['-ciphersuites', 'TLS_AES_128_GCM_SHA256']),
      ]);
    const good = openssl('device-1');
    good.stdin?.write('hello');
    const sink = await tried.sink();
    await until('the bytes', () => sink.bytes.toString() === 'hello');
    assert.equal(sink.transport.peer.tls?.pskIdentity, 'device-1');
    good.kill();
    for (const identity of ['device-2', 'broken']) {
      const bad = openssl(identity);
      await until('the refusal', () => bad.exitCode !== null);
    }
    assert.equal(tried.sinks.length, 1);
    const word = version === 'tls1_2' ? 'tls_error' : 'unknown_psk';
    assert.equal(tried.listener.shutdownCounts.get(word), 2);
    assert.ok(tried.log.events.includes('tls.psk.threw'));
  });
}

test('a TLS 1.2 client that asks for a renegotiation is refused it', async () => {
  await using tried = await TriedListener.open(sslSettings({}));
  const client = await handshake(tried.port, { maxVersion: 'TLSv1.2' });
  await tried.sink();
  const { promise, resolve } = Promise.withResolvers<string>();
  client.once('error', (error) => resolve(String(error)));
  client.renegotiate({}, (error) => resolve(String(error)));
  assert.match(await promise, /no renegotiation/i);
  client.destroy();
});
