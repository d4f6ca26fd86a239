import assert from 'node:assert/strict';
import test from 'node:test';
import type { Credentials } from '#sdk';
import { algorithms } from './algorithms.ts';
import { admit } from './claims.ts';
import type { Settings } from './config.ts';
import { TokenRefused } from './token-refused.ts';
import type { Claims } from './token-verifier.ts';

const plain: Settings = {
  from: 'password',
  secret: undefined,
  publicKeyFile: undefined,
  jwks: undefined,
  algorithms,
  expected: [],
  leewayMs: 0,
  endsWithToken: true,
  usernameClaim: undefined,
  superuserClaim: undefined,
  aclClaim: 'acl',
};
const shown: Credentials = {
  clientId: 'c1',
  username: 'ann',
  password: undefined,
  address: '127.0.0.1',
  port: 1,
  localPort: 1883,
  zone: 'external',
  listener: 'mqtt:tcp',
  version: 5,
  wsCookie: undefined,
  commonName: undefined,
  distinguishedName: undefined,
};

function verdictOf(
  claims: object,
  settings: Partial<Settings> = {},
  who: Partial<Credentials> = {},
) {
  return admit(claims as Claims, { ...plain, ...settings }, { ...shown, ...who });
}

/** Why the claims are refused. */
function refusal(...asked: Parameters<typeof verdictOf>): string {
  try {
    verdictOf(...asked);
    return 'none';
  } catch (error) {
    assert.ok(error instanceof TokenRefused);
    return `${error.word} ${error.message}`;
  }
}

test('claims that nobody asks for change nothing', () => {
  const claims = { sub: 'bob', is_superuser: true, username: 'bob', other: [{}] };
  assert.deepEqual(verdictOf(claims), { allow: true, isSuperuser: false });
});

test('claims that are wanted must be there and be the same', () => {
  const expected: Settings['expected'] = [
    ['username', '%u'],
    ['device', '%c'],
    ['aud', 'mqtt'],
    ['level', '3'],
  ];
  const good = { username: 'ann', device: 'c1', aud: 'mqtt', level: 3 };
  const cases: [change: object, found: string][] = [
    [{}, 'none'],
    [{ aud: ['http', 'mqtt'] }, 'none'],
    [{ level: '3' }, 'none'],
    [{ username: 'bob' }, 'claim username'],
    [{ username: undefined }, 'claim username'],
    [{ username: null }, 'claim username'],
    [{ username: { toString: 'ann' } }, 'claim username'],
    [{ username: '%u' }, 'claim username'],
    [{ device: 'c2' }, 'claim device'],
    [{ device: '' }, 'claim device'],
    [{ aud: [] }, 'claim aud'],
    [{ aud: 'MQTT' }, 'claim aud'],
    [{ aud: [['mqtt']] }, 'claim aud'],
    [{ level: 4 }, 'claim level'],
  ];
  for (const [change, found] of cases) {
    assert.equal(refusal({ ...good, ...change }, { expected }), found, JSON.stringify(change));
  }
});

test('%u and %c of a client that shows none match nothing', () => {
  const who = { username: undefined, clientId: '' };
  for (const name of ['%u', '%c']) {
    for (const x of ['', 'undefined', undefined, name]) {
      assert.equal(refusal({ x }, { expected: [['x', name]] }, who), 'claim x');
    }
  }
});

test('names of claims are not looked up in prototypes', () => {
  for (const name of ['constructor', '__proto__', 'tostring']) {
    assert.equal(refusal({}, { expected: [[name, 'x']], aclClaim: name }), `claim ${name}`);
  }
  assert.deepEqual(verdictOf({}, { aclClaim: 'constructor', superuserClaim: '__proto__' }), {
    allow: true,
    isSuperuser: false,
  });
});

test('only true makes a superuser', () => {
  for (const [value, isSuperuser] of [
    [true, true],
    ['true', false],
    [1, false],
    [undefined, false],
  ]) {
    const claims = { admin: value };
    assert.deepEqual(verdictOf(claims, { superuserClaim: 'admin' }), { allow: true, isSuperuser });
  }
});

test('a connection ends with its token, leeway included, unless expiry is ignored', () => {
  const ends = (claims: object, settings: Partial<Settings>): number | undefined => {
    const verdict = verdictOf(claims, settings);
    return verdict.allow ? verdict.expiresAtMs : assert.fail();
  };
  assert.equal(ends({ exp: 1_700_000_000 }, {}), 1_700_000_000_000);
  assert.equal(ends({ exp: 1_700_000_000.5 }, { leewayMs: 2000 }), 1_700_000_002_500);
  assert.equal(ends({ exp: 1_700_000_000 }, { endsWithToken: false }), undefined);
  assert.equal(ends({}, {}), undefined);
});

test('the name is that of CONNECT, or of the claim that is configured, or of sub', () => {
  const name = (claims: object, settings: Partial<Settings>): unknown =>
    verdictOf(claims, settings).username;
  assert.equal(name({ sub: 'bob' }, {}), undefined);
  assert.equal(name({ sub: 'bob' }, { usernameClaim: 'sub' }), 'bob');
  assert.equal(name({ sub: 'bob' }, { from: 'username' }), 'bob');
  assert.equal(name({}, { from: 'username' }), null);
  assert.equal(name({ sub: 7 }, { from: 'username' }), null);
  for (const sub of [undefined, '', 7, null]) {
    assert.equal(refusal({ sub }, { usernameClaim: 'sub' }), 'username sub');
  }
});

test('topics of a token are kept with the client; those that cannot be read refuse it', () => {
  const verdict = verdictOf({ topics: { all: ['a/#'] } }, { aclClaim: 'topics' });
  assert.deepEqual(verdict, {
    allow: true,
    isSuperuser: false,
    grant: { broker_auth_jwt: { pub: ['a/#'], sub: ['a/#'] } },
  });
  assert.match(refusal({ acl: null }), /^acl acl: want an object/);
  assert.match(refusal({ acl: { pub: ['a#'] } }), /^acl acl: cannot use "a#" of "pub"/);
});
