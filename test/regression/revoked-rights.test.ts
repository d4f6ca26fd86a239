// A right that is taken away holds for what is there already: live subscriptions, sessions that come
// back, and all that waits for either (the class of CVE-2021-34434). With one worker and with several, in
// memory and on disk, over crashes and with a disk that fails.

import assert from 'node:assert/strict';
import test from 'node:test';
import { recheckRights } from '#core/recheck';
import type { Batch } from '#store/batch';
import { ForwardingEngine } from '#store/forwarding-engine';
import { MemoryEngine } from '#store/memory-engine';
import { Table } from '#store/table';
import { subscribeSession } from '#core/at-session';
import { type Overrides, startBroker, type TestBroker } from '#test/broker';
import { until } from './event-turns.ts';
import { Lives, publishAll } from './lives.ts';
import { controlled, lasting, notAuthorized, receivedBy, recheck, Rules } from './revocable.ts';

const companies: readonly (readonly [string, Overrides])[] = [
  ['one worker, on disk', { workers: 0, zone: controlled }],
  ['one worker, in memory', { workers: 0, zone: { ...controlled, sessionDurability: 'memory' } }],
  ['two workers, on disk', { workers: 2, zone: controlled }],
  ['two workers, in memory', { workers: 2, zone: { ...controlled, sessionDurability: 'memory' } }],
];
const nothing = { clients: 0, subscriptions: 0, messages: 0, undecided: 0 };

for (const [company, overrides] of companies) {
  test(`${company}: a live subscription that is no longer allowed ends, and others stay`, async () => {
    await using broker = await startBroker(overrides);
    const rules = new Rules().holdIn(broker);
    const reader = await broker.connect({ clientId: 'reader', version: 4 });
    await reader.subscribe(['open', 'secret', '$share/g/secret'], { qos: 1 });
    const other = await broker.connect({ clientId: 'other' });
    await other.subscribe('open', { qos: 1 });
    assert.deepEqual(await recheck(broker), nothing);
    rules.forbid('subscribe secret');
    const ended = await recheck(broker);
    assert.deepEqual(ended, { ...nothing, clients: 1, subscriptions: 2 });
    assert.deepEqual(rules.told, [
      'denied subscribe secret',
      'unsubscribed secret',
      'denied subscribe secret',
      'unsubscribed $share/g/secret',
    ]);
    await publishAll(broker, 'secret', ['no']);
    await publishAll(broker, 'open', ['yes']);
    assert.deepEqual(await receivedBy(reader), ['yes'], 'version 4 stays connected');
    assert.deepEqual(await receivedBy(other), ['yes']);
    assert.deepEqual(broker.filterNames(), ['open']);
    assert.equal(broker.stat('subscriptions'), 2);
    assert.deepEqual(await recheck(broker), nothing);
  });

  test(`${company}: what waits for a client that is away is not sent when it comes back without the right`, async () => {
    for (const version of [4, 5] as const) {
      for (const qos of [1, 2] as const) {
        await using broker = await startBroker(overrides);
        const rules = new Rules().holdIn(broker);
        const before = await lasting(broker, 's', { version });
        await before.subscribe(['secret/#', 'open/#', 'secret/shown'], { qos });
        await before.disconnect();
        await publishAll(broker, 'secret/a', ['a', 'b'], qos);
        await publishAll(broker, 'open/a', ['c'], qos);
        await publishAll(broker, 'secret/shown', ['d'], qos);
        rules.forbid('subscribe secret/#');
        // Of two workers the other one: the session moves.
        const back = await lasting(broker, 's', { version, worker: 1 });
        assert.equal(back.connack?.sessionPresent, true);
        assert.deepEqual(await receivedBy(back), ['c', 'd']);
        assert.deepEqual(rules.told, [
          'dropped a',
          'dropped b',
          'denied subscribe secret/#',
          'unsubscribed secret/#',
        ]);
        await publishAll(broker, 'secret/a', ['e'], qos);
        await publishAll(broker, 'open/a', ['f'], qos);
        assert.deepEqual(await receivedBy(back), ['f']);
        assert.deepEqual(
          [...(broker.session('s')?.subscriptions.keys() ?? [])],
          ['open/#', 'secret/shown'],
        );
        assert.equal(broker.session('s')?.out.queue.length, 0);
      }
    }
  });

  test(`${company}: what was under way is not sent again, and its packet ids are free for others`, async () => {
    await using broker = await startBroker(overrides);
    const rules = new Rules().holdIn(broker);
    const properties = { receiveMaximum: 4 };
    const before = await lasting(broker, 's', { properties });
    await before.subscribe(['secret', 'open'], { qos: 2 });
    await publishAll(broker, 'secret', ['once'], 1);
    await publishAll(broker, 'secret', ['twice'], 2);
    await publishAll(broker, 'open', ['kept'], 2);
    for (const text of ['once', 'twice', 'kept']) {
      assert.equal((await before.next('publish')).payload.toString(), text);
    }
    await broker.lose(before, 's');
    rules.forbid('subscribe secret');
    const back = await lasting(broker, 's', { properties, worker: 1 });
    const kept = await back.find('publish');
    assert.deepEqual([kept.payload.toString(), kept.dup], ['kept', true]);
    // The one of QoS 2 may have arrived: PUBREL ends it, whether it has or not.
    const released = await back.find('pubrel');
    back.ack('pubcomp', released.packetId, 0x92);
    back.ack('pubrec', kept.packetId);
    await back.find('pubrel');
    back.ack('pubcomp', kept.packetId);
    await publishAll(broker, 'open', ['1', '2', '3', '4', '5'], 2);
    assert.deepEqual(await receivedBy(back), ['1', '2', '3', '4', '5']);
    assert.equal(broker.session('s')?.out.window.inflight.size, 0);
  });
}

test('an MQTT 5 client is told by DISCONNECT 0x87, and its session comes back without the subscription', async () => {
  await using broker = await startBroker({ zone: controlled });
  const rules = new Rules().holdIn(broker);
  const reader = await lasting(broker, 'reader');
  await reader.subscribe(['open', 'secret', 'secret/2'], { qos: 1 });
  rules.forbid('subscribe secret', 'subscribe secret/2');
  await recheck(broker);
  const told = await reader.expectClosed();
  assert.deepEqual(
    told.map((packet) => packet.type === 'disconnect' && packet),
    [
      {
        type: 'disconnect',
        reasonCode: notAuthorized,
        properties: {
          reasonString:
            'Cannot keep the subscription to "secret" and 1 more: not authorized any more',
        },
      },
    ],
  );
  const back = await lasting(broker, 'reader');
  assert.equal(back.connack?.sessionPresent, true);
  await publishAll(broker, 'secret', ['no']);
  await publishAll(broker, 'open', ['yes']);
  assert.deepEqual(await receivedBy(back), ['yes']);
  assert.deepEqual((await back.subscribe('secret')).reasonCodes, [notAuthorized]);
});

test('a client before version 5 is disconnected where acl_deny_action says so, else stays', async () => {
  for (const aclDenyAction of ['disconnect', 'ignore'] as const) {
    await using broker = await startBroker({ zone: { ...controlled, aclDenyAction } });
    const rules = new Rules().holdIn(broker);
    const reader = await lasting(broker, 'reader', { version: 4 });
    await reader.subscribe(['secret'], { qos: 1 });
    rules.forbid('subscribe secret');
    await recheck(broker);
    if (aclDenyAction === 'disconnect') await reader.expectDisconnected();
    else await reader.expectNothing();
    assert.equal(broker.session('reader')?.subscriptions.size, 0);
  }
});

test('what waits behind the window of a connected client is dropped, and what else waits moves up', async () => {
  for (const sessionDurability of ['sync', 'memory'] as const) {
    await using broker = await startBroker({
      workers: 0,
      zone: { ...controlled, sessionDurability, maxInflight: 2, retryIntervalMs: 20_000 },
    });
    const rules = new Rules().holdIn(broker);
    const reader = await lasting(broker, 'reader', { version: 4 });
    await reader.subscribe(['secret', 'open'], { qos: 2 });
    await publishAll(broker, 'secret', ['in flight'], 1);
    await publishAll(broker, 'secret', ['in flight too'], 2);
    await publishAll(broker, 'secret', ['a', 'b'], 1);
    await publishAll(broker, 'open', ['c', 'd', 'e'], 2);
    const first = await reader.next('publish');
    const second = await reader.next('publish');
    rules.forbid('subscribe secret');
    const ended = await recheck(broker);
    assert.deepEqual(ended, { ...nothing, clients: 1, subscriptions: 1, messages: 4 });
    const next = await reader.find('publish');
    assert.equal(next.payload.toString(), 'c', 'there is room without a word of the client');
    // What came before anybody knew: acknowledged as ever, and nobody minds.
    reader.ack('puback', first.packetId);
    reader.ack('pubrec', second.packetId);
    await reader.find('pubrel', ({ packetId }) => packetId === second.packetId);
    reader.ack('pubcomp', second.packetId);
    reader.ack('pubrec', next.packetId);
    await reader.find('pubrel', ({ packetId }) => packetId === next.packetId);
    reader.ack('pubcomp', next.packetId);
    const texts = (await receivedBy(reader)).filter((text) => !text.startsWith('pubrel'));
    assert.deepEqual(texts, ['d', 'e']);
    broker.advance(60_000);
    const again = (await receivedBy(reader)).filter((text) => !text.startsWith('pubrel'));
    assert.deepEqual(again, [], 'nothing of it is repeated');
  }
});

test('what a member of a shared subscription has not finished goes to the others', async () => {
  await using broker = await startBroker({ zone: controlled });
  const rules = new Rules();
  rules.holdIn(broker);
  broker.hook(
    'client.check_acl',
    ({ clientId }, action) =>
      clientId === 'revoked' && action === 'subscribe' && isRevoked ? 'deny' : 'ignore',
    'one client',
    9,
  );
  let isRevoked = false;
  const revoked = await lasting(broker, 'revoked', { properties: { receiveMaximum: 1 } });
  await revoked.subscribe('$share/g/job', { qos: 1 });
  await publishAll(broker, 'job', ['1', '2', '3']);
  await revoked.next('publish');
  const other = await lasting(broker, 'other');
  await other.subscribe('$share/g/job', { qos: 1 });
  isRevoked = true;
  assert.equal((await recheck(broker)).subscriptions, 1);
  assert.deepEqual((await receivedBy(other)).sort(), ['1', '2', '3']);
  await revoked.expectDisconnected(notAuthorized);
});

test('a replay that has not ended ends with its subscription', async () => {
  await using broker = await startBroker({ workers: 0, zone: { ...controlled, maxInflight: 1 } });
  const rules = new Rules().holdIn(broker);
  const writer = await broker.connect();
  for (const name of ['1', '2', '3']) {
    await writer.publish(`secret/${name}`, name, { qos: 1, retain: true });
  }
  const reader = await broker.connect({ version: 4 });
  await reader.subscribe('secret/#', { qos: 1 });
  const { packetId } = await reader.next('publish');
  rules.forbid('subscribe secret/#');
  await recheck(broker);
  reader.ack('puback', packetId);
  await reader.expectNothing();
});

test('superusers, zones without access control and subscriptions that the broker made are left alone', async () => {
  await using broker = await startBroker({ workers: 0, zone: controlled });
  const rules = new Rules().holdIn(broker);
  broker.hook('client.authenticate', ({ username }) => ({
    allow: true,
    isSuperuser: username === 'root',
  }));
  const root = await broker.connect({ username: 'root' });
  await root.subscribe('secret');
  const given = await lasting(broker, 'given');
  const session = broker.session('given');
  assert.ok(session !== undefined);
  await subscribeSession(broker.broker.core, session, 'secret', 1);
  rules.forbid('subscribe secret');
  assert.deepEqual(await recheck(broker), nothing);
  await given.disconnect();
  const back = await lasting(broker, 'given');
  await publishAll(broker, 'secret', ['for both']);
  assert.deepEqual(await receivedBy(root), ['for both']);
  assert.deepEqual(await receivedBy(back), ['for both']);

  await using open = await startBroker({ zone: { enableAcl: false } });
  const none = new Rules().holdIn(open);
  const reader = await open.connect();
  await reader.subscribe('secret');
  none.forbid('subscribe secret');
  assert.deepEqual(await recheck(open), nothing);
});

test('rights are asked for the filter that the client wrote, without mountpoint and before it is rewritten', async () => {
  await using broker = await startBroker({
    workers: 0,
    zone: { ...controlled, mountpoint: 'm/%c/' },
  });
  const rules = new Rules().holdIn(broker);
  broker.hook('client.subscribe', (_, filters) =>
    filters.map((one) => (one.filter === 'old' ? { ...one, filter: 'new' } : one)),
  );
  const reader = await lasting(broker, 'reader', { version: 4 });
  await reader.subscribe(['old', 'plain'], { qos: 1 });
  rules.asked.length = 0;
  assert.deepEqual(await recheck(broker), nothing);
  assert.deepEqual(rules.asked, ['reader subscribe old', 'reader subscribe plain']);
  rules.forbid('subscribe old');
  assert.equal((await recheck(broker)).subscriptions, 1);
  assert.deepEqual([...(broker.session('reader')?.subscriptions.keys() ?? [])], ['plain']);
});

test('where answers take time all are asked', async () => {
  await using broker = await startBroker({ workers: 0, zone: controlled });
  const rules = new Rules();
  rules.holdIn(broker);
  const filters = Array.from({ length: 40 }, (_, i) => `t/${i}`);
  const readers = await Promise.all(
    ['a', 'b', 'c'].map((clientId) => lasting(broker, clientId, { version: 4 })),
  );
  for (const reader of readers) await reader.subscribe(filters);
  rules.isSlow = true;
  rules.forbid('subscribe t/7', 'subscribe t/39');
  const ended = await recheck(broker);
  assert.deepEqual(ended, { ...nothing, clients: 3, subscriptions: 6 });
});

test('where nobody can tell a live subscription stays, and a session is not resumed and not changed', async () => {
  for (const isSlow of [false, true]) {
    await using broker = await startBroker({ workers: 0, zone: controlled });
    const rules = new Rules().holdIn(broker);
    const reader = await lasting(broker, 'reader');
    await reader.subscribe('t', { qos: 1 });
    rules.isBroken = true;
    rules.isSlow = isSlow;
    assert.deepEqual(await recheck(broker), { ...nothing, undecided: 1 });
    await reader.disconnect();
    rules.isBroken = false;
    await publishAll(broker, 't', ['waits']);
    rules.isBroken = true;
    const refused = await broker.open();
    const connack = await refused.connect({ clientId: 'reader', cleanStart: false });
    assert.equal(connack.reasonCode, 0x88);
    rules.isBroken = false;
    assert.deepEqual(await receivedBy(await lasting(broker, 'reader')), ['waits']);
    if (isSlow) assert.ok(broker.takeFaults().length > 0, 'hooks that failed');
  }
});

/** The first question about a subscription is answered by old rules: yes, when `open` is called. */
function holdFirst(broker: TestBroker): {
  readonly isAsked: () => boolean;
  readonly open: () => void;
} {
  const gate = Promise.withResolvers<void>();
  let asked = 0;
  broker.hook(
    'client.check_acl',
    async (_, action) => {
      if (action !== 'subscribe' || asked++ > 0) return 'ignore';
      await gate.promise;
      return 'allow';
    },
    'slow',
    9,
  );
  return { isAsked: () => asked === 1, open: gate.resolve };
}

test('a session is asked about again when rules change while it is being asked about', async () => {
  await using broker = await startBroker({ workers: 0, zone: controlled });
  const rules = new Rules().holdIn(broker);
  const before = await lasting(broker, 's');
  await before.subscribe('secret', { qos: 1 });
  await before.disconnect();
  await publishAll(broker, 'secret', ['no']);
  const { isAsked, open } = holdFirst(broker);
  const joined = lasting(broker, 's');
  await until('the question', isAsked);
  rules.forbid('subscribe secret');
  await recheck(broker);
  open();
  assert.deepEqual(await receivedBy(await joined), []);
  assert.equal(broker.session('s')?.subscriptions.size, 0);
});

test('a SUBSCRIBE is asked about again when rules change while it is being asked about', async () => {
  await using broker = await startBroker({ workers: 0, zone: controlled });
  const rules = new Rules().holdIn(broker);
  const { isAsked, open } = holdFirst(broker);
  const client = await broker.connect();
  const suback = client.subscribe('secret');
  await until('the question', isAsked);
  rules.forbid('subscribe secret');
  await recheck(broker);
  open();
  assert.deepEqual((await suback).reasonCodes, [notAuthorized]);
});

test('a connection that is taken over ends before its session is asked about, and is told so', async () => {
  await using broker = await startBroker({ zone: controlled });
  const rules = new Rules().holdIn(broker);
  const before = await lasting(broker, 's');
  await before.subscribe(['secret', 'open'], { qos: 1 });
  await publishAll(broker, 'secret', ['no']);
  await before.next('publish');
  rules.forbid('subscribe secret');
  rules.isSlow = true;
  const back = await lasting(broker, 's');
  await before.expectDisconnected(0x8e);
  assert.equal(back.connack?.sessionPresent, true);
  assert.deepEqual(await receivedBy(back), []);
  assert.deepEqual([...(broker.session('s')?.subscriptions.keys() ?? [])], ['open']);
});

test('a client that leaves while it is asked about is asked about when it is back', async () => {
  await using broker = await startBroker({ workers: 0, zone: controlled });
  const client = await lasting(broker, 's');
  await client.subscribe('secret', { qos: 1 });
  const gate = Promise.withResolvers<void>();
  let asked = 0;
  broker.hook('client.check_acl', async () => {
    asked++;
    await gate.promise;
    return 'deny' as const;
  });
  const rechecked = recheck(broker);
  await until('the question', () => asked === 1);
  await broker.lose(client, 's');
  gate.resolve();
  assert.deepEqual(await rechecked, nothing);
  assert.equal(broker.session('s')?.subscriptions.size, 1);
  await lasting(broker, 's');
  assert.equal(broker.session('s')?.subscriptions.size, 0);
});

test('acl.recheck = off: a session comes back as it was', async () => {
  await using broker = await startBroker({ zone: controlled, acl: { isRechecked: false } });
  const rules = new Rules().holdIn(broker);
  const before = await lasting(broker, 's');
  await before.subscribe('secret', { qos: 1 });
  await before.disconnect();
  await publishAll(broker, 'secret', ['yes']);
  rules.forbid('subscribe secret');
  rules.asked.length = 0;
  assert.deepEqual(await receivedBy(await lasting(broker, 's')), ['yes']);
  assert.deepEqual(rules.asked, []);
});

test('a session whose owner is proven to be another is not changed by whoever fails to take it', async () => {
  await using broker = await startBroker({ workers: 0, zone: controlled });
  const rules = new Rules().holdIn(broker);
  broker.hook('client.authenticate', ({ username }) => (username ? { allow: true } : 'ignore'));
  const owner = await lasting(broker, 's', { username: 'ann' });
  await owner.subscribe('secret', { qos: 1 });
  rules.asked.length = 0;
  const thief = await lasting(broker, 's', { username: 'eve' });
  assert.equal(thief.connack?.sessionPresent, false);
  assert.deepEqual(rules.asked, [], 'there is nothing to ask about');
});

/** A session with messages on disk, some sent before, and its right gone by the time a broker is back. */
async function leaveMessages(broker: TestBroker, qos: 1 | 2): Promise<void> {
  const before = await lasting(broker, 's', { properties: { receiveMaximum: 2 } });
  await before.subscribe(['secret', 'open'], { qos });
  await publishAll(broker, 'secret', ['sent'], qos);
  await publishAll(broker, 'open', ['sent too'], qos);
  await publishAll(broker, 'secret', ['a', 'b'], qos);
  await publishAll(broker, 'open', ['c'], qos);
  await before.next('publish');
  await before.next('publish');
}

test('after a crash a session comes back without what it has lost, and the next crash does not bring it back', async () => {
  for (const qos of [1, 2] as const) {
    for (const workers of [0, 2]) {
      await using lives = new Lives({ workers, zone: controlled });
      const first = await lives.start();
      new Rules().holdIn(first);
      await leaveMessages(first, qos);
      const second = await lives.crashAndStart();
      const rules = new Rules().holdIn(second);
      rules.forbid('subscribe secret');
      const back = await lasting(second, 's', { worker: 0 });
      assert.equal(back.connack?.sessionPresent, true);
      await until('the drops', () => rules.told.includes('unsubscribed secret'));
      // It crashes before the client has said a word.
      const third = await lives.crashAndStart();
      new Rules().holdIn(third);
      const last = await lasting(third, 's', { worker: 0 });
      const texts = (await receivedBy(last)).filter((text) => !text.startsWith('pubrel'));
      assert.deepEqual(texts, ['sent too', 'c'], `QoS ${qos}, ${workers} workers`);
      await publishAll(third, 'secret', ['not subscribed']);
      assert.deepEqual(await receivedBy(last), []);
    }
  }
});

test('a disk that refuses does not keep a right alive: it is asked about again after a restart', async () => {
  await using lives = new Lives({ workers: 0, zone: controlled });
  const first = await lives.start();
  const rules = new Rules().holdIn(first);
  const reader = await lasting(first, 's', { version: 4 });
  await reader.subscribe(['secret', 'open'], { qos: 1 });
  await first.flushed();
  lives.engine.fail();
  rules.forbid('subscribe secret');
  assert.equal((await recheckRights(first.broker.core)).subscriptions, 1);
  assert.equal(first.session('s')?.subscriptions.has('secret'), false, 'it is not put back');
  lives.engine.pass();
  first.advance(10_000);
  const second = await lives.crashAndStart();
  const later = new Rules().holdIn(second);
  later.forbid('subscribe secret');
  assert.equal(
    second.session('s')?.subscriptions.has('secret'),
    true,
    'the disk did not take its end',
  );
  await publishAll(second, 'secret', ['no']);
  await publishAll(second, 'open', ['yes']);
  assert.deepEqual(await receivedBy(await lasting(second, 's', { version: 4 })), ['yes']);
});

/** A disk whose queues cannot be read while that is set. */
class UnreadableEngine extends ForwardingEngine {
  isUnreadable = false;

  override range(...args: Parameters<ForwardingEngine['range']>): void {
    if (this.isUnreadable && args[0] === Table.queue) throw new Error('Cannot read: bad sector');
    super.range(...args);
  }

  commit(batch: Batch): Promise<void> {
    return this.inner.commit(batch);
  }
}

test('a session that cannot be read is not resumed, and nothing of it is lost or sent', async () => {
  const engine = new UnreadableEngine(new MemoryEngine());
  await using broker = await startBroker({ workers: 0, zone: controlled, engine });
  const rules = new Rules().holdIn(broker);
  const before = await lasting(broker, 's');
  await before.subscribe(['secret', 'open', '$share/g/secret'], { qos: 1 });
  await before.disconnect();
  await publishAll(broker, 'secret', ['a']);
  await publishAll(broker, 'open', ['b']);
  await broker.flushed();
  rules.forbid('subscribe secret');
  engine.isUnreadable = true;
  const refused = await broker.open();
  assert.equal((await refused.connect({ clientId: 's', cleanStart: false })).reasonCode, 0x88);
  assert.equal(broker.session('s')?.subscriptions.size, 3);
  assert.deepEqual(rules.told, []);
  engine.isUnreadable = false;
  assert.deepEqual(await receivedBy(await lasting(broker, 's')), ['b']);
});

test('however many subscriptions there are, few are asked about in one turn of the loop', async () => {
  await using broker = await startBroker({ workers: 0, zone: controlled });
  const rules = new Rules().holdIn(broker);
  const filters = Array.from({ length: 3000 }, (_, i) => `t/${i}`);
  const one = await broker.connect({ version: 4 });
  await one.subscribe(filters);
  for (let i = 0; i < 20; i++) {
    const client = await broker.connect({ version: 4 });
    await client.subscribe(filters.slice(0, 100));
  }
  rules.asked.length = 0;
  let [most, before, isOver] = [0, 0, false];
  const look = (): void => {
    most = Math.max(most, rules.asked.length - before);
    before = rules.asked.length;
    if (!isOver) setImmediate(look);
  };
  setImmediate(look);
  await recheck(broker);
  isOver = true;
  assert.equal(rules.asked.length, 5000);
  assert.ok(most <= 1500, `${most} questions in one turn`);
});
