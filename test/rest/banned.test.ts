// Bans through HTTP, and what clients that we did not write meet then, in every version.

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'node:test';
import mqtt from 'mqtt';
import { type Managed, startManaged } from '#test/managed';

const open = { allow_anonymous: 'true', acl_nomatch: 'allow', 'zone.external.enable_ban': 'on' };
const versions = [5, 4] as const;
type Version = (typeof versions)[number];

interface Options {
  readonly username?: string;
  readonly port?: number;
  readonly host?: string;
}

function begin(
  managed: Managed,
  clientId: string,
  version: Version,
  { username, port = managed.mqttPort, host = '127.0.0.1' }: Options = {},
): mqtt.MqttClient {
  const name = username === undefined ? {} : { username };
  const protocolVersion = version;
  return mqtt.connect({ host, port, clientId, protocolVersion, reconnectPeriod: 0, ...name });
}

async function connect(...args: Parameters<typeof begin>): Promise<mqtt.MqttClient> {
  const client = begin(...args);
  const { promise, resolve, reject } = Promise.withResolvers<mqtt.MqttClient>();
  client.once('connect', () => resolve(client));
  client.once('error', reject);
  return promise;
}

/** Now or when it is. */
async function closed(client: mqtt.MqttClient): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const late = setTimeout(() => reject(new Error('Cannot see the end of a connection')), 10_000);
  client.once('close', () => resolve());
  if (!client.connected) resolve();
  await promise.finally(() => clearTimeout(late));
}

/** The code that a CONNECT is refused with; 0: it is not. */
async function codeFor(...args: Parameters<typeof begin>): Promise<number> {
  try {
    const client = await connect(...args);
    await client.endAsync(true);
    return 0;
  } catch (error) {
    const { code } = error as { code?: number };
    return code ?? -1;
  }
}

const bannedCode = { 5: 0x8a, 4: 5 } as const;

async function ban(managed: Managed, body: object): Promise<void> {
  const { body: answer } = await managed.post('/banned/', body);
  assert.deepEqual(answer, { code: 0, data: body });
}

/** Of the first listener. */
async function shutdowns(managed: Managed): Promise<Readonly<Record<string, number>>> {
  const { body } = await managed.get('/listeners/');
  const [node] = body.data as [{ listeners: { shutdown_count: Record<string, number> }[] }];
  return node.listeners[0]?.shutdown_count ?? {};
}

for (const workers of [0, 2]) {
  test(`a ban refuses and ends clients by id, name and address, with ${workers} workers`, async () => {
    await using managed = await startManaged({ workers, settings: open });
    const stays = await connect(managed, 'stays', 5, { username: 'ann' });
    let counted = 0;
    const bans = [
      { as: 'client_id', who: 'bad' },
      { as: 'username', who: 'eve' },
    ] as const;
    for (const { as, who } of bans) {
      const options = { username: as === 'username' ? who : 'ann' };
      // More clients than workers, so that each worker has some.
      const ids = as === 'client_id' ? [who] : ['1', '2', '3', '4', '5', '6'];
      for (const version of versions) {
        const clients = await Promise.all(ids.map((id) => connect(managed, id, version, options)));
        const ended = Promise.all(
          clients.map(async (client) => {
            const told: number[] = [];
            client.on('disconnect', ({ reasonCode }) => told.push(reasonCode ?? -1));
            await closed(client);
            return told;
          }),
        );
        await ban(managed, { who, as, reason: 'test' });
        const code = version === 5 ? [0x98] : [];
        assert.deepEqual(
          await ended,
          ids.map(() => code),
        );
        counted += ids.length;
        for (const again of versions) {
          for (const id of ids) {
            assert.equal(await codeFor(managed, id, again, options), bannedCode[again], id);
          }
          counted += ids.length;
        }
        const { body } = await managed.delete(`/banned/${who}?as=${as}`);
        assert.deepEqual(body, { code: 0 });
        assert.equal(await codeFor(managed, ids[0] as string, version, options), 0);
      }
    }
    assert.equal((await shutdowns(managed))['banned'], counted);
    assert.equal(stays.connected, true);
    await ban(managed, { who: '::ffff:127.0.0.0/104', as: 'peerhost' });
    await closed(stays);
    assert.equal(await codeFor(managed, 'any', 5), 0x8a);
    assert.deepEqual((await managed.delete('/banned/127.0.0.0%2F8', { as: 'ip_address' })).body, {
      code: 0,
    });
    assert.equal(await codeFor(managed, 'any', 4), 0);
  });

  test(`bans outlive the process and expire on time, with ${workers} workers`, async () => {
    const dir = mkdtempSync(join(tmpdir(), 'broker-banned-'));
    try {
      const entry = { who: 'bad', as: 'client_id', reason: 'r', desc: 'd', until: 5_000_000_000 };
      {
        await using managed = await startManaged({ workers, dir, settings: open });
        await ban(managed, entry);
        await ban(managed, { who: 'worse', as: 'clientid' });
      }
      await using managed = await startManaged({ workers, dir, settings: open });
      for (const version of versions) {
        assert.equal(await codeFor(managed, 'bad', version), bannedCode[version]);
        assert.equal(await codeFor(managed, 'worse', version), bannedCode[version]);
      }
      const { body } = await managed.get('/banned');
      assert.deepEqual(body, {
        code: 0,
        data: [
          { ...entry, by: 'undefined' },
          {
            who: 'worse',
            as: 'client_id',
            reason: 'undefined',
            desc: 'undefined',
            by: 'undefined',
            until: 'undefined',
          },
        ],
        meta: { page: 1, limit: 10_000, count: 2 },
      });
      const until = Math.floor(Date.now() / 1000) + 2;
      await ban(managed, { who: 'short', as: 'client_id', until });
      assert.equal(await codeFor(managed, 'short', 5), 0x8a);
      const refusals: number[] = [];
      let code = 0x8a;
      while (code !== 0) {
        code = await codeFor(managed, 'short', 5);
        refusals.push(code);
        assert.ok(Date.now() < (until + 10) * 1000, 'it holds for ever');
      }
      assert.ok(Date.now() >= until * 1000, `over too early: ${refusals.join()}`);
      assert.equal((await managed.get('/banned')).body.meta?.count, 2);
    } finally {
      rmSync(dir, { recursive: true, force: true });
    }
  });
}

test('addresses of IPv6 are banned by range, whichever way they are written', async (t) => {
  const settings = { ...open, 'listener.tcp.external': '[::1]:0' };
  const managed = await startManaged({ settings }).catch(() => undefined);
  if (managed === undefined) return t.skip('this machine has no IPv6');
  await using node = managed;
  const options = { host: '::1' };
  assert.equal(await codeFor(node, 'c', 5, options), 0);
  await ban(node, { who: '0:0::/127', as: 'ip_address' });
  assert.equal(await codeFor(node, 'c', 5, options), 0x8a);
  await node.delete(`/banned/${encodeURIComponent('::1/127')}?as=ip_address`);
  await ban(node, { who: '2001:db8::/32', as: 'ip_address' });
  assert.equal(await codeFor(node, 'c', 5, options), 0);
});

test('a zone without enable_ban knows no bans', async () => {
  const settings = { ...open, 'zone.external.enable_ban': 'off' };
  await using managed = await startManaged({ settings });
  const client = await connect(managed, 'bad', 5);
  await ban(managed, { who: 'bad', as: 'client_id' });
  await client.publishAsync('t', 'x', { qos: 1 });
  assert.equal(await codeFor(managed, 'bad', 5), 0);
  await client.endAsync(true);
});

test('the list of bans is paged, in order', async () => {
  await using managed = await startManaged();
  for (const who of ['c', 'a', 'b']) await ban(managed, { who, as: 'client_id' });
  await ban(managed, { who: 'x', as: 'username', extra: { is: 'echoed' } });
  const page = async (query: string): Promise<unknown[]> => {
    const { body } = await managed.get(`/banned/?${query}`);
    return [...(body.data as { who: string }[]).map(({ who }) => who), body.meta];
  };
  assert.deepEqual(await page('_limit=2'), ['a', 'b', { page: 1, limit: 2, count: 4 }]);
  assert.deepEqual(await page('_limit=2&_page=2'), ['c', 'x', { page: 2, limit: 2, count: 4 }]);
  assert.deepEqual(await page('_limit=2&_page=3'), [{ page: 3, limit: 2, count: 4 }]);
});

test('POST and DELETE /banned say what is wrong with a request', async () => {
  await using managed = await startManaged();
  const kinds = "value of 'as' must be one of: ['client_id', 'username', 'ip_address']";
  const wrong = [
    [{}, 107, "missing mandatory params: ['who', 'as']"],
    [{ who: 'x' }, 107, "missing mandatory params: ['as']"],
    [{ as: 'client_id' }, 107, "missing mandatory params: ['who']"],
    [{ who: 'x', as: 'nick' }, 108, kinds],
    [{ who: 'x', as: '__proto__' }, 108, kinds],
    [{ who: '', as: 'username' }, 108, /^Cannot use who = "": expected text/],
    [{ who: 5, as: 'username' }, 108, /^Cannot use who = 5: expected text/],
    [{ who: 'x', as: 'username', until: 'soon' }, 108, /^Cannot use until = "soon"/],
    [{ who: 'x', as: 'username', until: 1, seconds: 1 }, 108, /until and seconds/],
    [{ who: 'host', as: 'ip_address' }, 108, 'Cannot ban "host": want an address or a CIDR'],
    [{ who: '1.1.1.1/33', as: 'ip_address' }, 108, /want a prefix of 0 to 32/],
    [{ who: 'x', as: 'username', reason: 'r'.repeat(4097) }, 108, /^Cannot use reason = /],
  ] as const;
  for (const [sent, code, message] of wrong) {
    const { status, body } = await managed.post('/banned', sent);
    assert.deepEqual([status, body.code], [200, code], JSON.stringify(sent));
    if (typeof message === 'string') assert.equal(body.message, message);
    else assert.match(body.message ?? '', message);
  }
  const noKind = await managed.delete('/banned/x');
  assert.deepEqual(noKind.body, { code: 107, message: "missing mandatory params: ['as']" });
  assert.equal((await managed.delete('/banned/x?as=nick')).body.code, 108);
  assert.deepEqual((await managed.delete('/banned/x?as=username')).body, { code: 0 });
  assert.equal((await managed.get('/banned')).body.meta?.count, 0);
});

test('a ban of the past is accepted and holds for nobody', async () => {
  await using managed = await startManaged({ settings: open });
  await ban(managed, { who: 'c', as: 'client_id', until: 1_000_000_000 });
  assert.equal(await codeFor(managed, 'c', 5), 0);
  assert.equal((await managed.get('/banned')).body.meta?.count, 0);
});

test('names of any characters are banned and freed', async () => {
  await using managed = await startManaged({ settings: open });
  for (const who of ['a/b', 'a b?c=d&e#f', 'ü%41', '..']) {
    await ban(managed, { who, as: 'client_id' });
    assert.equal(await codeFor(managed, who, 5), 0x8a, who);
    const path = `/banned/${encodeURIComponent(who).replaceAll('.', '%2E')}?as=client_id`;
    assert.deepEqual((await managed.delete(path)).body, { code: 0 });
    assert.equal(await codeFor(managed, who, 5), 0, who);
  }
});
