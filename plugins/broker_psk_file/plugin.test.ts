// Real handshakes by OpenSSL and MQTT.js over them.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'node:test';
import { connect, type TLSSocket } from 'node:tls';
import mqtt from 'mqtt';
import { type Managed, startManaged } from '#test/managed';

const ciphers =
  'PSK-AES128-CBC-SHA,PSK-AES256-CBC-SHA,ECDHE-PSK-CHACHA20-POLY1305,TLS_AES_128_GCM_SHA256';

class Keys implements Disposable {
  readonly #dir = mkdtempSync(join(tmpdir(), 'broker-psk-'));
  readonly file = join(this.#dir, 'psk.txt');

  constructor(lines: string) {
    this.write(lines);
  }

  write(lines: string): void {
    writeFileSync(this.file, lines, { mode: 0o600 });
  }

  /** As editors and deployments do it. */
  replace(lines: string): void {
    const fresh = join(this.#dir, 'fresh.txt');
    writeFileSync(fresh, lines, { mode: 0o600 });
    renameSync(fresh, this.file);
  }

  remove(): void {
    rmSync(this.file);
  }

  [Symbol.dispose](): void {
    rmSync(this.#dir, { recursive: true, force: true });
  }
}

function startWith(
  file: string,
  workers: number,
  expectedErrors: readonly string[] = [],
): Promise<Managed> {
  return startManaged({
    workers,
    expectedErrors,
    settings: {
      allow_anonymous: 'true',
      acl_nomatch: 'allow',
      'listener.ssl.psk': '127.0.0.1:0',
      'listener.ssl.psk.psk_ciphers': ciphers,
      'psk.file.path': file,
      'plugins.loaded': 'broker_management,broker_psk_file',
    },
  });
}

interface Tried {
  readonly isOpen: boolean;
  readonly said: string;
}

/** A handshake by OpenSSL, with a CONNECT behind it; open when the CONNACK has come. */
async function handshake(
  managed: Managed,
  version: 'tls1_2' | 'tls1_3',
  identity: string,
  secret: string,
): Promise<Tried> {
  const child = spawn('openssl', [
    ...['s_client', '-quiet', `-${version}`, '-connect', `127.0.0.1:${pskPort(managed)}`],
    ...['-psk_identity', identity, '-psk', Buffer.from(secret).toString('hex')],
    ...(version === 'tls1_2' ? ['-cipher', 'PSK'] : ['-ciphersuites', 'TLS_AES_128_GCM_SHA256']),
  ]);
  let said = '';
  let isOpen = false;
  child.stderr.on('data', (chunk: Buffer) => {
    said += chunk.toString();
  });
  child.stdin.on('error', () => undefined); // it has ended already
  child.stdin.write(Buffer.from('\x10\x0c\0\x04MQTT\x04\x02\0\0\0\0', 'latin1'));
  child.stdout.on('data', (chunk: Buffer) => {
    isOpen = chunk[0] === 0x20 && chunk[3] === 0;
    child.kill();
  });
  await once(child, 'close');
  return { isOpen, said };
}

/** Of the second listener. */
function pskPort({ node }: Managed): number {
  return node.ports[1] ?? 0;
}

/** What the node logged, once it has. */
async function logged(managed: Managed, event: string, times = 1): Promise<string> {
  const signal = AbortSignal.timeout(15_000);
  for (;;) {
    const found = managed.logged.filter((line) => line.includes(`"${event}"`));
    const line = found[times - 1];
    if (line !== undefined) return line;
    signal.throwIfAborted();
    await new Promise((resolve) => setImmediate(resolve));
  }
}

for (const workers of [0, 2]) {
  test(`a key of the file opens a connection, another does not, with ${workers} workers`, async () => {
    using keys = new Keys('device-1:open:sesame\nno delimiter\ndevice-2:other\n');
    await using managed = await startWith(keys.file, workers);
    for (const version of ['tls1_2', 'tls1_3'] as const) {
      assert.equal((await handshake(managed, version, 'device-1', 'open:sesame')).isOpen, true);
      assert.equal((await handshake(managed, version, 'device-2', 'other')).isOpen, true);
      assert.equal((await handshake(managed, version, 'device-1', 'wrong')).isOpen, false);
      const unknown = await handshake(managed, version, 'device-3', 'open:sesame');
      assert.equal(unknown.isOpen, false);
      if (version === 'tls1_2') assert.match(unknown.said, /alert/);
    }
    const { body } = await managed.get('/metrics');
    const [{ metrics }] = body.data as [{ metrics: Record<string, number> }];
    assert.equal(metrics['auth/psk_file/success'], 6);
    assert.equal(metrics['auth/psk_file/ignore'], 2);
    assert.equal(metrics['auth/psk_file/skipped_lines'], 1);
    assert.match(await logged(managed, 'psk.lines.skipped'), /"2: no delimiter"/);
    assert.ok(!managed.logged.some((line) => line.includes('sesame')), 'no key is in the log');
  });

  test(`a changed file holds without a restart, with ${workers} workers`, async () => {
    using keys = new Keys('device-1:first\n');
    await using managed = await startWith(keys.file, workers, ['psk.file.kept']);
    await logged(managed, 'psk.file.read', 1);
    keys.replace('device-1:second\n');
    await logged(managed, 'psk.file.read', 2);
    assert.equal((await handshake(managed, 'tls1_2', 'device-1', 'first')).isOpen, false);
    assert.equal((await handshake(managed, 'tls1_2', 'device-1', 'second')).isOpen, true);
    keys.write('device-1:third time\n');
    await logged(managed, 'psk.file.read', 3);
    assert.equal((await handshake(managed, 'tls1_3', 'device-1', 'third time')).isOpen, true);
    keys.remove();
    await logged(managed, 'psk.file.kept');
    assert.equal((await handshake(managed, 'tls1_3', 'device-1', 'third time')).isOpen, true);
  });
}

test('an MQTT client connects by its key and publishes', async () => {
  using keys = new Keys('device-1:open sesame\n');
  await using managed = await startWith(keys.file, 2);
  const psk = Buffer.from('open sesame');
  const open = (): TLSSocket =>
    connect({
      host: '127.0.0.1',
      port: pskPort(managed),
      ciphers: 'PSK',
      maxVersion: 'TLSv1.2',
      pskCallback: () => ({ psk, identity: 'device-1' }),
      checkServerIdentity: () => undefined,
    });
  const client = new mqtt.MqttClient(open, { reconnectPeriod: 0, protocolVersion: 5 });
  await new Promise((resolve) => client.once('connect', resolve));
  await client.subscribeAsync('t', { qos: 1 });
  const arrival = new Promise<string>((resolve) => {
    client.once('message', (_topic, payload) => resolve(payload.toString()));
  });
  await client.publishAsync('t', 'hello', { qos: 1 });
  assert.equal(await arrival, 'hello');
  await client.endAsync(true);
});

test('unloading the plugin takes its keys away', async () => {
  using keys = new Keys('device-1:open sesame\n');
  await using managed = await startWith(keys.file, 2);
  assert.equal((await handshake(managed, 'tls1_2', 'device-1', 'open sesame')).isOpen, true);
  assert.equal((await managed.ctl('plugins', 'unload', 'broker_psk_file')).code, 0);
  assert.equal((await handshake(managed, 'tls1_2', 'device-1', 'open sesame')).isOpen, false);
  assert.equal((await managed.ctl('plugins', 'load', 'broker_psk_file')).code, 0);
  assert.equal((await handshake(managed, 'tls1_2', 'device-1', 'open sesame')).isOpen, true);
});

test('a file that everybody can read is warned of (CVE-2017-9868)', async () => {
  using keys = new Keys('device-1:open sesame\n');
  chmodSync(keys.file, 0o644);
  await using managed = await startWith(keys.file, 0);
  assert.match(await logged(managed, 'psk.file.world_readable'), /"mode":"644"/);
});

test('a node does not start without the file of its keys', async () => {
  using keys = new Keys('');
  keys.remove();
  await assert.rejects(startWith(keys.file, 0), {
    message: new RegExp(
      `^Cannot start without plugin broker_psk_file: Cannot read psk.file.path "${keys.file}": it does not exist; `,
    ),
  });
});
