// Web servers that are told by https: who they are is checked, and who the broker is.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'node:test';
import { startManaged } from '#test/managed';
import { toolOnPath } from '../interop/outside-program.ts';
import { Sink } from './resources-fixture.ts';
import { connect, type RuleRow, startRuled, until } from './rules-fixture.ts';

const openssl = toolOnPath('openssl');

interface Pair {
  readonly certFile: string;
  readonly keyFile: string;
}

/** A server that takes nobody but the broker. */
class Trust implements Disposable {
  readonly #dir = mkdtempSync(join(tmpdir(), 'resources-tls-'));
  readonly server: Pair = pairIn(this.#dir, 'server');
  readonly broker: Pair = pairIn(this.#dir, 'broker');

  open(): Promise<Sink> {
    return Sink.open({
      cert: readFileSync(this.server.certFile),
      key: readFileSync(this.server.keyFile),
      ca: readFileSync(this.broker.certFile),
      requestCert: true,
    });
  }

  [Symbol.dispose](): void {
    rmSync(this.#dir, { recursive: true, force: true });
  }
}

/** Its own authority. */
function pairIn(dir: string, name: string): Pair {
  const certFile = join(dir, `${name}-cert.pem`);
  const keyFile = join(dir, `${name}-key.pem`);
  const key = ['-nodes', '-days', '2', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256'];
  const named = ['-subj', `/CN=${name}`, '-addext', 'subjectAltName=IP:127.0.0.1'];
  const files = ['-keyout', keyFile, '-out', certFile];
  execFileSync(openssl.path, ['req', '-x509', ...key, ...named, ...files], { stdio: 'pipe' });
  return { certFile, keyFile };
}

for (const workers of [0, 2]) {
  test(`an action tells an https server that both sides know (workers: ${workers})`, {
    skip: openssl.skip,
  }, async () => {
    using trust = new Trust();
    await using sink = await trust.open();
    await using managed = await startRuled(workers);
    const files = {
      cacertfile: trust.server.certFile,
      certfile: trust.broker.certFile,
      keyfile: trust.broker.keyFile,
    };
    const ofConfig = (config: object): object => ({
      type: 'web_hook',
      config: { url: sink.url, ...config },
    });
    const tested = async (config: object): Promise<unknown> => {
      const { body } = await managed.post('/resources?test', ofConfig(config));
      return body.code === 0 ? 'alive' : `${body.code} ${body.message}`;
    };
    assert.equal(await tested(files), 'alive');
    assert.equal(
      await tested({}),
      '500 Test Creating Resource Failed: Cannot reach the web server: self-signed certificate: ' +
        'cacertfile names those to believe',
    );
    assert.equal(await tested({ verify: false }), 'alive');
    assert.match(
      String(await tested({ ...files, keyfile: '' })),
      /^400 Bad Arguments: Cannot use the resource: Cannot use certfile or keyfile alone/,
    );
    assert.match(
      String(await tested({ ...files, cacertfile: '/nowhere.pem' })),
      /^400 Bad Arguments: .*Cannot use cacertfile "\/nowhere\.pem": it does not exist$/,
    );
    const made = await managed.post('/resources', ofConfig(files));
    const { id, config } = made.body.data as { id: string; config: object };
    assert.partialDeepStrictEqual(config, { ...files, verify: true });
    const rule = await managed.post('/rules', {
      rawsql: 'SELECT topic FROM "t/#"',
      actions: [{ name: 'data_to_webserver', params: { $resource: id } }],
    });
    const ruleId = (rule.body.data as RuleRow).id;
    const client = await connect(managed, 'c');
    await client.publishAsync('t/1', 'x', { qos: 1 });
    await sink.until((told) => told.length === 1);
    assert.deepEqual(JSON.parse(sink.told[0]?.body ?? ''), { topic: 't/1' });
    await managed.put(`/resources/${id}`, {
      config: { url: sink.url, retry_seconds: 0 },
    });
    await client.publishAsync('t/2', 'x', { qos: 1 });
    await until(async () => {
      const { body } = await managed.get(`/rules/${ruleId}`);
      const [counted] = (body.data as RuleRow).actions[0]?.metrics ?? [];
      return counted?.failed === 1 && counted.success === 1 ? true : undefined;
    });
    assert.equal(sink.told.length, 1);
    await client.endAsync();
  });
}

test('the plugin web_hook tells an https server that both sides know', {
  skip: openssl.skip,
}, async () => {
  using trust = new Trust();
  await using sink = await trust.open();
  const settings = {
    ...{ allow_anonymous: 'true', acl_nomatch: 'allow' },
    'plugins.loaded': 'broker_management,broker_web_hook',
    'web.hook.api.url': sink.url,
    'web.hook.rule.session.created.1': '{"action": "on_session_created"}',
    'web.hook.ssl.cacertfile': trust.server.certFile,
    'web.hook.ssl.certfile': trust.broker.certFile,
    'web.hook.ssl.keyfile': trust.broker.keyFile,
  };
  await using managed = await startManaged({ settings });
  const client = await connect(managed, 'c');
  await sink.until((told) => told.length === 1);
  assert.equal(JSON.parse(sink.told[0]?.body ?? '').action, 'session_created');
  await client.endAsync();
});
