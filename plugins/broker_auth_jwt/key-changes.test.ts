// Keys that change while the node runs: at the issuer, and in the file.

import assert from 'node:assert/strict';
import test from 'node:test';
import {
  alarmsOf,
  codeOf,
  good,
  KeyFile,
  KeyServer,
  metricsOf,
  notAuthorized,
  startWith,
  unavailable,
  until,
} from './node-fixture.ts';
import { ecPair, jwkOf, makeToken, type Pair, pemOf, rsa } from './token-fixture.ts';

const one = ecPair('P-256');
const two = ecPair('P-256');

function tokenBy({ privateKey: key }: Pair, kid?: string, alg = 'ES256'): string {
  return makeToken({ sub: 'ann' }, { alg, key, header: kid === undefined ? {} : { kid } });
}

const byOne = tokenBy(one, 'one');
const byTwo = tokenBy(two, 'two');

function jwksSettings(server: KeyServer): Record<string, string> {
  return { 'jwt.jwks': server.url, 'jwt.jwks.cooldown': '1s' };
}

for (const workers of [0, 2]) {
  test(`the issuer's keys follow one another, ${workers} workers`, async () => {
    await using server = await KeyServer.start([jwkOf(one, { kid: 'one' }), jwkOf(rsa)]);
    await using node = await startWith(workers, jwksSettings(server));
    for (let i = 0; i < 4; i++) assert.equal(await codeOf(node, byOne), good);
    assert.equal(await codeOf(node, tokenBy(rsa, undefined, 'RS256')), good);
    assert.equal(await codeOf(node, tokenBy(two, 'one')), notAuthorized);
    assert.equal(server.asked, 1, 'known keys are not asked for');

    server.publish([jwkOf(two, { kid: 'two' })]);
    await until(async () => (await codeOf(node, byTwo)) === good, 'the new key is used');
    for (let i = 0; i < 4; i++) {
      assert.equal(await codeOf(node, byTwo), good);
      assert.equal(await codeOf(node, byOne), notAuthorized, 'the old key is gone');
    }
    const found = await metricsOf(node);
    assert.equal(found['auth/jwt/jwks/fetched'], server.asked);
    assert.deepEqual(alarmsOf(node), []);
  });

  test(`unknown keys have the set fetched once per cooldown, ${workers} workers`, async () => {
    await using server = await KeyServer.start([jwkOf(one, { kid: 'one' })]);
    const settings = { ...jwksSettings(server), 'jwt.jwks.cooldown': '1h' };
    await using node = await startWith(workers, settings);
    const codes = await Promise.all(
      Array.from({ length: 20 }, (_, i) =>
        codeOf(node, tokenBy(two, `unknown-${i}`), { clientId: `c${i}` }),
      ),
    );
    assert.deepEqual(new Set(codes), new Set([notAuthorized]));
    assert.equal(server.asked, 1);
  });

  test(`known keys hold while the issuer talks nonsense or is gone, ${workers} workers`, async () => {
    await using server = await KeyServer.start([jwkOf(one, { kid: 'one' })]);
    await using node = await startWith(workers, jwksSettings(server));
    const nonsense: [status: number, body: string][] = [
      [200, '<html>'],
      [500, '{"keys":[]}'],
      [302, '{"keys":[]}'],
      [200, `{"keys":[${'{},'.repeat(100_000)}{}]}`],
    ];
    for (const [status, body] of nonsense) {
      Object.assign(server, { status, body });
      const { asked } = server;
      await until(async () => {
        const code = await codeOf(node, byTwo);
        return server.asked > asked && code === unavailable;
      }, 'the issuer is not understood');
      assert.equal(await codeOf(node, byOne), good);
      assert.deepEqual(alarmsOf(node), ['auth_jwt/jwks']);
    }
    await server[Symbol.asyncDispose]();
    await until(async () => (await codeOf(node, byTwo)) === unavailable, 'the issuer is gone');
    assert.equal(await codeOf(node, byOne), good);
  });

  test(`keys that are too old are not believed, ${workers} workers`, async () => {
    await using server = await KeyServer.start([jwkOf(one, { kid: 'one' })]);
    const settings = { ...jwksSettings(server), 'jwt.jwks.max_stale': '1s' };
    await using node = await startWith(workers, settings, ['jwt.jwks_stale']);
    server.status = 503;
    await until(async () => {
      await codeOf(node, byTwo); // has the broker notice
      return (await codeOf(node, byOne)) === unavailable;
    }, 'the keys are given up');
    server.status = 200;
    await until(async () => (await codeOf(node, byOne)) === good, 'they are back');
    assert.deepEqual(alarmsOf(node), []);
  });

  test(`a node starts without its issuer, and refuses until it is there, ${workers} workers`, async () => {
    await using server = await KeyServer.start([jwkOf(one, { kid: 'one' })]);
    server.status = 503;
    await using node = await startWith(workers, jwksSettings(server));
    assert.deepEqual(alarmsOf(node), ['auth_jwt/jwks']);
    assert.equal(await codeOf(node, byOne), unavailable);
    assert.equal(await codeOf(node, byOne, { version: 4 }), 3);
    server.status = 200;
    await until(async () => (await codeOf(node, byOne)) === good, 'the issuer is heard');
    assert.deepEqual(alarmsOf(node), []);
  });

  test(`a file of keys is read again when it changes, ${workers} workers`, async () => {
    using file = new KeyFile(pemOf(one));
    await using node = await startWith(workers, { 'jwt.pubkey': file.path });
    const [former, later] = [tokenBy(one), tokenBy(two)];
    assert.equal(await codeOf(node, former), good);
    assert.equal(await codeOf(node, later), notAuthorized);

    file.replace(pemOf(two));
    await until(async () => (await codeOf(node, later)) === good, 'the new key is used');
    assert.equal(await codeOf(node, former), notAuthorized);

    file.write('-----BEGIN PUBLIC KEY-----\n');
    await until(async () => alarmsOf(node).length === 1, 'the file is not understood');
    for (let i = 0; i < 4; i++) assert.equal(await codeOf(node, later), good);
    file.write(pemOf(one) + pemOf(two));
    await until(async () => alarmsOf(node).length === 0, 'the file is understood again');
    for (const token of [former, later]) assert.equal(await codeOf(node, token), good);
  });
}

test('unloading clears the alarm of an issuer that is gone', async () => {
  await using server = await KeyServer.start([]);
  server.status = 503;
  await using node = await startWith(0, jwksSettings(server));
  assert.deepEqual(alarmsOf(node), ['auth_jwt/jwks']);
  await node.ctl('plugins', 'unload', 'broker_auth_jwt');
  assert.deepEqual(alarmsOf(node), []);
});
