import assert from 'node:assert/strict';
import test from 'node:test';
import { nullLogger } from '#base/log';
import { loadSettings } from '#config/load';
import type { ZoneSettings } from '#config/settings';
import { delivery, headOf, ownMessage } from '#store/session-store-fixture';
import { foundIn, type StoreBench, storeBench, tableSizes } from '#test/store-bench';
import { Broker } from './broker.ts';
import { clientInfo, FakeLink, messageOn, noPeers, zoneWith } from './session-fixture.ts';
import type { Session } from './session.ts';
import type { SessionHead, SessionStore } from './store-port.ts';

interface Restored extends Disposable {
  readonly broker: Broker;
  readonly bench: StoreBench;
  readonly counts: { sessions: number; wills: number };
}

const startMs = 1_700_000_000_000;
const subscription = {
  filter: 'a/+',
  routed: 'a/+',
  group: undefined,
  qos: 1,
  noLocal: false,
  retainAsPublished: false,
  retainHandling: 0,
  subscriptionId: undefined,
} as const;

/** What a broker finds after another one told the store this. Its clock begins at `startMs`. */
async function restore(
  tell: (create: (head: Partial<SessionHead> & { clientId: string }) => SessionStore) => void,
  zone: Partial<ZoneSettings> = {},
): Promise<Restored> {
  const before = storeBench();
  tell((head) => before.store.createSession(headOf(head.clientId, head)));
  await before.store.flushed();
  const bench = before.again();
  const settings = loadSettings({ sets: ['listener.tcp.external=127.0.0.1:0'] });
  const zones = new Map([['external', zoneWith(zone)]]);
  const { store, clock } = bench;
  const broker = new Broker({
    settings: { ...settings, zones },
    clock,
    log: nullLogger,
    store,
    peers: noPeers,
  });
  const counts = broker.restore();
  return { broker, bench, counts, [Symbol.dispose]: () => broker.stop() };
}

function found({ broker }: Restored, clientId = 's'): Session {
  const session = broker.core.sessions.find(clientId);
  assert.ok(session !== undefined);
  return session;
}

test('a restored session is one whose client is away', async () => {
  const head = {
    clientId: 's',
    username: 'u',
    provenUsername: 'p',
    mountpoint: 'm/',
    createdAtMs: startMs - 5000,
    leftAtMs: startMs - 1000,
    expirySeconds: 7,
  };
  using restored = await restore((create) => create(head).subscribe(subscription));
  const { stats } = restored.broker.core;
  assert.deepEqual(restored.counts, { sessions: 1, wills: 0 });
  const session = found(restored);
  assert.deepEqual(
    [session.username, session.provenUsername, session.mountpoint, session.createdAtMs],
    ['u', 'p', 'm/', startMs - 5000],
  );
  assert.deepEqual([session.link, session.isDurable, session.cleanStart], [null, true, false]);
  assert.deepEqual([...session.subscriptions.keys()], ['a/+']);
  assert.deepEqual(
    ['sessions', 'sessions/persistent', 'subscriptions', 'subscribers'].map((name) =>
      stats.count(name as Parameters<typeof stats.count>[0]),
    ),
    [1, 1, 1, 1],
  );
});

test('restoring reads no messages: they stay on disk until somebody wants them', async () => {
  using restored = await restore((create) => {
    const session = create({ clientId: 's' });
    for (let seq = 1; seq <= 300; seq++) session.put(seq, ownMessage(`${seq}`), delivery());
    session.take(9, startMs);
  });
  const session = found(restored);
  assert.equal(session.out.queue.heldCount, 0);
  assert.equal(session.awaitingRel.size, 0);
  assert.equal(session.out.queue.length, 300);
  const link = new FakeLink();
  session.attach(link, clientInfo('s', 5), 10);
  session.out.pump();
  assert.equal(link.published.length, 10);
  assert.ok(session.out.queue.heldCount < 100);
  assert.equal(session.awaitingRel.has(9), true);
});

test('a restored session is delivered to', async () => {
  using restored = await restore((create) => {
    const session = create({ clientId: 's', mountpoint: 'up/', leftAtMs: startMs });
    session.subscribe({ ...subscription, routed: 'up/a/+' });
    session.put(1, ownMessage('old'), delivery());
  });
  const { broker, bench } = restored;
  assert.equal(await broker.publish(messageOn('up/a/b', { payload: 'new', qos: 1 })), 1);
  assert.equal(await broker.publish(messageOn('a/b', { payload: 'elsewhere', qos: 1 })), 0);
  assert.equal(found(restored).out.queue.length, 2);
  assert.equal(bench.engine.count(3), 2, 'it is on disk when the publisher is told');
});

test('a session that left expires by the clock, from when it left', async () => {
  const leftAtMs = startMs - 60_000;
  using restored = await restore((create) => {
    create({ clientId: 'over', leftAtMs, expirySeconds: 59 });
    create({ clientId: 'soon', leftAtMs, expirySeconds: 70 });
    create({ clientId: 'never', leftAtMs, expirySeconds: Number.POSITIVE_INFINITY });
  });
  const { broker, bench } = restored;
  const names = (): string[] => [...broker.core.sessions.values()].map((one) => one.clientId);
  bench.clock.advance(1000);
  assert.deepEqual(names(), ['soon', 'never']);
  bench.clock.advance(8000);
  assert.deepEqual(names(), ['soon', 'never']);
  bench.clock.advance(2000);
  assert.deepEqual(names(), ['never']);
  await bench.store.flushed();
  assert.equal(tableSizes(bench)['sessions'], 1);
});

test('a session that was cut off left now, and the store is told so', async () => {
  using restored = await restore((create) => {
    create({ clientId: 's', leftAtMs: undefined, expirySeconds: 50, createdAtMs: 1 });
  });
  const { bench } = restored;
  await bench.store.flushed();
  const { head } = foundIn(bench);
  assert.deepEqual([head.leftAtMs, head.createdAtMs], [startMs, 1]);
  bench.clock.advance(49_000);
  assert.equal(restored.broker.core.sessions.size, 1);
  bench.clock.advance(2000);
  assert.equal(restored.broker.core.sessions.size, 0);
});

test('a session that had no life beyond its connection is not restored, and nothing is left', async () => {
  using restored = await restore((create) => {
    const session = create({ clientId: 's', expirySeconds: 0 });
    session.subscribe(subscription);
    session.put(1, ownMessage('x'), delivery());
  });
  const { broker, bench, counts } = restored;
  assert.deepEqual([counts.sessions, broker.core.sessions.size], [0, 0]);
  assert.equal(broker.core.stats.count('subscriptions'), 0);
  for (let i = 0; i < 5; i++) await bench.store.flushed();
  assert.deepEqual(tableSizes(bench), {});
});

test('a session of a zone that is no more lives on in the first one there is', async () => {
  using restored = await restore((create) => create({ clientId: 's', zone: 'abolished' }));
  assert.equal(found(restored).zone.name, 'external');
});

test('a restored session is resumed by its owner and by nobody else', async () => {
  const open = (restored: Restored, provenUsername: string | undefined, mountpoint: string) =>
    restored.broker.core.sessions.open({
      clientId: 's',
      username: provenUsername,
      provenUsername,
      mountpoint,
      zone: zoneWith(),
      cleanStart: false,
      expirySeconds: 10,
    });
  for (const [name, mountpoint, isOwner] of [
    ['alice', 'm/', true],
    ['mallory', 'm/', false],
    [undefined, 'm/', false],
    ['alice', '', false],
  ] as const) {
    using restored = await restore((create) => {
      create({ clientId: 's', provenUsername: 'alice', mountpoint: 'm/' }).subscribe(subscription);
    });
    const { session, isPresent } = open(restored, name, mountpoint);
    assert.equal(isPresent, isOwner, `${name} ${mountpoint}`);
    assert.equal(session.subscriptions.size, isOwner ? 1 : 0);
    session.attach(new FakeLink(), clientInfo('s', 5), 10);
    const { bench } = restored;
    for (let i = 0; i < 5; i++) await bench.store.flushed();
    const { head, subscriptions } = foundIn(bench);
    assert.equal(head.provenUsername, name);
    assert.equal(head.leftAtMs, undefined, 'its client is connected');
    assert.equal(subscriptions.length, isOwner ? 1 : 0);
  }
});
