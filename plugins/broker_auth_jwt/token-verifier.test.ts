// Good and bad tokens, all made by hand: every algorithm, and every way around a signature that readers of
// tokens have fallen for.

import assert from 'node:assert/strict';
import test from 'node:test';
import { algorithms, secretAlgorithms } from './algorithms.ts';
import type { Settings } from './config.ts';
import { type PublicJwk, readKeySet, type SharedKeys } from './public-keys.ts';
import { readHeader } from './token.ts';
import {
  ec256,
  ecPair,
  encode,
  jwkOf,
  makeToken,
  pairOf,
  pemOf,
  rsa,
  testSecret,
} from './token-fixture.ts';
import { TokenRefused } from './token-refused.ts';
import { type Claims, TokenVerifier } from './token-verifier.ts';

const nowSeconds = 1_700_000_000;
const jwks: Settings['jwks'] = {
  url: 'http://127.0.0.1/',
  intervalMs: 1,
  cooldownMs: 1,
  staleMs: 1,
  caFile: undefined,
};

interface Options {
  readonly secret?: string | undefined;
  readonly pems?: readonly string[];
  readonly set?: readonly PublicJwk[] | undefined;
  readonly leewayMs?: number;
  readonly algorithms?: Settings['algorithms'];
  readonly jwks?: Settings['jwks'];
  /** What the issuer has when it is asked. */
  readonly next?: SharedKeys;
  readonly isReached?: boolean;
}

class Tried {
  readonly verifier: TokenVerifier;
  asked = 0;

  constructor(options: Options) {
    const { pems = [], set, leewayMs = 0, next, isReached = true } = options;
    this.verifier = new TokenVerifier({
      settings: {
        secret: options.secret,
        jwks: options.jwks,
        algorithms: options.algorithms ?? algorithms,
        leewayMs,
      },
      clock: { nowMs: () => nowSeconds * 1000 + 500 },
      refresh: async () => {
        this.asked++;
        if (next !== undefined) this.verifier.useKeys(next);
        return isReached;
      },
    });
    this.verifier.useKeys({ pems, set });
  }

  async verify(token: string): Promise<Claims> {
    const header = readHeader(token);
    assert.ok(header, 'it is taken for a token');
    return this.verifier.verify(token, header);
  }

  /** `good`, or why not. */
  async outcome(token: string): Promise<string> {
    try {
      await this.verify(token);
      return 'good';
    } catch (error) {
      if (error instanceof TokenRefused) return error.word;
      throw error;
    }
  }
}

const withSecret = (options: Options = {}): Tried => new Tried({ secret: testSecret, ...options });

for (const alg of algorithms) {
  const pair = pairOf.get(alg);
  const keys: Options =
    pair === undefined ? { secret: testSecret } : { secret: testSecret, pems: [pemOf(pair)] };

  test(`${alg} verifies what its key has signed, and nothing else`, async () => {
    const tried = new Tried(keys);
    const token = makeToken({ sub: 'ann', n: 1 }, { alg });
    assert.deepEqual(await tried.verify(token), { sub: 'ann', n: 1 });
    const [header, , signature] = token.split('.');
    assert.equal(
      await tried.outcome(`${header}.${encode({ sub: 'bob' })}.${signature}`),
      'signature',
    );
    assert.equal(await tried.outcome(`${header}.${encode({ sub: 'ann', n: 1 })}.`), 'signature');
    assert.equal(await tried.outcome(`${token}AAAA`), 'signature');
  });

  test(`${alg} is refused where auth.jwt.algorithms does not name it`, async () => {
    const others = algorithms.filter((one) => one !== alg);
    const token = makeToken({}, { alg });
    assert.equal(await new Tried({ ...keys, algorithms: others }).outcome(token), 'algorithm');
  });
}

test('a token of the right algorithm and another key is refused', async () => {
  const other = ecPair('P-256').privateKey;
  const tried = new Tried({ pems: [pemOf(ec256)] });
  assert.equal(await tried.outcome(makeToken({}, { alg: 'ES256', key: other })), 'signature');
  assert.equal(await withSecret().outcome(makeToken({}, { secret: 'another' })), 'signature');
});

test('several keys of a file are tried, so that one can follow another', async () => {
  const former = ecPair('P-256');
  const tried = new Tried({ pems: [pemOf(former), pemOf(rsa), pemOf(ec256)] });
  for (const { privateKey: key } of [former, ec256]) {
    assert.equal(await tried.outcome(makeToken({}, { alg: 'ES256', key })), 'good');
  }
});

test('"alg": "none" is refused, in any spelling, with and without a key', async () => {
  for (const tried of [withSecret(), new Tried({ pems: [pemOf(rsa)] })]) {
    for (const alg of ['none', 'None', 'NONE', '', 'HS1', 'RS257', 'EdDSA', 'PS256']) {
      const token = `${encode({ alg })}.${encode({ sub: 'ann' })}.`;
      assert.equal(await tried.outcome(token), 'algorithm', alg);
    }
    for (const header of [{}, { alg: 7 }, { alg: null }, { alg: ['HS256'] }]) {
      assert.equal(await tried.outcome(`${encode(header)}.${encode({})}.AA`), 'algorithm');
    }
  }
});

test('algorithm confusion: a public key is no secret for HS256', async () => {
  const pem = pemOf(rsa);
  const der = rsa.publicKey.export({ type: 'spki', format: 'der' });
  const set = readKeySet(JSON.stringify({ keys: [jwkOf(rsa, { kid: 'k' })] })).keys;
  for (const secret of [pem, pem.trim(), `${pem}\n`, der, String(jwkOf(rsa)['n'])]) {
    for (const header of [{}, { kid: 'k' }]) {
      const token = makeToken({ sub: 'ann' }, { alg: 'HS256', secret, header });
      assert.equal(await new Tried({ pems: [pem], set }).outcome(token), 'unknown_key');
      assert.equal(await withSecret({ pems: [pem], set }).outcome(token), 'signature');
    }
  }
});

test('a symmetric key in a key set is no secret for HS256', () => {
  const oct = { kty: 'oct', k: encode('x'), kid: 'k' };
  assert.deepEqual(readKeySet(JSON.stringify({ keys: [oct] })).keys, []);
});

test('a key of a header is not believed', async () => {
  const thief = ecPair('P-256');
  const header = { jwk: jwkOf(thief), jku: 'http://thief.example/', x5u: 'http://thief.example/' };
  const token = makeToken({}, { alg: 'ES256', key: thief.privateKey, header });
  assert.equal(await new Tried({ pems: [pemOf(ec256)] }).outcome(token), 'signature');
});

test('a key is used with the algorithm that its set names for it', async () => {
  const keys = [jwkOf(rsa, { kid: 'k', alg: 'RS512' })];
  const tried = new Tried({ jwks, set: readKeySet(JSON.stringify({ keys })).keys });
  const header = { kid: 'k' };
  assert.equal(await tried.outcome(makeToken({}, { alg: 'RS512', header })), 'good');
  assert.equal(await tried.outcome(makeToken({}, { alg: 'RS256', header })), 'unknown_key');
});

test('a critical extension is refused, also one that the library knows', async () => {
  for (const header of [{ crit: ['exp'] }, { crit: ['b64'], b64: true }, { crit: [] }]) {
    assert.equal(await withSecret().outcome(makeToken({}, { header })), 'critical_extension');
  }
});

test('exp, nbf and iat are checked where they are, and leeway is given to all three', async () => {
  const cases: [claims: object, strict: string, lenient: string][] = [
    [{ exp: nowSeconds + 1 }, 'good', 'good'],
    [{ exp: nowSeconds }, 'expired', 'good'],
    [{ exp: nowSeconds - 9 }, 'expired', 'good'],
    [{ exp: nowSeconds - 10 }, 'expired', 'expired'],
    [{ nbf: nowSeconds }, 'good', 'good'],
    [{ nbf: nowSeconds + 10 }, 'not_yet_valid', 'good'],
    [{ nbf: nowSeconds + 11 }, 'not_yet_valid', 'not_yet_valid'],
    [{ iat: nowSeconds }, 'good', 'good'],
    [{ iat: nowSeconds + 10 }, 'not_yet_valid', 'good'],
    [{ iat: nowSeconds + 11 }, 'not_yet_valid', 'not_yet_valid'],
    [{ exp: String(nowSeconds + 1) }, 'malformed', 'malformed'],
    [{ exp: null }, 'malformed', 'malformed'],
    [{ iat: 'now' }, 'malformed', 'malformed'],
  ];
  for (const [claims, strict, lenient] of cases) {
    const token = makeToken(claims);
    const found = [
      await withSecret().outcome(token),
      await withSecret({ leewayMs: 10_000 }).outcome(token),
    ];
    assert.deepEqual(found, [strict, lenient], JSON.stringify(claims));
  }
});

test('times are not looked at before the signature', async () => {
  const token = makeToken({ exp: 1 }, { secret: 'another' });
  assert.equal(await withSecret().outcome(token), 'signature');
});

test('a token that is not whole is refused as malformed', async () => {
  const tried = withSecret();
  const good = makeToken({});
  for (const token of [`${good}.`, `${good}.x.y`, `${encode({ alg: 'HS256' })}.`]) {
    assert.equal(await tried.outcome(token), 'malformed', token);
  }
  for (const claims of [[], 'text', 7, null]) {
    assert.equal(await tried.outcome(makeToken(claims)), 'malformed');
  }
});

test('a token of more than 8 KB is refused before it is verified', async () => {
  const tried = withSecret();
  const sizes = [7000, 9000];
  const found = sizes.map((size) => tried.outcome(makeToken({ x: 'x'.repeat((size * 3) / 4) })));
  assert.deepEqual(await Promise.all(found), ['good', 'too_large']);
});

function setOf(...kids: readonly [kid: string | undefined, pair: typeof ec256][]): PublicJwk[] {
  const keys = kids.map(([kid, pair]) => jwkOf(pair, kid === undefined ? {} : { kid }));
  return [...readKeySet(JSON.stringify({ keys })).keys];
}

test('the key that a token names is the one that counts', async () => {
  const one = ecPair('P-256');
  const two = ecPair('P-256');
  const tried = new Tried({ jwks, set: setOf(['one', one], ['two', two]) });
  const by = (key: typeof one, kid?: string): string =>
    makeToken({}, { alg: 'ES256', key: key.privateKey, header: kid === undefined ? {} : { kid } });
  assert.equal(await tried.outcome(by(one, 'one')), 'good');
  assert.equal(await tried.outcome(by(two, 'two')), 'good');
  assert.equal(await tried.outcome(by(two, 'one')), 'signature');
  assert.equal(await tried.outcome(by(two)), 'good');
  assert.equal(tried.asked, 0);
});

test('a token without a name of its key is tried with 8 keys at most', async () => {
  const pairs = Array.from({ length: 9 }, () => ecPair('P-256'));
  const set = setOf(...pairs.map((pair, i) => [`k${i}`, pair] as [string, typeof ec256]));
  const tried = new Tried({ jwks, set });
  const found = [7, 8].map((i) =>
    tried.outcome(makeToken({}, { alg: 'ES256', key: (pairs[i] ?? ec256).privateKey })),
  );
  assert.deepEqual(await Promise.all(found), ['good', 'signature']);
});

test('an unknown key has the key set fetched once, and the token is tried again', async () => {
  const set = setOf(['old', ec256]);
  const next = ecPair('P-256');
  const token = makeToken({}, { alg: 'ES256', key: next.privateKey, header: { kid: 'new' } });
  const tried = new Tried({ jwks, set, next: { pems: [], set: setOf(['new', next]) } });
  assert.equal(await tried.outcome(token), 'good');
  const still = new Tried({ jwks, set });
  assert.equal(await still.outcome(token), 'unknown_key');
  const cut = new Tried({ jwks, set, isReached: false });
  assert.equal(await cut.outcome(token), 'keys_unavailable');
  assert.deepEqual([tried.asked, still.asked, cut.asked], [1, 1, 1]);
});

test('without a key set the issuer is asked; for secrets and for files it never is', async () => {
  const token = makeToken({}, { alg: 'ES256' });
  const first = new Tried({ jwks, next: { pems: [], set: setOf([undefined, ec256]) } });
  assert.equal(await first.outcome(token), 'good');
  assert.equal(first.asked, 1);
  for (const alg of [...secretAlgorithms, 'ES256'] as const) {
    const tried = withSecret({ pems: [pemOf(rsa)], ...(alg !== 'ES256' && { jwks }) });
    const header = { kid: 'unknown' };
    await tried.outcome(makeToken({}, { alg, secret: 'another', header }));
    assert.equal(tried.asked, 0, alg);
  }
});
