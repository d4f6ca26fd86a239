import assert from 'node:assert/strict';
import test from 'node:test';
import type { AuthAnswer, AuthStep, Credentials } from '#hooks/table';
import { ScramClient } from '#test/scram-client';
import { makeScramCredential, type ScramCredential, type ScramLookup } from './scram.ts';
import { scramAuth, scramMethod } from './scram-auth.ts';

const decoyKey = Buffer.alloc(32, 7);
const users = new Map<string, ScramCredential>([
  ['ann', makeScramCredential('apple')],
  ['bob', makeScramCredential('banana')],
  ['Zoë', makeScramCredential('cherry')],
]);
const badUsernameOrPassword = 0x86;
const notAuthorized = 0x87;

interface TalkOptions {
  /** What CONNECT said, or who the connected client is. */
  readonly username?: string | undefined;
  readonly isReauthentication?: boolean;
  readonly method?: string;
  readonly lookup?: ScramLookup;
}

/** One exchange: gives what the listener answers to each message. */
function talk(options: TalkOptions = {}) {
  const listener = scramAuth(options.lookup ?? ((name) => users.get(name)), { decoyKey });
  const exchange: AuthStep['exchange'] = {};
  return async (data?: Buffer): Promise<AuthAnswer | 'ignore'> =>
    listener({
      method: options.method ?? scramMethod,
      data,
      credentials: credentialsOf(options.username),
      isReauthentication: options.isReauthentication ?? false,
      exchange,
    });
}

function credentialsOf(username: string | undefined): Credentials {
  return {
    clientId: 'c',
    username,
    password: undefined,
    address: '127.0.0.1',
    port: 1,
    localPort: 2,
    zone: 'external',
    listener: 'mqtt:tcp',
    version: 5,
    wsCookie: undefined,
    commonName: undefined,
    distinguishedName: undefined,
  };
}

/** The last answer of a whole exchange. */
async function outcome(client: ScramClient, options?: TalkOptions): Promise<AuthAnswer | 'ignore'> {
  const say = talk(options);
  return say(client.final(challengeOf(await say(client.first()))));
}

function challengeOf(answer: AuthAnswer | 'ignore'): Buffer {
  assert.ok(answer !== 'ignore' && 'continue' in answer && answer.data, JSON.stringify(answer));
  return answer.data;
}

test('scramAuth ignores other methods and leaves their exchange alone', async () => {
  for (const method of ['SCRAM-SHA-1', 'SCRAM-SHA-256-PLUS', 'scram-sha-256', '']) {
    const say = talk({ method, lookup: () => assert.fail('looked up') });
    assert.equal(await say(new ScramClient('ann', 'apple').first()), 'ignore');
  }
});

test('scramAuth lets a client in as the user it proved to be, and proves itself', async () => {
  const client = new ScramClient('ann', 'apple');
  const answer = await outcome(client);
  assert.ok(answer !== 'ignore' && 'allow' in answer && answer.allow);
  assert.equal(answer.username, 'ann');
  client.expectProof(answer.data);
});

test('scramAuth asks a client that has sent no data for its first message, once', async () => {
  for (const nothing of [undefined, Buffer.alloc(0)]) {
    const say = talk();
    assert.deepEqual(await say(nothing), { continue: true });
    const client = new ScramClient('ann', 'apple');
    const answer = await say(client.final(challengeOf(await say(client.first()))));
    assert.ok(answer !== 'ignore' && 'allow' in answer && answer.allow);

    const sayNothing = talk();
    await sayNothing(nothing);
    assert.deepEqual(await sayNothing(nothing), {
      allow: false,
      reasonCode: notAuthorized,
      text: 'Cannot read client-first-message: it does not begin with "n,,"',
    });
  }
});

test('scramAuth refuses a wrong password and an unknown user alike', async () => {
  const text = 'Cannot verify client proof: it does not match';
  for (const isReauthentication of [false, true]) {
    const reasonCode = isReauthentication ? notAuthorized : badUsernameOrPassword;
    for (const name of ['ann', 'nobody']) {
      const options = { isReauthentication, username: name };
      assert.deepEqual(await outcome(new ScramClient(name, 'wrong'), options), {
        allow: false,
        reasonCode,
        text,
      });
    }
  }
});

const names: [what: string, options: TalkOptions, reasonCode: number][] = [
  ['CONNECT names the same user', { username: 'ann' }, 0],
  ['CONNECT names another user', { username: 'bob' }, badUsernameOrPassword],
  ['CONNECT names an empty user', { username: '' }, badUsernameOrPassword],
  ['CONNECT names a user that cannot be', { username: 'a\u0007' }, badUsernameOrPassword],
  ['a client authenticates again as itself', { username: 'ann', isReauthentication: true }, 0],
  ['a client becomes another', { username: 'bob', isReauthentication: true }, notAuthorized],
  ['a client without a name gets one later', { isReauthentication: true }, notAuthorized],
];
for (const [what, options, reasonCode] of names) {
  test(`scramAuth ${reasonCode === 0 ? 'allows' : 'refuses'} a true proof when ${what}`, async () => {
    const answer = await outcome(new ScramClient('ann', 'apple'), options);
    assert.ok(answer !== 'ignore' && 'allow' in answer);
    assert.equal(answer.allow ? 0 : answer.reasonCode, reasonCode);
  });
}

test('scramAuth takes a name in CONNECT for the same whatever its Unicode form', async () => {
  const answer = await outcome(new ScramClient('Zoe\u0308', 'cherry'), { username: 'Zoe\u0308' });
  assert.ok(answer !== 'ignore' && 'allow' in answer && answer.allow);
  assert.equal(answer.username, 'Zo\u00eb');
});

test('scramAuth refuses messages that make no sense with 0x87, and quotes nothing of them', async () => {
  const secret = 'hunter2';
  for (const bytes of [secret, `n,,n=${secret}`, `n,,n=ann,r=${secret},${secret}`, '\u0000']) {
    const answer = await talk()(Buffer.from(bytes));
    assert.ok(answer !== 'ignore' && 'allow' in answer && !answer.allow);
    assert.equal(answer.reasonCode, notAuthorized);
    assert.doesNotMatch(answer.text ?? '', /hunter2/);
  }
  const say = talk();
  await say(new ScramClient('ann', 'apple').first());
  const answer = await say(Buffer.from(`c=biws,r=${secret},p=${secret}`));
  assert.ok(answer !== 'ignore' && 'allow' in answer && !answer.allow);
  assert.equal(answer.reasonCode, notAuthorized);
  assert.doesNotMatch(answer.text ?? '', /hunter2/);
});

test('scramAuth lets no message be used twice', async () => {
  const say = talk();
  const client = new ScramClient('ann', 'apple');
  const final = client.final(challengeOf(await say(client.first())));
  await say(final);
  const again = await say(final);
  assert.ok(again !== 'ignore' && 'allow' in again && !again.allow);
  const elsewhere = talk();
  await elsewhere(client.first());
  const replayed = await elsewhere(final);
  assert.ok(replayed !== 'ignore' && 'allow' in replayed && !replayed.allow);
});

test('scramAuth rejects when the lookup does', async () => {
  const down = new Error('Cannot look up user: the database is down');
  const say = talk({ lookup: () => Promise.reject(down) });
  await assert.rejects(say(new ScramClient('ann', 'apple').first()), down);
});

test('scramAuth wants a decoy key that cannot be guessed', () => {
  assert.throws(() => scramAuth(() => undefined, { decoyKey: Buffer.alloc(15) }), /16 bytes/);
});
