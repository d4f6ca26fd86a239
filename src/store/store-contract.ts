// What core/store-port.ts promises, as tests that a store passes on every engine. Each begins with an
// empty engine; "the next process" is another store on the same one.

import assert from 'node:assert/strict';
import test from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { VirtualClock } from '#base/clock';
import type { Store, StoredSession, StoredWill } from '#core/store-port';
import type { Subscription } from '#core/subscription';
import { DurableStore } from './durable-store.ts';
import type { Engine } from './engine.ts';
import type { MakeEngine } from './engine-fixture.ts';
import {
  delivery,
  headOf,
  ownMessage,
  payloadsOf,
  sharedMessage,
} from './session-store-fixture.ts';

type Body = (store: DurableStore, next: () => Promise<Store>) => Promise<void>;
type On = (title: string, body: Body) => void;

export function storeContract(name: string, makeEngine: MakeEngine): void {
  const on: On = (title, body) => {
    test(`${name}: ${title}`, async () => {
      await using tried = await makeEngine();
      let last = storeOn(tried.engine);
      await body(last, async () => {
        await atRest(last);
        last = storeOn(tried.engine);
        return last;
      });
      await atRest(last);
    });
  };
  flushes(on);
  sessions(on);
  messages(on);
  settling(on);
  endings(on);
  others(on);
}

function storeOn(engine: Engine): DurableStore {
  const onFault = (error: unknown): never => {
    throw error;
  };
  return new DurableStore(engine, { clock: new VirtualClock(), onTrouble: onFault, onFault });
}

/** Everything is flushed, also what the store tells itself. */
async function atRest(store: DurableStore): Promise<void> {
  do {
    await store.flushed();
    await turn();
  } while (store.pendingBytes > 0);
}

function found(store: Store, clientId: string): StoredSession | undefined {
  return [...store.sessions()].find(({ head }) => head.clientId === clientId);
}

const subscription: Subscription = {
  filter: '$share/g/a/+',
  routed: 'a/+',
  group: 'g',
  qos: 1,
  noLocal: false,
  retainAsPublished: true,
  retainHandling: 2,
  subscriptionId: 7,
};

const will: StoredWill = {
  topic: 'w',
  payload: Buffer.from('gone'),
  qos: 1,
  retain: false,
  properties: { contentType: 'text' },
  from: { clientId: 'c', username: 'u', address: '::1', port: 1 },
  delaySeconds: 3,
  dueAtMs: undefined,
};

function flushes(on: On): void {
  on('there is nothing to wait for when nothing was told', async (store) => {
    assert.equal(store.pendingBytes, 0);
    await store.flushed();
    await store.flushed();
  });

  on('what is told counts until it is flushed, and is there then', async (store, next) => {
    const session = store.createSession(headOf('s'));
    session.put(1, ownMessage('x'), delivery());
    assert.ok(store.pendingBytes > 0);
    await store.flushed();
    assert.equal(store.pendingBytes, 0);
    assert.deepEqual(found(await next(), 's')?.head, headOf('s'));
    assert.deepEqual(payloadsOf(session), ['x']);
  });

  on('turn after turn is flushed, and each waits for its own', async (store) => {
    const session = store.createSession(headOf('s'));
    const waits: Promise<void>[] = [];
    for (let seq = 1; seq <= 50; seq++) {
      session.put(seq, ownMessage(`${seq}`), delivery());
      waits.push(store.flushed().then(() => assert.ok(payloadsOf(session).includes(`${seq}`))));
      if (seq % 7 === 0) await store.flushed();
    }
    await Promise.all(waits);
    assert.equal(session.extent(0).count, 50);
  });
}

function sessions(on: On): void {
  on('the next process finds sessions as they were told last', async (store, next) => {
    const left = headOf('s', { leftAtMs: 5, expirySeconds: Infinity, username: 'u', sentSeq: 9 });
    const session = store.createSession(headOf('s'));
    store.createSession(headOf('other'));
    session.update(left);
    session.subscribe(subscription);
    session.subscribe({ ...subscription, filter: 'gone', routed: 'gone', group: undefined });
    session.unsubscribe('gone');
    session.take(3, 2000);
    session.take(9, 1000);
    session.take(4, 3000);
    session.free(4);
    await store.flushed();
    const after = await next();
    assert.deepEqual(
      [...after.sessions()].map(({ head }) => head.clientId),
      ['s', 'other'],
    );
    const again = found(after, 's');
    assert.deepEqual(again?.head, left);
    assert.deepEqual(again.subscriptions, [subscription]);
    assert.deepEqual(
      [...again.store.taken()],
      [
        [9, 1000],
        [3, 2000],
      ],
    );
    assert.deepEqual(found(after, 'other')?.subscriptions, []);
  });

  on('what the next process tells of a session stays in the same place', async (store, next) => {
    const session = store.createSession(headOf('s'));
    session.put(1, ownMessage('one'), delivery());
    await store.flushed();
    const second = await next();
    const again = found(second, 's') as StoredSession;
    again.store.put(2, ownMessage('two'), delivery());
    again.store.subscribe(subscription);
    second.createSession(headOf('young')).put(1, ownMessage('young'), delivery());
    await second.flushed();
    const third = await next();
    assert.deepEqual(payloadsOf((found(third, 's') as StoredSession).store), ['one', 'two']);
    assert.deepEqual(payloadsOf((found(third, 'young') as StoredSession).store), ['young']);
    assert.equal(found(third, 's')?.subscriptions.length, 1);
  });
}

function messages(on: On): void {
  on('messages come back in order, whole, with what their delivery asked for', async (store) => {
    const session = store.createSession(headOf('s'));
    const group = { name: 'g', filter: 'a/+', redispatch: () => undefined };
    const wanted = { qos: 1, retainAsPublished: true, subscriptionIds: [1, 2], group } as const;
    const properties = { responseTopic: 'r', messageExpirySeconds: 9 };
    for (const seq of [300, 1, 2 ** 40, 2]) {
      session.put(seq, ownMessage(`${seq}`, { properties }), delivery(wanted));
    }
    await store.flushed();
    const entries = session.read(0, 2 ** 48 - 2, 100);
    assert.deepEqual(
      entries.map(({ seq, message }) => [seq, message?.payload.toString()]),
      [1, 2, 300, 2 ** 40].map((seq) => [seq, `${seq}`]),
    );
    for (const { message, options } of entries) {
      assert.deepEqual(message?.properties, properties);
      assert.deepEqual(options, {
        qos: 1,
        retainAsPublished: true,
        isReplay: false,
        subscriptionIds: [1, 2],
        group: { name: 'g', filter: 'a/+' },
      });
    }
    assert.deepEqual(
      session.read(2, 300, 1).map(({ seq }) => seq),
      [2],
    );
    assert.deepEqual(session.extent(2), { count: 3, lastSeq: 2 ** 40 });
  });

  on('a message of 1 MB and one without payload come back', async (store) => {
    const session = store.createSession(headOf('s'));
    const large = 'x'.repeat(1_000_000);
    for (const [i, payload] of [large, ''].entries()) {
      session.put(2 * i + 1, ownMessage(payload), delivery());
      session.put(2 * i + 2, sharedMessage(payload), delivery());
    }
    await store.flushed();
    assert.deepEqual(payloadsOf(session), [large, large, '', '']);
  });
}

function settling(on: On): void {
  on('what is settled, shed or released is so for the next process', async (store, next) => {
    const names = ['a', 'b'] as const;
    const all = names.map((name) => store.createSession(headOf(name)));
    const kept = ['1', '2', '3', '4', '5'].map((text, i) => {
      const message = i % 2 === 0 ? sharedMessage(text) : ownMessage(text);
      return { message, receipts: all.map((session) => session.put(i + 1, message, delivery())) };
    });
    await store.flushed();
    const [a] = all as [(typeof all)[0]];
    const tell = (i: number, how: 'settle' | 'shed' | 'release'): unknown =>
      a[how](i + 1, (kept[i] as (typeof kept)[0]).message, kept[i]?.receipts[0] as number);
    tell(0, 'settle');
    tell(1, 'settle');
    tell(2, 'release');
    tell(3, 'release');
    tell(4, 'shed');
    await store.flushed();
    const after = await next();
    assert.deepEqual(payloadsOf((found(after, 'a') as StoredSession).store), [
      'released',
      'released',
    ]);
    const whole = payloadsOf((found(after, 'b') as StoredSession).store);
    assert.deepEqual(whole, ['1', '2', '3', '4', '5']);
  });

  on('who watches a session is told how far it is on disk', async (store) => {
    const session = store.createSession(headOf('s'));
    const told: number[] = [];
    session.watcher = {
      onFlushed: (through) => told.push(through),
      onRefused: () => assert.fail(),
    };
    for (const seq of [1, 2, 5]) session.put(seq, ownMessage('x'), delivery());
    await store.flushed();
    session.put(6, ownMessage('x'), delivery());
    await store.flushed();
    assert.deepEqual(told, [5, 6]);
  });
}

function endings(on: On): void {
  on('a session that has ended is not found, and nobody inherits from it', async (store, next) => {
    const session = store.createSession(headOf('s'));
    session.put(1, sharedMessage('x'), delivery());
    session.subscribe(subscription);
    session.take(1, 1);
    await store.flushed();
    session.end();
    await store.flushed();
    const second = await next();
    assert.equal(found(second, 's'), undefined);
    const young = second.createSession(headOf('s'));
    await second.flushed();
    assert.deepEqual([payloadsOf(young), [...young.taken()]], [[], []]);
    assert.deepEqual(found(await next(), 's')?.subscriptions, []);
  });

  on('a session that ends and begins again in one turn is the new one', async (store, next) => {
    const old = store.createSession(headOf('s'));
    old.put(1, ownMessage('old'), delivery());
    await store.flushed();
    old.end();
    const young = store.createSession(headOf('s', { createdAtMs: 1 }));
    young.put(1, ownMessage('new'), delivery());
    await store.flushed();
    const all = [...(await next()).sessions()];
    assert.deepEqual(
      all.map(({ head }) => head.createdAtMs),
      [1],
    );
    assert.deepEqual(
      all.map((session) => payloadsOf(session.store)),
      [['new']],
    );
  });
}

function others(on: On): void {
  on('wills are there until they are deleted or sent', async (store, next) => {
    store.wills.put('a', will);
    store.wills.put('b', will);
    store.wills.put('c', will);
    store.wills.put('a', { ...will, dueAtMs: 5 });
    await store.flushed();
    store.wills.delete('b');
    store.wills.sent('c');
    await store.flushed();
    assert.deepEqual([...(await next()).wills.all()], [['a', { ...will, dueAtMs: 5 }]]);
  });

  on('retained messages show at once and are there for the next process', async (store, next) => {
    const topics = (of: Store, filter: string): string[] => {
      const all: string[] = [];
      of.retained.slice(filter, '', 100, ({ topic, payload }, expiresAtMs) => {
        return all.push(`${topic} ${payload.toString()} ${expiresAtMs}`) > 0;
      });
      return all;
    };
    const { retained } = store;
    const named = (topic: string, payload: string): Parameters<typeof retained.put>[0] =>
      ownMessage(payload, { retain: true }).with({ topic });
    for (const topic of ['a', 'a/b', 'a/c', 'gone']) retained.put(named(topic, 'x'), Infinity);
    retained.put(named('a/b', 'y'), 77);
    retained.delete('gone');
    retained.delete('never there');
    const wanted = ['a/b y 77', 'a/c x Infinity'];
    assert.deepEqual(topics(store, 'a/+'), wanted);
    assert.deepEqual([retained.size, retained.has('a'), retained.has('gone')], [3, true, false]);
    await store.flushed();
    const after = await next();
    assert.deepEqual(topics(after, 'a/+'), wanted);
    assert.equal(after.retained.size, 3);
  });

  on(
    'records are read back at once, kind by kind, and by the next process',
    async (store, next) => {
      const bans = store.records('ban');
      bans.put('a', { until: 5, why: ['ü', null] });
      bans.put('b', 1);
      bans.put('b', 2);
      bans.put('gone', true);
      bans.delete('gone');
      store.records('app').put('a', 'another kind');
      const wanted = [
        ['a', { until: 5, why: ['ü', null] }],
        ['b', 2],
      ];
      assert.deepEqual([...bans.entries()], wanted);
      await store.flushed();
      const after = await next();
      assert.deepEqual([...after.records('ban').entries()], wanted);
      assert.equal(after.records('app').get('a'), 'another kind');
      assert.equal(after.records('app').get('b'), undefined);
    },
  );
}
