import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type TestContext } from 'node:test';
import { systemClock } from '#base/clock';
import { ensureSelfSigned } from '#net/self-signed';
import { type ClientTls, readClientTls } from './client-tls.ts';
import { HttpSender } from './http-sender.ts';

function folder(t: TestContext): string {
  const dir = mkdtempSync(join(tmpdir(), 'client-tls-'));
  t.after(() => rmSync(dir, { recursive: true, force: true }));
  return dir;
}

test('files of certificates are read, and what is wrong with one is told', (t) => {
  const dir = folder(t);
  const { certFile, keyFile } = ensureSelfSigned(dir);
  const other = ensureSelfSigned(join(dir, 'other')).keyFile;
  const options = readClientTls({ caFile: certFile, certFile, keyFile, isVerified: true });
  assert.deepEqual(options, {
    ...{ ca: readFileSync(certFile), cert: readFileSync(certFile), key: readFileSync(keyFile) },
    ...{ minVersion: 'TLSv1.2', rejectUnauthorized: true },
  });
  const none = { minVersion: 'TLSv1.2', rejectUnauthorized: false };
  assert.deepEqual(readClientTls({ isVerified: false }), none);
  const text = join(dir, 'text.pem');
  writeFileSync(text, 'no certificate');
  const big = join(dir, 'big.pem');
  writeFileSync(big, '');
  truncateSync(big, 2 ** 20 + 1);
  const cases: readonly (readonly [Omit<ClientTls, 'isVerified'>, RegExp])[] = [
    [{ caFile: join(dir, 'no.pem') }, /^Cannot use cacertfile ".*no\.pem": it does not exist$/],
    [{ caFile: dir }, /^Cannot use cacertfile ".*": it is no file$/],
    [{ caFile: big }, /it has more than 1048576 bytes$/],
    [{ caFile: text }, /^Cannot use cacertfile ".*text\.pem": it has no certificate$/],
    [{ certFile }, /^Cannot use certfile or keyfile alone: expected both$/],
    [{ keyFile }, /^Cannot use certfile or keyfile alone: expected both$/],
    [{ certFile: text, keyFile }, /^Cannot use certfile ".*text\.pem": /],
    [{ certFile, keyFile: other }, /^Cannot use certfile ".*": .*key values mismatch$/],
  ];
  for (const [files, message] of cases) {
    assert.throws(() => readClientTls({ ...files, isVerified: true }), { message });
  }
});

test('a sender talks to an https server that shows who it is, and finds files that come later', async (t) => {
  const dir = folder(t);
  const { certFile, keyFile } = ensureSelfSigned(dir);
  const caFile = join(dir, 'later.pem');
  const pair = { cert: readFileSync(certFile), key: readFileSync(keyFile) };
  const server = createServer(pair, (request, response) => {
    request.resume().on('end', () => response.end());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  const sender = (tls?: ClientTls): HttpSender => {
    const made = new HttpSender({
      ...{ url: `https://127.0.0.1:${port}`, connectTimeoutMs: 5000, requestTimeoutMs: 5000 },
      ...{ poolSize: 1, isLinkLocalDenied: true, clock: systemClock, tls },
    });
    t.after(() => made.close());
    return made;
  };
  const post = { method: 'POST', path: '', headers: {}, body: 'x' };
  const unknown = {
    message:
      /^Cannot reach the web server: self-signed certificate: cacertfile names those to believe$/,
    isAway: true,
  };
  await assert.rejects(sender().send(post), unknown);
  await assert.rejects(sender().reach(), unknown);
  const careless = sender({ isVerified: false });
  await careless.reach();
  await careless.send(post);
  const known = sender({ caFile, isVerified: true });
  const missing = { message: /^Cannot reach the web server: Cannot use cacertfile .*exist$/ };
  await assert.rejects(known.reach(), missing);
  await assert.rejects(known.send(post), { ...missing, isPassing: true, isAway: true });
  writeFileSync(caFile, pair.cert);
  await known.reach();
  await known.send(post);
});
