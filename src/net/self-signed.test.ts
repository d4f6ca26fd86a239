import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import test from 'node:test';
import { connect } from 'node:tls';
import { integer, objectId, time } from './der.ts';
import { listenerSettings, TempDir, TriedListener, until } from './listener-fixture.ts';
import { ensureSelfSigned } from './self-signed.ts';

test('a self-signed certificate is made once, with a key for its owner only', () => {
  using dir = new TempDir();
  const first = ensureSelfSigned(dir.path);
  assert.equal(first.created, true);
  assert.equal(statSync(first.keyFile).mode & 0o777, 0o600);
  const bytes = readFileSync(first.certFile);
  const second = ensureSelfSigned(dir.path);
  assert.deepEqual(second, { ...first, created: false });
  assert.deepEqual(readFileSync(second.certFile), bytes);
});

test('a key is for its owner only also where a file of an interrupted start was not', () => {
  using dir = new TempDir();
  writeFileSync(join(dir.path, 'self-signed-key.pem.new'), 'old', { mode: 0o666 });
  const { keyFile } = ensureSelfSigned(dir.path);
  assert.equal(statSync(keyFile).mode & 0o777, 0o600);
  assert.match(readFileSync(keyFile, 'utf8'), /^-----BEGIN PRIVATE KEY-----\n/);
});

test('openssl reads and verifies a self-signed certificate', () => {
  using dir = new TempDir();
  const { certFile } = ensureSelfSigned(dir.path);
  const text = execFileSync('openssl', ['x509', '-in', certFile, '-text', '-noout'], {
    encoding: 'utf8',
  });
  assert.match(text, /Subject: CN ?= ?broker/);
  assert.match(text, /NIST CURVE: P-256/);
  assert.match(text, /Basic Constraints: critical\s+CA:TRUE, pathlen:0/);
  assert.match(text, /Key Usage: critical\s+Digital Signature, Certificate Sign/);
  assert.match(text, /TLS Web Server Authentication/);
  assert.match(text, /DNS:localhost.*IP Address:127\.0\.0\.1, IP Address:0:0:0:0:0:0:0:1/);
  const verified = execFileSync(
    'openssl',
    ['verify', '-x509_strict', '-CAfile', certFile, certFile],
    {
      encoding: 'utf8',
    },
  );
  assert.match(verified, /: OK/);
});

test('a self-signed certificate names this machine and lasts ten years', () => {
  using dir = new TempDir();
  const certificate = new X509Certificate(readFileSync(ensureSelfSigned(dir.path).certFile));
  for (const name of ['localhost', hostname()]) assert.equal(certificate.checkHost(name), name);
  assert.equal(certificate.checkIP('::1'), '::1');
  assert.equal(certificate.verify(certificate.publicKey), true);
  const years =
    certificate.validToDate.getUTCFullYear() - certificate.validFromDate.getUTCFullYear();
  assert.equal(years, 10);
});

test('a client that trusts the self-signed certificate connects by name', async () => {
  await using tried = await TriedListener.open(listenerSettings('ssl'));
  assert.ok(tried.log.events.includes('tls.self_signed.created'));
  const ca = readFileSync(ensureSelfSigned(tried.dataDir).certFile);
  let authorized = false;
  const client = connect(
    { port: tried.port, host: '127.0.0.1', servername: 'localhost', ca },
    () => {
      authorized = client.authorized;
    },
  );
  await until('the handshake', () => authorized);
  client.destroy();
});

test('DER integers, object ids and times keep their rules', () => {
  assert.deepEqual(integer(Buffer.of(0, 0, 0x80)), Buffer.of(2, 2, 0, 0x80));
  assert.deepEqual(integer(Buffer.of(0)), Buffer.of(2, 1, 0));
  assert.deepEqual(objectId('1.2.840.113549'), Buffer.of(6, 6, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d));
  assert.equal(time(new Date('2049-12-31T23:59:59Z')).toString('latin1', 2), '491231235959Z');
  assert.equal(time(new Date('2050-01-01T00:00:00Z')).toString('latin1', 2), '20500101000000Z');
});
