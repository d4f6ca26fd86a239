import assert from 'node:assert/strict';
import test from 'node:test';
import { ScramClient } from '#test/scram-client';
import {
  makeScramCredential,
  type ScramCredential,
  type ScramFinal,
  type ScramFirst,
  ScramServer,
} from './scram.ts';

const decoyKey = Buffer.alloc(32, 7);
const salt = Buffer.from('W22ZaJ0SNY7soEsUEjb6gQ==', 'base64');
const pencil = makeScramCredential('pencil', { salt });
const users = new Map<string, ScramCredential>([
  ['user', pencil],
  ['a=b,c', pencil],
  ['=2C', pencil],
]);
const clientNonce = 'rOprNGfwEbeRWgbNEkqO';
const serverNonce = '%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0';

function newServer(
  lookup: (name: string) => ScramCredential | undefined = (name) => users.get(name),
) {
  return new ScramServer(lookup, { decoyKey, nonce: () => serverNonce });
}

function newClient(name: string, password: string, header = 'n,,'): ScramClient {
  return new ScramClient(name, password, { header, nonce: clientNonce });
}

function challengeOf(answer: ScramFirst): Buffer {
  assert.ok(answer.ok, answer.ok ? '' : answer.reason);
  return answer.serverFirst;
}

async function refusalOfFirst(text: string | Buffer): Promise<string> {
  const answer = await newServer().first(Buffer.from(text));
  assert.equal(answer.ok, false);
  return answer.ok ? '' : answer.reason;
}

async function refusalOfFinal(text: string): Promise<string> {
  const server = newServer();
  challengeOf(await server.first(newClient('user', 'pencil').first()));
  const answer = server.final(Buffer.from(text));
  assert.equal(answer.ok, false);
  return answer.ok ? '' : answer.reason;
}

test('ScramServer gives the answers of the example in RFC 7677', async () => {
  const server = newServer();
  const nonce = clientNonce + serverNonce;
  const serverFirst = challengeOf(await server.first(Buffer.from(`n,,n=user,r=${clientNonce}`)));
  assert.equal(serverFirst.toString(), `r=${nonce},s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096`);
  const proof = 'dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=';
  assert.deepEqual(server.final(Buffer.from(`c=biws,r=${nonce},p=${proof}`)), {
    ok: true,
    serverFinal: Buffer.from('v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4='),
    username: 'user',
  });
});

const accepted: [what: string, name: string, header: string, username: string][] = [
  ['a client that could bind the channel', 'user', 'y,,', 'user'],
  ['a client that acts for itself', 'user', 'n,a=user,', 'user'],
  ['a name with escaped characters', 'a=3Db=2Cc', 'n,,', 'a=b,c'],
  ['a name with an escaped escape', '=3D2C', 'n,,', '=2C'],
  ['a name in another Unicode form', 'ｕｓｅｒ', 'n,,', 'user'],
];
for (const [what, name, header, username] of accepted) {
  test(`ScramServer accepts ${what}, and proves itself`, async () => {
    const server = newServer();
    const client = newClient(name, 'pencil', header);
    const serverFirst = challengeOf(await server.first(client.first()));
    const answer = server.final(client.final(serverFirst, { extension: ',x=ignored' }));
    assert.ok(answer.ok);
    client.expectProof(answer.serverFinal);
    assert.equal(answer.username, username);
  });
}

test('ScramServer uses another nonce each time', async () => {
  const nonces = new Set<string>();
  for (let i = 0; i < 10; i += 1) {
    const server = new ScramServer(() => pencil, { decoyKey });
    nonces.add(challengeOf(await server.first(newClient('user', 'pencil').first())).toString());
  }
  assert.equal(nonces.size, 10);
});

test('ScramServer refuses a wrong password and an unknown user with the same words', async () => {
  const refusals: ScramFinal[] = [];
  for (const [name, password] of [
    ['user', 'pen'],
    ['nobody', 'pencil'],
  ] as const) {
    const server = newServer();
    const client = newClient(name, password);
    const answer = server.final(client.final(challengeOf(await server.first(client.first()))));
    refusals.push(answer);
  }
  const reason = 'Cannot verify client proof: it does not match';
  const refusal = { ok: false, fault: 'proof', reason };
  assert.deepEqual(refusals, [refusal, refusal]);
});

test('ScramServer shows an unknown user a salt that is stable, its own, and looks real', async () => {
  const challenge = async (name: string, key = decoyKey): Promise<string> => {
    const server = new ScramServer((asked) => users.get(asked), {
      decoyKey: key,
      nonce: () => 'x',
    });
    return challengeOf(await server.first(newClient(name, '').first())).toString();
  };
  assert.equal(await challenge('nobody'), await challenge('nobody'));
  assert.notEqual(await challenge('nobody'), await challenge('somebody'));
  assert.notEqual(await challenge('nobody'), await challenge('nobody', Buffer.alloc(32, 8)));
  assert.equal((await challenge('nobody')).length, (await challenge('user')).length);
});

test('ScramServer refuses a final message with another nonce or another header', async () => {
  const cases = [
    [{ nonce: `${clientNonce}${serverNonce}x` }, /Cannot verify nonce/],
    [{ nonce: clientNonce }, /Cannot verify nonce/],
    [{ binding: 'eSws' }, /Cannot verify channel binding/],
  ] as const;
  for (const [change, reason] of cases) {
    const server = newServer();
    const client = newClient('user', 'pencil');
    const answer = server.final(
      client.final(challengeOf(await server.first(client.first())), change),
    );
    assert.equal(answer.ok, false);
    if (!answer.ok) assert.match(answer.reason, reason);
  }
});

const badFirst: [what: string, text: string | Buffer, reason: RegExp][] = [
  ['nothing', '', /does not begin with "n,,"/],
  ['no header', 'n=user,r=abc', /does not begin with "n,,"/],
  ['channel binding', 'p=tls-unique,,n=user,r=abc', /channel binding is not supported/],
  ['another user to act for', 'n,a=admin,n=user,r=abc', /acting for another user/],
  ['a mandatory extension', 'n,,m=x,n=user,r=abc', /mandatory extensions/],
  ['no user', 'n,,r=abc', /"r" found, attribute "n" wanted/],
  ['an empty user', 'n,,n=,r=abc', /"nothing" found, attribute "n" wanted/],
  ['no nonce', 'n,,n=user', /"nothing" found, attribute "r" wanted/],
  ['attributes in another order', 'n,,r=abc,n=user', /"r" found, attribute "n" wanted/],
  ['a nonce with a space', 'n,,n=user,r=a bc', /the nonce has characters/],
  ['a second nonce', 'n,,n=user,r=abc,r=def', /attribute "r" is out of place/],
  ['a broken extension', 'n,,n=user,r=abc,xyz', /an extension is malformed/],
  ['a broken escape', 'n,,n=us=er,r=abc', /neither "=2C" nor "=3D"/],
  ['an escape in lower case', 'n,,n=us=2cer,r=abc', /neither "=2C" nor "=3D"/],
  ['a control character', 'n,,n=us\ter,r=abc', /a character in it is not allowed/],
  ['an invisible name', 'n,,n=\u00ad,r=abc', /nothing is left of it/],
  ['bytes that are not UTF-8', Buffer.from([0x6e, 0x2c, 0x2c, 0xff]), /it is not UTF-8/],
  ['a very long message', `n,,n=${'u'.repeat(5000)},r=abc`, /at most 4096 wanted/],
];
for (const [what, text, reason] of badFirst) {
  test(`ScramServer refuses a first message with ${what}`, async () => {
    assert.match(await refusalOfFirst(text), reason);
  });
}

const nonce = clientNonce + serverNonce;
const badFinal: [what: string, text: string, reason: RegExp][] = [
  ['nothing', '', /"nothing" found, attribute "c" wanted/],
  ['no channel binding', `r=${nonce},p=AAAA`, /"r" found, attribute "c" wanted/],
  ['no nonce', 'c=biws,p=AAAA', /"nothing" found, attribute "r" wanted/],
  ['no proof', `c=biws,r=${nonce}`, /"nothing" found, attribute "r" wanted/],
  ['something after the proof', `c=biws,r=${nonce},p=AAAA,x=y`, /"x" found, attribute "p" wanted/],
  ['two proofs', `c=biws,r=${nonce},p=AAAA,p=AAAA`, /attribute "p" is out of place/],
  ['a proof that is not base64', `c=biws,r=${nonce},p=AAA`, /"p" is not base64/],
  ['a short proof', `c=biws,r=${nonce},p=AAAA`, /Cannot verify client proof/],
  ['a long proof', `c=biws,r=${nonce},p=${'AAAA'.repeat(20)}`, /Cannot verify client proof/],
];
for (const [what, text, reason] of badFinal) {
  test(`ScramServer refuses a final message with ${what}`, async () => {
    assert.match(await refusalOfFinal(text), reason);
  });
}

test('ScramServer refuses a true proof with bytes after it', async () => {
  const server = newServer();
  const client = newClient('user', 'pencil');
  const [head, proof = ''] = client
    .final(challengeOf(await server.first(client.first())))
    .toString()
    .split(',p=');
  const longer = Buffer.concat([Buffer.from(proof, 'base64'), Buffer.of(0)]).toString('base64');
  assert.equal(server.final(Buffer.from(`${head},p=${longer}`)).ok, false);
});

test('ScramServer refuses messages out of turn, and the rest of that exchange', async () => {
  const client = newClient('user', 'pencil');
  assert.match(JSON.stringify(newServer().final(Buffer.from('c=biws'))), /out of turn/);

  const twice = newServer();
  const serverFirst = challengeOf(await twice.first(client.first()));
  assert.equal((await twice.first(client.first())).ok, false);
  assert.equal(twice.final(client.final(serverFirst)).ok, false);

  const replayed = newServer();
  const final = client.final(challengeOf(await replayed.first(client.first())));
  assert.equal(replayed.final(final).ok, true);
  assert.equal(replayed.final(final).ok, false);
});

test('ScramServer ends the exchange when the final message comes during the lookup', async () => {
  const { promise, resolve } = Promise.withResolvers<ScramCredential>();
  const server = new ScramServer(() => promise, { decoyKey });
  const first = server.first(newClient('user', 'pencil').first());
  assert.equal(server.final(Buffer.from('c=biws,r=x,p=AAAA')).ok, false);
  resolve(pencil);
  assert.equal((await first).ok, false);
});

test('ScramServer rejects when the lookup does, and is over then', async () => {
  const down = new Error('Cannot look up user: the database is down');
  const server = new ScramServer(() => Promise.reject(down), { decoyKey });
  await assert.rejects(server.first(newClient('user', 'pencil').first()), down);
  assert.equal(server.final(Buffer.from('c=biws')).ok, false);
});

test('makeScramCredential takes a fresh salt, and refuses few iterations', () => {
  assert.notDeepEqual(makeScramCredential('pencil').salt, makeScramCredential('pencil').salt);
  assert.throws(() => makeScramCredential('pencil', { iterations: 4095 }), /Invariant broken/);
  assert.throws(() => makeScramCredential('pencil', { salt: Buffer.alloc(0) }), /Invariant broken/);
});
