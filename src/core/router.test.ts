import assert from 'node:assert/strict';
import test from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import fc from 'fast-check';
import { matches } from '#topics/match';
import type { QoS } from '#wire/packet';
import type { Interest } from './peers-port.ts';
import type { Wait } from './ports.ts';
import type { Route } from './router.ts';
import { bareRouter, deliveryTo, FakeSubscriber, messageOn, noPeers } from './session-fixture.ts';
import { Stats } from './stats.ts';

const given = process.env['FUZZ_SEED'];
const seed: number = given === undefined ? (Math.random() * 0x7fff_ffff) | 0 : Number(given);

const byNumber = (a: number, b: number): number => a - b;
const topics = ['a', 'b', 'a/b', 'a/b/c', 'a/', '/a', '$s/a', 'ä/ß', 'c/b/a'];
const filters = [...topics, '#', '+', 'a/#', '+/b', 'a/+', 'a/+/c', '+/+', '$s/#', '+/+/a', 'ä/+'];

interface Step {
  readonly do: 'add' | 'remove' | 'publish';
  readonly session: number;
  readonly filter: string;
  readonly group: string | undefined;
  readonly qos: QoS;
  readonly subscriptionId: number | undefined;
  readonly topic: string;
}
const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.record({
    do: fc.constantFrom('add', 'add', 'remove', 'publish', 'publish'),
    session: fc.nat(3),
    filter: fc.constantFrom(...filters),
    group: fc.constantFrom(undefined, undefined, undefined, 'g', 'h'),
    qos: fc.constantFrom<QoS>(0, 1, 2),
    subscriptionId: fc.constantFrom(undefined, 1, 2, 3),
    topic: fc.constantFrom(...topics),
  }),
  { maxLength: 120 },
);

/** What is subscribed, as a list that is looked through for every message. */
class NaiveRouter {
  readonly #entries = new Map<string, Step>();

  apply(step: Step): void {
    const key = `${step.session} ${step.group ?? ''} ${step.filter}`;
    if (step.do === 'add') this.#entries.set(key, step);
    else this.#entries.delete(key);
  }

  /** One line per copy for a session of its own, one per group. */
  expected(topic: string): string[] {
    const hits = [...this.#entries.values()].filter(({ filter }) => matches(filter, topic));
    const alone = Map.groupBy(
      hits.filter(({ group }) => group === undefined),
      ({ session }) => session,
    );
    const groups = new Set(
      hits.filter(({ group }) => group !== undefined).map((hit) => `${hit.group} ${hit.filter}`),
    );
    const copies = [...alone].map(([session, parts]) => {
      const qos = Math.max(...parts.map((part) => part.qos));
      const ids = parts.flatMap(({ subscriptionId }) => subscriptionId ?? []).sort(byNumber);
      return `s${session} qos ${qos} ids ${ids.join()}`;
    });
    return [...copies, ...[...groups].map((group) => `group ${group}`)].sort();
  }
}

function found(route: Route): string[] {
  const copies = route.deliveries.map(({ session, qos, subscriptionIds }) => {
    const ids = [...(subscriptionIds ?? [])].sort(byNumber);
    return `${session.clientId} qos ${qos} ids ${ids.join()}`;
  });
  return [...copies, ...route.groups.map(({ name, filter }) => `group ${name} ${filter}`)].sort();
}

test('router agrees with a naive one, through the cache and through kept routes', (t) => {
  t.diagnostic(`FUZZ_SEED=${seed}`);
  const law = fc.property(steps, (all) => {
    const router = bareRouter();
    const naive = new NaiveRouter();
    const sessions = [0, 1, 2, 3].map((i) => new FakeSubscriber(`s${i}`));
    const kept = new Map<string, Route>();
    for (const step of all) {
      const { filter, group, qos, subscriptionId, topic } = step;
      const session = sessions[step.session] as FakeSubscriber;
      if (step.do === 'add') {
        const subscriptionIds = subscriptionId === undefined ? undefined : [subscriptionId];
        const isPlain = subscriptionId === undefined;
        void router.filters.add(
          filter,
          group,
          deliveryTo(session, { qos, subscriptionIds, isPlain }),
        );
        naive.apply(step);
      } else if (step.do === 'remove') {
        router.filters.remove(filter, group, session);
        naive.apply(step);
      } else {
        const expected = naive.expected(topic);
        const keptRoute = kept.get(topic);
        if (keptRoute !== undefined) assert.deepEqual(found(router.refresh(keptRoute)), expected);
        const bytes = Buffer.from(topic);
        const route = router.routeOf(bytes, 0, bytes.length, () => topic);
        assert.deepEqual(found(route), expected);
        assert.equal(router.routeTo(topic), route);
        const isPlain = !expected.some((line) => /^group|ids ./.test(line));
        assert.equal(route.isPlain, isPlain);
        kept.set(topic, route);
      }
    }
    for (const topic of topics) {
      assert.deepEqual(found(router.routeTo(topic)), naive.expected(topic));
    }
  });
  fc.assert(law, { seed, numRuns: 200 });
});

test('router brings a kept route up to date after more wildcard changes than it remembers', () => {
  const router = bareRouter();
  const route = router.routeTo('a/b');
  const session = new FakeSubscriber('s');
  void router.filters.add('a/+', undefined, deliveryTo(session));
  for (let i = 0; i < 100; i++)
    void router.filters.add(`other/${i}/+`, undefined, deliveryTo(session));
  assert.equal(router.refresh(route).deliveries.length, 1);
  for (let i = 0; i < 31; i++) router.filters.remove(`other/${i}/+`, undefined, session);
  router.filters.remove('a/+', undefined, session);
  assert.equal(router.refresh(route).deliveries.length, 0);
});

test('router gives those who keep a forgotten route its successor, and both see every change', () => {
  const router = bareRouter();
  const oldest = router.routeTo('first');
  for (let i = 0; i < 131_072; i++) router.routeTo(`t/${i}`);
  assert.equal(oldest.isStale, true);
  const successor = router.refresh(oldest);
  assert.equal(successor.deliveries.length, 0);
  void router.filters.add('first', undefined, deliveryTo(new FakeSubscriber('s')));
  assert.equal(router.refresh(oldest).deliveries.length, 1);
  assert.equal(router.refresh(successor).deliveries.length, 1);
  assert.equal(router.refresh(oldest), router.routeTo('first'));
});

test('router asks for the text of a topic only when it does not know the bytes', () => {
  const router = bareRouter();
  const bytes = Buffer.from('xxa/bxx');
  let asked = 0;
  const decode = (): string => {
    asked++;
    return 'a/b';
  };
  const route = router.routeOf(bytes, 2, 5, decode);
  assert.equal(router.routeOf(bytes, 2, 5, decode), route);
  assert.equal(asked, 1);
  bytes.fill(0);
  assert.equal(route.bytes.toString(), 'a/b', 'its own memory, not the read buffer');
});

test('router remembers nothing of a topic whose decoding throws', () => {
  const router = bareRouter();
  const bytes = Buffer.from('#');
  const refuse = (): never => {
    throw new TypeError('no topic');
  };
  for (let i = 0; i < 2; i++) {
    assert.throws(() => router.routeOf(bytes, 0, 1, refuse), /no topic/);
  }
});

test('router dispatches one copy per session and one per group', () => {
  const router = bareRouter();
  const [a, b] = [new FakeSubscriber('a'), new FakeSubscriber('b')];
  void router.filters.add('t', undefined, deliveryTo(a));
  void router.filters.add('+', undefined, deliveryTo(a, { qos: 2 }));
  void router.filters.add('t', 'g', deliveryTo(a));
  void router.filters.add('t', 'g', deliveryTo(b));
  const waits: { wait: Wait } = { wait: undefined };
  const copies = router.dispatch(messageOn('t'), router.routeTo('t'), waits);
  assert.equal(copies, 2);
  assert.equal(a.received.length + b.received.length, 2);
  assert.equal(a.received[0]?.delivery.qos, 2);
  assert.equal(waits.wait, undefined);
});

test('router waits for every store that a copy waits for', async () => {
  const router = bareRouter();
  const stores = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  for (const [i, { promise }] of stores.entries()) {
    const session = new FakeSubscriber(`s${i}`);
    session.stored = promise;
    void router.filters.add('t', undefined, deliveryTo(session));
  }
  const waits: { wait: Wait } = { wait: undefined };
  router.dispatch(messageOn('t'), router.routeTo('t'), waits);
  let isOver = false;
  const over = waits.wait?.then(() => {
    isOver = true;
  });
  stores[0]?.resolve();
  await turn();
  assert.equal(isOver, false);
  stores[1]?.resolve();
  await over;
  assert.equal(isOver, true);
});

test('router tells peers of the first and the last subscription to a filter, once each', () => {
  const told: string[] = [];
  const interest = (filter: string, level: Interest): Wait => {
    told.push(`${filter} ${level}`);
    return undefined;
  };
  const stats = new Stats();
  const router = bareRouter({ ...noPeers, interest }, stats);
  const [a, b] = [new FakeSubscriber('a'), new FakeSubscriber('b')];
  void router.filters.add('x/#', undefined, deliveryTo(a));
  void router.filters.add('x/#', 'g', deliveryTo(b));
  assert.equal(stats.count('topics'), 1);
  assert.deepEqual([...router.filters.names()], ['x/#']);
  router.filters.remove('x/#', undefined, a);
  router.filters.remove('x/#', undefined, a);
  router.filters.remove('x/#', 'g', b);
  assert.deepEqual(told, ['x/# 1', 'x/# 0']);
  assert.equal(stats.count('topics'), 0);
  assert.equal(stats.count('subscribers'), 0);
  assert.deepEqual([...router.filters.names()], []);
});
