// Tokens shown to a whole node by real clients.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import test from 'node:test';
import { promisify } from 'node:util';
import mqtt from 'mqtt';
import type { Managed } from '#test/managed';
import { algorithms } from './algorithms.ts';
import {
  codeOf,
  good,
  KeyFile,
  metricsOf,
  notAuthorized,
  show,
  startWith,
} from './node-fixture.ts';
import { makeToken, pairOf, pemOf, testSecret } from './token-fixture.ts';

const maximumConnectTime = 0xa0;
const secret = { 'jwt.secret': testSecret };
const inSeconds = (seconds: number): number => Math.floor(Date.now() / 1000) + seconds;

for (const workers of [0, 2]) {
  test(`tokens of all algorithms let their bearers in, ${workers} workers`, async () => {
    using file = new KeyFile([...new Set(pairOf.values())].map(pemOf).join(''));
    await using node = await startWith(workers, { ...secret, 'jwt.pubkey': file.path });
    for (const alg of algorithms) {
      const token = makeToken({ sub: 'ann', exp: inSeconds(3600) }, { alg });
      for (const version of [3, 4, 5] as const) {
        assert.equal(await codeOf(node, token, { version }), good, `${alg} ${version}`);
      }
      const late = makeToken({ exp: inSeconds(-1) }, { alg });
      assert.equal(await codeOf(node, late), notAuthorized);
      assert.equal(await codeOf(node, late, { version: 4 }), 5);
      assert.equal(await codeOf(node, `${token}AAAA`), notAuthorized);
    }
    const found = await metricsOf(node);
    assert.deepEqual(
      ['success', 'failure', 'ignore'].map((word) => found[`auth/jwt/${word}`]),
      [27, 27, 0],
    );
  });

  test(`what is no token is left to others, a bad token is not, ${workers} workers`, async () => {
    await using node = await startWith(workers, { ...secret, allow_anonymous: 'true' });
    for (const password of [undefined, '', 'a password', 'a.b.c']) {
      assert.equal(await codeOf(node, password), good);
    }
    const none = makeToken({ sub: 'ann' }, { alg: 'none' });
    const refused = [none, makeToken({}, { secret: 'x' }), makeToken({}, { alg: 'ES256' })];
    for (const token of refused) assert.equal(await codeOf(node, token), notAuthorized);
    await using late = await show(node, makeToken({ exp: 1 }));
    assert.equal(late.connack?.properties.reasonString, 'Cannot connect: the token has expired');
  });

  test(`a token that expires takes its connection with it, ${workers} workers`, async () => {
    await using node = await startWith(workers, secret);
    const exp = inSeconds(4);
    const token = makeToken({ exp });
    const clients = await Promise.all(
      [5, 5, 4].map((version, i) =>
        show(node, token, {
          version: version as 4 | 5,
          clientId: `c${i}`,
          keepaliveSeconds: i * 60,
        }),
      ),
    );
    await using stays = await show(node, makeToken({ exp: exp + 3600 }), { clientId: 'stays' });
    const told = await Promise.all(clients.map((client) => client.expectClosed(20_000)));
    assert.ok(Date.now() >= exp * 1000, 'not before');
    assert.deepEqual(
      told.flat().map((packet) => packet.type === 'disconnect' && packet.reasonCode),
      [maximumConnectTime, maximumConnectTime],
    );
    assert.equal((await stays.subscribe('a', { qos: 1 })).reasonCodes[0], 1);
    assert.equal(await codeOf(node, token), notAuthorized);
  });

  test(`topics of a token are all that its bearer may use, ${workers} workers`, async () => {
    await using node = await startWith(workers, { ...secret, 'zone.external.enable_acl': 'on' });
    const acl = { pub: ['up/%c/#'], sub: ['down/%u/+'], all: ['both'] };
    await using client = await show(node, makeToken({ acl }), { clientId: 'c1' });
    const filters = ['down/ann/x', 'down/ann/+', 'down/bob/x', '#', 'up/c1/x', '$share/g/both'];
    const { reasonCodes } = await client.subscribe(filters);
    const no = notAuthorized;
    assert.deepEqual(reasonCodes, [0, 0, no, no, no, 0]);
    const codes: (number | undefined)[] = [];
    for (const topic of ['up/c1/a/b', 'up/c2/a', 'down/ann/x', 'both']) {
      codes.push((await client.publish(topic, '', { qos: 1 }))?.reasonCode);
    }
    assert.deepEqual(
      codes.map((code) => code === no),
      [false, true, true, false],
    );
    // A will is a publish.
    const will = { topic: 'elsewhere' };
    assert.equal(await codeOf(node, makeToken({ acl }), { will }), notAuthorized);
    await using other = await show(node, makeToken({}), { clientId: 'c2' });
    assert.equal((await other.subscribe('anything')).reasonCodes[0], 0);
    const found = await metricsOf(node);
    assert.deepEqual(
      ['allow', 'deny', 'ignore'].map((word) => found[`acl/jwt/${word}`]),
      [5, 6, 1],
    );
  });

  test(`a client id that is a wildcard opens no topic of a token, ${workers} workers`, async () => {
    await using node = await startWith(workers, { ...secret, 'zone.external.enable_acl': 'on' });
    const token = makeToken({ acl: { all: ['d/%c/x', 'u/%u'] } });
    for (const name of ['+', '#', 'a/b']) {
      await using client = await show(node, token, { clientId: name, username: name });
      const { reasonCodes } = await client.subscribe(['d/+/x', 'd/other/x', 'u/+', 'u/#', 'u/z']);
      assert.deepEqual(new Set(reasonCodes), new Set([notAuthorized]), name);
    }
  });

  test(`claims are verified where that is on, ${workers} workers`, async () => {
    await using node = await startWith(workers, {
      ...secret,
      'jwt.verify_claims': 'on',
      'jwt.verify_claims.username': '%u',
      'jwt.verify_claims.device': '%c',
    });
    const token = makeToken({ username: 'ann', device: 'c1' });
    assert.equal(await codeOf(node, token, { clientId: 'c1' }), good);
    assert.equal(await codeOf(node, token, { clientId: 'c2' }), notAuthorized);
    assert.equal(await codeOf(node, token, { clientId: 'c1', username: 'bob' }), notAuthorized);
    assert.equal(await codeOf(node, makeToken({ username: 'ann' })), notAuthorized);
  });

  test(`a token in the username is never seen again, ${workers} workers`, async () => {
    await using node = await startWith(workers, { ...secret, 'jwt.from': 'username' });
    const tokens = [
      makeToken({ sub: 'ann', jti: 'fine' }),
      makeToken({ jti: 'nameless' }),
      makeToken({ sub: 'ann', exp: 1 }),
    ];
    const named: unknown[] = [];
    for (const [i, username] of tokens.entries()) {
      await using client = await show(node, undefined, { username, clientId: `c${i}` });
      assert.equal(client.connack?.reasonCode, i < 2 ? good : notAuthorized);
      const { body } = await node.get(`/nodes/broker@127.0.0.1/connections/c${i}`);
      named.push((body.data as { username: string }[])[0]?.username);
    }
    assert.equal(named[0], 'ann');
    assert.ok(node.logged.length > 0);
    for (const token of tokens) {
      assert.equal(JSON.stringify([named, ...node.logged]).includes(token.slice(0, 60)), false);
    }
    // It is the same user's session, though the token is another.
    const again = makeToken({ sub: 'ann', jti: 'another' });
    const session = { clientId: 's', cleanStart: false, properties: { sessionExpirySeconds: 60 } };
    await codeOf(node, undefined, { username: tokens[0] as string, ...session });
    await using resumed = await show(node, undefined, { username: again, ...session });
    assert.equal(resumed.connack?.sessionPresent, true);
  });
}

test('a token with fewer topics takes those away that its session had (CVE-2021-34434)', async () => {
  await using node = await startWith(0, { ...secret, 'zone.external.enable_acl': 'on' });
  const session = { clientId: 's', cleanStart: false, properties: { sessionExpirySeconds: 60 } };
  const tokenFor = (...sub: string[]): string => makeToken({ acl: { sub } });
  const before = await show(node, tokenFor('kept', 'lost'), session);
  assert.deepEqual((await before.subscribe(['kept', 'lost'])).reasonCodes, [0, 0]);
  await before.disconnect(0, { sessionExpirySeconds: 60 });
  await using after = await show(node, tokenFor('kept'), session);
  assert.equal(after.connack?.sessionPresent, true);
  await using sender = await show(node, makeToken({}), { clientId: 'sender' });
  for (const topic of ['lost', 'kept']) await sender.publish(topic, topic, { qos: 1 });
  assert.deepEqual(await after.receivePayloads(1), ['kept']);
});

test('a superuser by its token is asked for no topic', async () => {
  const settings = {
    ...secret,
    'jwt.superuser_claim': 'root',
    'zone.external.enable_acl': 'on',
    acl_nomatch: 'deny',
  };
  await using node = await startWith(0, settings);
  for (const [claims, code] of [
    [{ root: true, acl: {} }, 0],
    [{ root: false }, notAuthorized],
  ] as const) {
    await using client = await show(node, makeToken(claims));
    assert.equal((await client.subscribe('a')).reasonCodes[0], code);
  }
});

test('MQTT.js and mosquitto_pub come in with a token', async () => {
  await using node = await startWith(2, secret);
  const password = makeToken({ sub: 'ann' });
  const url = `mqtt://127.0.0.1:${node.mqttPort}`;
  const client = await mqtt.connectAsync(url, { username: 'ann', password });
  const heard = new Promise<string>((resolve) => {
    client.on('message', (_, payload) => resolve(payload.toString()));
  });
  await client.subscribeAsync('t');
  const words = [
    '-p',
    String(node.mqttPort),
    '-u',
    'ann',
    '-P',
    password,
    '-t',
    't',
    '-m',
    'hello',
  ];
  await promisify(execFile)('mosquitto_pub', ['-h', '127.0.0.1', '-q', '1', ...words]);
  assert.equal(await heard, 'hello');
  await client.endAsync();
  await assert.rejects(
    mqtt.connectAsync(url, { username: 'ann', password: `${password}AAAA` }, false),
    /Not authorized/,
  );
});

const refusedSettings: [settings: Readonly<Record<string, string>>, words: RegExp][] = [
  [{}, /Cannot verify tokens: found no key, want auth\.jwt\.secret, auth\.jwt\.pubkey or/],
  [{ 'jwt.secret': 'x', 'jwt.algorithms': 'RS256' }, /Cannot use auth\.jwt\.secret/],
  [{ 'jwt.jwks': 'http://127.0.0.1:1/', 'jwt.algorithms': 'HS256' }, /Cannot use auth\.jwt\.jwks/],
  [{ ...secret, 'jwt.algorithms': 'HS256,none' }, /auth\.jwt\.algorithms/],
  [{ ...secret, 'jwt.pubkey': '/nowhere.pem' }, /auth\.jwt\.pubkey/],
  [{ 'jwt.jwks': 'file:///etc/passwd' }, /expected an http or https URL/],
  [{ 'jwt.jwks': 'https://u:p@issuer.example/' }, /expected an http or https URL without/],
  [{ ...secret, 'jwt.verify_claims': 'on' }, /found no auth\.jwt\.verify_claims\.<name>/],
  [
    {
      ...secret,
      'jwt.from': 'username',
      'jwt.verify_claims': 'on',
      'jwt.verify_claims.username': '%u',
    },
    /Cannot compare with %u/,
  ],
];

test('settings by which no token could be verified keep the node from starting', async () => {
  for (const [settings, words] of refusedSettings) {
    await assert.rejects(startWith(0, settings), (error) => {
      assert.match(String(error), words);
      return true;
    });
  }
});

test('a file without a usable key keeps the node from starting', async () => {
  using file = new KeyFile('-----BEGIN NOTHING-----');
  const started = startWith(0, { 'jwt.pubkey': file.path });
  await assert.rejects(started, /Cannot read auth\.jwt\.pubkey ".*": found no public key in PEM/);
});

for (const workers of [0, 2]) {
  test(`topics and expiry of a connection outlive a reload, ${workers} workers`, async () => {
    await using node = await startWith(workers, { ...secret, 'zone.external.enable_acl': 'on' });
    await using limited = await show(node, makeToken({ acl: { sub: ['mine'] } }));
    const token = makeToken({ exp: inSeconds(4) });
    await using ending = await show(node, token, { clientId: 'ending' });
    await reload(node);
    const { reasonCodes } = await limited.subscribe(['mine', 'other']);
    assert.deepEqual(reasonCodes, [0, notAuthorized]);
    const [told] = await ending.expectClosed(20_000);
    assert.equal(told?.type === 'disconnect' && told.reasonCode, maximumConnectTime);
  });

  test(`nothing of the plugin is left when it is unloaded, ${workers} workers`, async () => {
    await using node = await startWith(workers, { ...secret, allow_anonymous: 'true' });
    const bad = makeToken({ exp: 1 });
    assert.equal(await codeOf(node, bad), notAuthorized);
    const { stdout } = await node.ctl('plugins', 'unload', 'broker_auth_jwt');
    assert.match(stdout, /unloaded successfully/);
    assert.equal(await codeOf(node, bad), good);
    assert.equal((await metricsOf(node))['auth/jwt/failure'], undefined);
    await node.ctl('plugins', 'load', 'broker_auth_jwt');
    assert.equal(await codeOf(node, bad), notAuthorized);
  });
}

async function reload(node: Managed): Promise<void> {
  const { stdout, stderr } = await node.ctl('plugins', 'reload', 'broker_auth_jwt');
  assert.match(stdout, /reloaded successfully/, stderr);
}
