import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { describe } from 'node:test';
import { type Managed, startManaged } from '#test/managed';
import { runToEnd, toolOnPath } from '../interop/outside-program.ts';

const curl = toolOnPath('curl');
const openssl = toolOnPath('openssl');

class TempDir implements Disposable {
  readonly path: string = mkdtempSync(join(tmpdir(), 'broker-https-'));
  [Symbol.dispose](): void {
    rmSync(this.path, { recursive: true, force: true });
  }
}

/** What curl prints of an answer: its body and, after a blank, its status. */
async function curled(...args: string[]): Promise<{ code: number | null; out: string }> {
  const { code, out } = await runToEnd(curl.path, ['-sS', '-w', ' %{http_code}', ...args]);
  return { code, out };
}

function address(managed: Managed): string {
  return `https://localhost:${managed.portOf('management', true)}`;
}

describe('curl', { skip: curl.skip }, () => {
  test('speaks HTTP with credentials, paths that hold a slash and a body of a form', async () => {
    await using managed = await startManaged();
    const { auth, url } = managed;
    assert.match((await curled('-u', auth, `${url}/nodes/`)).out, /^\{"code":0,"data":\[.* 200$/);
    assert.equal(
      (await curled('-u', auth, `${url}/connections/a%2Fb`)).out,
      '{"code":0,"data":[]} 200',
    );
    assert.match((await curled(`${url}/nodes`)).out, /^\{"code":401,.* 401$/);
    const sent = await curled('-u', auth, '-d', '{"topic":', `${url}/mqtt/publish`);
    assert.match(sent.out, /^\{"code":109,.* 400$/);
    assert.equal((await curled('-I', '-u', auth, `${url}/nodes`)).code, 0);
  });

  test('speaks HTTPS with the self-signed certificate of the data directory', async () => {
    await using managed = await startManaged({
      settings: { 'management.listener.https': '127.0.0.1:0' },
    });
    const trust = ['--cacert', join(managed.dir, 'data', 'self-signed-cert.pem')];
    assert.equal((await curled(...trust, `${address(managed)}/livez`)).out, 'ok 200');
    const asked = [...trust, '-u', managed.auth, `${address(managed)}/api/v3/nodes`];
    assert.match((await curled(...asked)).out, /^\{"code":0,.* 200$/);
    const untrusted = await curled(`${address(managed)}/livez`);
    assert.equal(untrusted.code, 60);
    const { protocol } = managed.parts.httpListeners()[1] ?? {};
    assert.equal(protocol, 'https:management');
  });

  test('is asked for a certificate, and refused with a wrong one', {
    skip: openssl.skip,
  }, async () => {
    using place = new TempDir();
    const trusted = clientCertificate(place.path, 'trusted');
    const stranger = clientCertificate(place.path, 'stranger');
    const https = {
      'management.listener.https': '127.0.0.1:0',
      'management.listener.https.cacertfile': trusted.ca,
      'management.listener.https.verify': 'verify_peer',
    };
    const as = ({ cert, key }: Pair): string[] => ['--cert', cert, '--key', key];
    await using lenient = await startManaged({ settings: https });
    const ask = async (managed: Managed, ...args: string[]): Promise<string> =>
      (await curled('-k', ...args, `${address(managed)}/livez`)).out;
    assert.equal(await ask(lenient), 'ok 200');
    assert.equal(await ask(lenient, ...as(trusted)), 'ok 200');
    assert.equal(await ask(lenient, ...as(stranger)), ' 000');
    await using strict = await startManaged({
      settings: { ...https, 'management.listener.https.fail_if_no_peer_cert': 'true' },
    });
    assert.equal(await ask(strict), ' 000');
    assert.equal(await ask(strict, ...as(trusted)), 'ok 200');
  });
});

interface Pair {
  readonly ca: string;
  readonly cert: string;
  readonly key: string;
}

/** Signed by an authority of its own. */
function clientCertificate(dir: string, name: string): Pair {
  const at = (what: string): string => join(dir, `${name}-${what}.pem`);
  const [ca, cert, key] = [at('ca'), at('cert'), at('key')];
  const ec = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes'];
  const run = (...args: string[]): void => {
    execFileSync(openssl.path, args, { stdio: 'ignore' });
  };
  run('req', '-x509', ...ec, '-keyout', at('ca-key'), '-out', ca, '-subj', `/CN=${name} ca`);
  run('req', ...ec, '-keyout', key, '-out', at('request'), '-subj', `/CN=${name}`);
  run('x509', '-req', '-in', at('request'), '-CA', ca, '-CAkey', at('ca-key'), '-out', cert);
  return { ca, cert, key };
}

test('half a certificate, and a rule without its other half, are contradictions', async () => {
  const https = { 'management.listener.https': '127.0.0.1:0' };
  const base = 'management.listener.https';
  await assert.rejects(
    startManaged({ settings: { ...https, [`${base}.keyfile`]: 'package.json' } }),
    /Cannot use management\.listener\.https\.keyfile alone: expected .*\.certfile as well/,
  );
  await assert.rejects(
    startManaged({ settings: { ...https, [`${base}.fail_if_no_peer_cert`]: 'true' } }),
    /fail_if_no_peer_cert: no certificate is asked for, expected verify = verify_peer/,
  );
  await assert.rejects(
    startManaged({
      settings: { 'listener.tcp.external': '8080', 'management.listener.http': '8080' },
    }),
    /listener\.tcp\.external has that port already, expected another port or off/,
  );
});
