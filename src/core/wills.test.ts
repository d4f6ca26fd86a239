import assert from 'node:assert/strict';
import test from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import type { VirtualClock } from '#base/clock';
import type { Message } from './message.ts';
import { publisher, wheel } from './session-fixture.ts';
import type { StoredWill, WillStore } from './store-port.ts';
import { type PublishWill, Wills } from './wills.ts';

interface Bench {
  readonly wills: Wills;
  readonly clock: VirtualClock;
  readonly published: string[];
  /** What a crash would leave. */
  readonly stored: Map<string, StoredWill>;
}

/** `publish` is done when the test says so: see `publishing`. */
function bench(
  stored: Map<string, StoredWill> = new Map(),
  onPublish: (topic: string, wills: Wills) => unknown = () => undefined,
  given: ReturnType<typeof wheel> = wheel(),
): Bench {
  const { clock, timers } = given;
  const published: string[] = [];
  const startMs = timers.nowMs;
  const store: WillStore = {
    put: (clientId, will) => void stored.set(clientId, will),
    delete: (clientId) => void stored.delete(clientId),
    sent: (clientId) => void stored.delete(clientId),
    all: () => stored,
  };
  const publish: PublishWill = async ({ topic, timestampMs }, onAccepted) => {
    published.push(`${topic} after ${Math.round((timestampMs - startMs) / 1000)} s`);
    await onPublish(topic, wills);
    onAccepted();
    return true;
  };
  const wills: Wills = new Wills(timers, store, publish);
  return { wills, clock, published, stored };
}

function willOn(topic: string, delaySeconds = 0): StoredWill {
  return {
    topic,
    payload: Buffer.from('gone'),
    qos: 1,
    retain: false,
    properties: {},
    from: publisher,
    delaySeconds,
    dueAtMs: undefined,
  };
}

test('a will without delay is published at once', () => {
  const { wills, published } = bench();
  wills.due('c', willOn('w'), 0);
  assert.deepEqual(published, ['w after 0 s']);
});

test('a will with a delay is published once when it has passed, with the time of then', () => {
  const { wills, clock, published } = bench();
  wills.due('c', willOn('w'), 10);
  clock.advance(9_000);
  assert.deepEqual(published, []);
  clock.advance(2_000);
  assert.deepEqual(published, ['w after 10 s']);
  wills.fire('c');
  clock.advance(60_000);
  assert.equal(published.length, 1);
});

test('a will is published when the session ends before its delay', () => {
  const { wills, clock, published } = bench();
  wills.due('c', willOn('w'), 10);
  clock.advance(3_000);
  wills.fire('c');
  clock.advance(60_000);
  assert.deepEqual(published, ['w after 3 s']);
});

test('a will is not published when its client is back before the delay', () => {
  const { wills, clock, published } = bench();
  wills.due('c', willOn('w'), 10);
  wills.due('other', willOn('o'), 10);
  wills.cancel('c');
  wills.cancel('nobody');
  wills.fire('c');
  clock.advance(60_000);
  assert.deepEqual(published, ['o after 10 s']);
});

test('a second will of a client does not swallow the first', () => {
  const { wills, clock, published } = bench();
  wills.due('c', willOn('one'), 10);
  wills.due('c', willOn('two'), 10);
  assert.deepEqual(published, ['one after 0 s']);
  clock.advance(11_000);
  assert.deepEqual(published, ['one after 0 s', 'two after 10 s']);
});

test('a will may make its client due again', () => {
  const { wills, clock, published } = bench(new Map(), (topic, due) => {
    if (topic === 'one') due.due('c', willOn('two'), 5);
  });
  wills.due('c', willOn('one'), 5);
  clock.advance(20_000);
  assert.deepEqual(published, ['one after 5 s', 'two after 10 s']);
});

test('a will says what its client said', () => {
  const messages: Message[] = [];
  const { timers } = wheel();
  const store = {
    put: () => undefined,
    delete: () => undefined,
    sent: () => undefined,
    all: () => [],
  };
  const wills = new Wills(timers, store, async (message) => messages.push(message) > 0);
  const properties = { contentType: 'text', messageExpirySeconds: 7 };
  wills.due('c', { ...willOn('w'), retain: true, properties }, 0);
  const [message] = messages as [Message];
  assert.deepEqual(
    [message.topic, message.payload.toString(), message.qos, message.retain, message.from],
    ['w', 'gone', 1, true, publisher],
  );
  assert.deepEqual(message.properties, properties);
  assert.equal(message.expiresAtMs, timers.nowMs + 7000, 'its life begins now');
});

test('a will is in the store while its client is connected, and not once it is taken back', () => {
  const { wills, published, stored } = bench();
  const will = willOn('w');
  wills.keep('c', will);
  assert.equal(stored.get('c'), will);
  wills.forget('other');
  assert.equal(stored.size, 1);
  wills.forget('c');
  assert.equal(stored.size, 0);
  assert.deepEqual(published, []);
});

test('a will stays in the store until those who are to have it have it', async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  const { wills, published, stored } = bench(new Map(), () => promise);
  const will = willOn('w');
  wills.keep('c', will);
  wills.due('c', will, 0);
  assert.deepEqual(published, ['w after 0 s']);
  await turn();
  assert.equal(stored.get('c'), will);
  resolve();
  await turn();
  assert.equal(stored.size, 0);
});

test('the will of the next connection outlasts the publishing of the one before', async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  const { wills, stored } = bench(new Map(), () => promise);
  const [one, two] = [willOn('one'), willOn('two')];
  wills.keep('c', one);
  wills.due('c', one, 0);
  wills.keep('c', two);
  resolve();
  await turn();
  assert.equal(stored.get('c'), two);
});

test('a delayed will is in the store with its time, until it is published or its client is back', async () => {
  const { wills, clock, stored, published } = bench();
  const [late, back] = [willOn('late', 10), willOn('back', 10)];
  const dueAtMs = clock.nowMs() + 10_000;
  for (const [clientId, will] of [
    ['late', late],
    ['back', back],
  ] as const) {
    wills.keep(clientId, will);
    wills.due(clientId, will, 10);
    assert.equal(stored.get(clientId)?.dueAtMs, dueAtMs);
  }
  wills.cancel('back');
  assert.deepEqual([...stored.keys()], ['late']);
  clock.advance(11_000);
  await turn();
  assert.deepEqual(published, ['late after 10 s']);
  assert.equal(stored.size, 0);
});

test('a will that the store was not told of is not kept there by its delay', () => {
  const { wills, clock, stored, published } = bench();
  wills.due('c', willOn('w', 10), 10);
  assert.equal(stored.size, 0);
  clock.advance(11_000);
  assert.deepEqual(published, ['w after 10 s']);
});

test('wills that another process left are published when they are due, and leave the store', async () => {
  const given = wheel();
  const nowMs = given.timers.nowMs;
  const stored = new Map([
    ['cut off', willOn('cut off')],
    ['cut off, delayed', willOn('cut off, delayed', 5)],
    ['overdue', { ...willOn('overdue', 99), dueAtMs: nowMs - 1 }],
    ['due later', { ...willOn('due later', 99), dueAtMs: nowMs + 20_000 }],
    ['back', { ...willOn('back', 99), dueAtMs: nowMs + 20_000 }],
  ]);
  const { wills, clock, published } = bench(stored, undefined, given);
  assert.equal(wills.restore(), 5);
  assert.deepEqual(published, ['cut off after 0 s', 'overdue after 0 s']);
  await turn();
  assert.deepEqual([...stored.keys()], ['cut off, delayed', 'due later', 'back']);
  wills.cancel('back');
  clock.advance(6_000);
  assert.deepEqual(published.slice(2), ['cut off, delayed after 5 s']);
  clock.advance(15_000);
  await turn();
  assert.deepEqual(published.slice(3), ['due later after 20 s']);
  assert.equal(stored.size, 0);
});
