import assert from 'node:assert/strict';
import test from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import type { VirtualClock } from '#base/clock';
import type { RetainerSettings } from '#config/settings';
import { DurableStore } from '#store/durable-store';
import { SlowEngine } from '#test/slow-engine';
import type { Message } from './message.ts';
import { Metrics } from './metrics.ts';
import { Retained } from './retained.ts';
import { type MessageOptions, messageOn, noPeers, wheel } from './session-fixture.ts';
import { Stats } from './stats.ts';

interface Bench {
  readonly retained: Retained;
  readonly clock: VirtualClock;
  /** How many timers are scheduled. */
  readonly scheduled: () => number;
  readonly stats: Stats;
  readonly metrics: Metrics;
  readonly store: DurableStore;
  readonly refused: string[];
  readonly keep: (topic: string, options?: MessageOptions) => void;
}

function bench(
  settings: Partial<RetainerSettings> = {},
  engine: SlowEngine = new SlowEngine(),
): Bench {
  const { clock, timers } = wheel();
  const store = new DurableStore(engine, { clock });
  const stats = new Stats();
  const metrics = new Metrics(undefined, stats);
  const refused: string[] = [];
  const retained = new Retained(
    { maxRetainedMessages: 0, maxPayloadBytes: 100, expirySeconds: 0, ...settings },
    { timers, stats, store },
    (topic, why) => refused.push(`${topic}: ${why}`),
    noPeers,
  );
  const keep = (topic: string, options: MessageOptions = {}): void => {
    const timestampMs = timers.nowMs;
    void retained.put(messageOn(topic, { retain: true, timestampMs, ...options }));
  };
  const scheduled = (): number => timers.size;
  return { retained, clock, scheduled, stats, metrics, store, refused, keep };
}

/** The payload that a subscriber to this very topic would be sent. */
function textAt(retained: Retained, topic: string): string | undefined {
  const found: Message[] = [];
  retained.slice(topic, '', 10, (message) => found.push(message) > 0);
  assert.ok(found.length <= 1);
  return found[0]?.payload.toString();
}

/** All names of a filter, taken in slices of so many names. */
function namesOf(retained: Retained, filter: string, namesMax: number): string[] {
  const names: string[] = [];
  let from: string | undefined = '';
  while (from !== undefined) {
    from = retained.slice(filter, from, namesMax, (message) => names.push(message.topic) > 0);
  }
  return names.sort();
}

test('retained keeps the last message of a topic and forgets it for an empty one', () => {
  const { retained, stats, metrics, keep } = bench();
  keep('a', { payload: 'one' });
  keep('a', { payload: 'two' });
  keep('b');
  assert.equal(textAt(retained, 'a'), 'two');
  assert.equal(stats.count('retained'), 2);
  assert.equal(metrics.get('messages/retained'), 2);
  keep('a', { payload: '' });
  keep('never there', { payload: '' });
  assert.equal(textAt(retained, 'a'), undefined);
  assert.equal(retained.size, 1);
  assert.equal(stats.count('retained'), 1);
});

test('retained refuses new topics over the limit and goes on replacing old ones', () => {
  const { retained, refused, keep } = bench({ maxRetainedMessages: 2 });
  for (const topic of ['a', 'b', 'c']) keep(topic);
  keep('b', { payload: 'new' });
  assert.deepEqual(refused, ['c: 2 topics are retained: the limit is reached']);
  assert.equal(textAt(retained, 'b'), 'new');
  keep('a', { payload: '' });
  keep('c');
  assert.equal(textAt(retained, 'c'), 'x');
});

test('retained refuses a payload over the limit and keeps the message before', () => {
  const { retained, refused, keep } = bench({ maxPayloadBytes: 3 });
  keep('a', { payload: 'abc' });
  keep('a', { payload: 'abcd' });
  assert.equal(textAt(retained, 'a'), 'abc');
  assert.deepEqual(refused, ['a: 4 bytes: the limit is 3']);
});

test('retained messages expire by their own time, else by the setting, system topics never', () => {
  const { retained, clock, keep } = bench({ expirySeconds: 20 });
  keep('own', { properties: { messageExpirySeconds: 10 } });
  keep('setting');
  keep('$SYS/x');
  clock.advance(10_000);
  assert.equal(textAt(retained, 'own'), undefined);
  assert.deepEqual(namesOf(retained, '#', 10), ['setting']);
  clock.advance(10_000);
  assert.deepEqual(namesOf(retained, '#', 10), []);
  assert.deepEqual(namesOf(retained, '$SYS/#', 10), ['$SYS/x']);
});

test('a sweep takes expired messages out of the store, as long as some may expire', () => {
  const { retained, clock, store, stats, keep } = bench();
  keep('soon', { properties: { messageExpirySeconds: 10 } });
  keep('later', { properties: { messageExpirySeconds: 100 } });
  keep('never');
  clock.advance(61_000);
  const left = (): string[] =>
    ['soon', 'later', 'never'].filter((topic) => store.retained.has(topic));
  assert.deepEqual(left(), ['later', 'never']);
  assert.equal(retained.size, 2);
  clock.advance(60_000);
  assert.deepEqual(left(), ['never']);
  assert.equal(stats.count('retained'), 1);
});

test('what expired while no process ran is swept without anything new being retained', async () => {
  const engine = new SlowEngine();
  const before = bench({}, engine);
  before.keep('soon', { properties: { messageExpirySeconds: 10 } });
  before.keep('never');
  await before.store.flushed();
  const { retained, clock } = bench({}, engine);
  assert.equal(retained.size, 2);
  clock.advance(61_000);
  assert.equal(retained.size, 1);
});

test('a message that replaces an expiring one lives by its own time', () => {
  const { retained, clock, scheduled, keep } = bench();
  keep('a', { properties: { messageExpirySeconds: 10 } });
  keep('a', { payload: 'stays' });
  assert.equal(scheduled(), 1);
  clock.advance(200_000);
  assert.equal(scheduled(), 0, 'nothing can expire: no more sweeps');
  assert.equal(textAt(retained, 'a'), 'stays');
});

test('retained slices give every match once, whatever their size', () => {
  const { retained, keep } = bench();
  const names = Array.from({ length: 57 }, (_, i) => `n/${i % 7}/${i}`);
  for (const name of [...names, 'other']) keep(name);
  for (const namesMax of [1, 2, 10, 1000]) {
    assert.deepEqual(namesOf(retained, 'n/#', namesMax), [...names].sort());
    assert.deepEqual(
      namesOf(retained, 'n/3/+', namesMax),
      names.filter((name) => name.startsWith('n/3/')).sort(),
    );
  }
});

test('a retained slice ends behind the message whose visit answers false', () => {
  const { retained, keep } = bench();
  for (const topic of ['a', 'b', 'c']) keep(topic);
  const seen: string[] = [];
  let from: string | undefined = '';
  let slices = 0;
  while (from !== undefined) {
    slices++;
    from = retained.slice('#', from, 100, (message) => {
      seen.push(message.topic);
      return false;
    });
  }
  assert.deepEqual(seen.sort(), ['a', 'b', 'c']);
  assert.ok(slices >= 3);
});

test('retained waits for the store, to keep and to forget what will be acknowledged', async () => {
  const engine = new SlowEngine();
  const { retained } = bench({}, engine);
  engine.hold();
  for (const payload of ['x', '']) {
    const wait = retained.put(messageOn('a', { retain: true, payload, qos: 1 }));
    let isFlushed = false;
    void wait?.then(() => {
      isFlushed = true;
    });
    const commit = await engine.next();
    assert.equal(isFlushed, false);
    commit.resolve();
    await wait;
    assert.equal(isFlushed, true);
  }
  // There is nothing to forget, and therefore nothing to wait for.
  await retained.put(messageOn('a', { retain: true, payload: '', qos: 1 }));
  assert.equal(retained.put(messageOn('a', { retain: true, qos: 0 })), undefined);
  assert.equal(retained.put(messageOn('b', { retain: true, payload: '', qos: 0 })), undefined);
  assert.equal(retained.size, 1);
});

test('to forget what seems to be gone waits for its removal, which may not be on disk yet', async () => {
  const engine = new SlowEngine();
  const { retained, clock, store, keep } = bench({}, engine);
  keep('a');
  await store.flushed();
  engine.hold();
  keep('a', { payload: '' });
  const removal = await engine.next();
  const again = retained.put(messageOn('a', { retain: true, payload: '', qos: 1 }));
  removal.reject();
  await turn();
  clock.advance(100);
  const second = await engine.next();
  assert.deepEqual(second.writes, ['remove retained']);
  second.resolve();
  await again;
  assert.equal(retained.size, 0);
});

test('a message that the store could not retain is not retained, and the one before is', async () => {
  const engine = new SlowEngine();
  const { retained, store, keep } = bench({}, engine);
  keep('a', { payload: 'old' });
  await store.flushed();
  engine.fail();
  const waits = ['a', 'b'].map((topic) =>
    retained.put(messageOn(topic, { payload: 'new', qos: 1 })),
  );
  assert.equal(textAt(retained, 'b'), 'new');
  for (const wait of waits) await assert.rejects(Promise.resolve(wait));
  assert.equal(textAt(retained, 'a'), 'old');
  assert.equal(textAt(retained, 'b'), undefined);
  assert.equal(retained.size, 1);
});
