import assert from 'node:assert/strict';
import test from 'node:test';
import type { ClaimRequest } from '#core/peers-port';
import { Claims } from './claims.ts';
import type { ClaimAnswer } from './registry.ts';

interface Bench {
  readonly claims: Claims;
  /** Requests that wait for an answer, in order. */
  readonly asked: { readonly request: ClaimRequest; readonly answer: ClaimAnswer }[];
  readonly released: string[];
  readonly sessions: Set<string>;
}

function bench(): Bench {
  const asked: Bench['asked'] = [];
  const released: string[] = [];
  const sessions = new Set<string>();
  const claims = new Claims({
    claim: (request, answer) => asked.push({ request, answer }),
    release: (clientId) => released.push(clientId),
    hasSession: (clientId) => sessions.has(clientId),
  });
  return { claims, asked, released, sessions };
}

function request(cleanStart = false): ClaimRequest {
  return { clientId: 'c', cleanStart, provenUsername: undefined, mountpoint: '' };
}

test('an id is ours in the moment in which the grant arrives, and asked for once', async () => {
  const { claims, asked, sessions } = bench();
  const wait = claims.claim(request());
  assert(!claims.owns('c'));
  asked[0]?.answer();
  assert(claims.owns('c'));
  await wait;
  sessions.add('c');
  claims.attempted('c');
  assert.equal(claims.claim(request()), undefined);
  assert.equal(asked.length, 1);
  claims.attempted('c');
  assert.deepEqual([claims.size, claims.busy], [1, 0]);
});

test('an order that comes right behind the grant leaves the id to the other', async () => {
  const { claims, asked, released } = bench();
  const wait = claims.claim(request());
  asked[0]?.answer();
  claims.givenUp('c');
  await wait;
  assert(!claims.owns('c'));
  claims.attempted('c');
  assert.deepEqual(released, []);
  assert.equal(claims.busy, 0);
});

test('an order that crossed with a release does not touch the grant that comes after it', async () => {
  const { claims, asked, released } = bench();
  claims.restored(['c']);
  claims.ended('c');
  const wait = claims.claim(request());
  claims.givenUp('c');
  asked[0]?.answer();
  await wait;
  assert(claims.owns('c'));
  assert.deepEqual(released, ['c']);
});

test('CONNECTs of one id share no request, and a later one goes behind those that wait', async () => {
  const { claims, asked } = bench();
  const first = claims.claim(request());
  const second = claims.claim(request());
  const third = claims.claim(request(true));
  assert.deepEqual(
    asked.map((each) => each.request.cleanStart),
    [false, false, true],
  );
  asked[0]?.answer();
  await first;
  assert(claims.owns('c'));
  assert.notEqual(claims.claim(request()), undefined, 'two are before it');
  for (const { answer } of asked.slice(1)) answer();
  await second;
  await third;
  assert.equal(claims.claim(request()), undefined);
});

test('an id is released when the last CONNECT after it has ended without a session', async () => {
  const { claims, asked, released } = bench();
  const first = claims.claim(request());
  const second = claims.claim(request());
  for (const { answer } of asked) answer();
  await first;
  await second;
  claims.attempted('c');
  assert.deepEqual(released, []);
  claims.attempted('c');
  assert.deepEqual(released, ['c']);
  assert(!claims.owns('c'));
  assert.equal(claims.busy, 0);
});

test('a CONNECT that ends before its answer has come keeps nothing', async () => {
  const { claims, asked, released } = bench();
  const wait = claims.claim(request());
  claims.attempted('c');
  assert.deepEqual(released, []);
  asked[0]?.answer();
  await wait;
  assert.deepEqual(released, ['c']);
  assert.deepEqual([claims.size, claims.busy], [0, 0]);
});

test('a CONNECT that ends before its answer has come takes nothing from one that came after it', async () => {
  const { claims, asked, released } = bench();
  const first = claims.claim(request());
  claims.attempted('c');
  const second = claims.claim(request());
  asked[0]?.answer();
  await first;
  assert(claims.owns('c'));
  assert.deepEqual(released, []);
  asked[1]?.answer();
  await second;
  claims.attempted('c');
  assert.deepEqual(released, ['c']);
});

test('a CONNECT that ends before its answer has come keeps the session that moved here for it', async () => {
  const { claims, asked, released, sessions } = bench();
  const wait = claims.claim(request());
  claims.attempted('c');
  sessions.add('c');
  asked[0]?.answer();
  await wait;
  assert.deepEqual(released, []);
  assert(claims.owns('c'));
});

test('a session that ends releases its id, unless a CONNECT is after it', () => {
  const { claims, released, sessions } = bench();
  claims.restored(['c', 'd']);
  claims.ended('d');
  assert.deepEqual(released, ['d']);
  sessions.add('c');
  assert.equal(claims.claim(request()), undefined);
  sessions.delete('c');
  claims.ended('c');
  assert(claims.owns('c'));
  claims.attempted('c');
  assert.deepEqual(released, ['d', 'c']);
});

test('what is being given up is released by nobody', () => {
  const { claims, released, sessions } = bench();
  claims.restored(['c']);
  sessions.add('c');
  claims.givenUp('c');
  sessions.delete('c');
  claims.ended('c');
  assert.deepEqual(released, []);
});

test('an id is ours again when giving it up has failed', () => {
  const { claims } = bench();
  claims.restored(['c']);
  claims.givenUp('c');
  claims.kept('c');
  assert(claims.owns('c'));
  assert.equal(claims.claim(request()), undefined);
});

test('a refused claim rejects, and leaves nothing behind', async () => {
  const { claims, asked, released } = bench();
  const wait = claims.claim(request());
  asked[0]?.answer(new Error('Cannot claim "c": worker 2 is down'));
  await assert.rejects(async () => wait, /worker 2 is down/);
  assert(!claims.owns('c'));
  claims.attempted('c');
  assert.deepEqual(released, []);
  assert.deepEqual([claims.size, claims.busy], [0, 0]);
});

test('the end of an attempt that nobody began changes nothing', () => {
  const { claims, released } = bench();
  claims.restored(['c']);
  claims.attempted('c');
  assert(claims.owns('c'));
  assert.deepEqual(released, []);
});
