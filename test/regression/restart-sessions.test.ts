// Whose a session is, how long it lives, and what hangs on it, over the deaths of brokers: expiry,
// ownership, shared subscriptions, durability; and retained messages.

import assert from 'node:assert/strict';
import test from 'node:test';
import type { TestBroker } from '#test/broker';
import { expirySeconds, join, Lives, nextSeen, publishAll } from './lives.ts';

const expiryMs = expirySeconds * 1000;

test('a session expires from when its client left, also while no broker runs', async () => {
  for (const [isOver, awayMs] of [
    [false, expiryMs - 2000],
    [true, expiryMs + 1000],
  ] as const) {
    await using lives = new Lives();
    const first = await lives.start();
    await (await join(first, 's', false)).disconnect();
    lives.clock.advance(500_000);
    await lives.crashFlushed();
    lives.clock.advance(awayMs - 500_000);
    const broker = await lives.start();
    broker.advance(500);
    await join(broker, 's', !isOver);
  }
});

test('a session that a crash cut off expires from the restart', async () => {
  await using lives = new Lives();
  const first = await lives.start();
  await (await join(first, 's', false)).subscribe('t', { qos: 1 });
  await lives.crashFlushed();
  lives.clock.advance(10 * expiryMs);
  const broker = await lives.start();
  broker.advance(expiryMs - 2000);
  assert.equal(broker.sessionCount, 1);
  broker.advance(3000);
  assert.equal(broker.sessionCount, 0);
  await lives.crashFlushed();
  const last = await lives.start();
  assert.equal(last.sessionCount, 0, 'and is gone from the disk');
});

test('the time of a session that a crash cut off begins once, however often brokers die', async () => {
  await using lives = new Lives();
  const first = await lives.start();
  await join(first, 's', false);
  await lives.crashAndStart();
  for (let i = 0; i < 3; i++) {
    lives.clock.advance(expiryMs / 4);
    await lives.crashAndStart();
  }
  lives.clock.advance(expiryMs / 4 + 1000);
  const broker = await lives.crashAndStart();
  broker.advance(500);
  assert.equal(broker.sessionCount, 0);
});

test('a session without end is there after any time', async () => {
  await using lives = new Lives();
  const first = await lives.start();
  const properties = { sessionExpirySeconds: 0xffff_ffff };
  const client = await join(first, 's', false, { properties });
  await client.disconnect();
  await lives.crashFlushed();
  lives.clock.advance(1e12);
  const broker = await lives.start();
  broker.advance(1000);
  await join(broker, 's', true);
});

test('a session whose client gave up its expiry ends with the connection, crash or not', async () => {
  await using lives = new Lives();
  const first = await lives.start();
  await (await join(first, 'left', false)).disconnect(0, { sessionExpirySeconds: 0 });
  await join(first, 'cut off', false);
  await first.connect({ clientId: 'cut off', cleanStart: false });
  const broker = await lives.crashAndStart();
  assert.equal(broker.sessionCount, 0);
});

test('a clean start removes what was stored, for good', async () => {
  await using lives = new Lives();
  const first = await lives.start();
  const before = await join(first, 's', false);
  await before.subscribe('t', { qos: 2 });
  await publishAll(first, 't', ['in flight'], 2);
  await before.next('publish');
  before.sendPublish('elsewhere', 'x', { qos: 2, packetId: 9 });
  await before.next('pubrec');
  const second = await lives.crashAndStart();
  const clean = await join(second, 's', false, { cleanStart: true });
  await clean.expectNothing();
  await publishAll(second, 't', ['nobody is subscribed'], 1);
  const broker = await lives.crashAndStart();
  const client = await join(broker, 's', true);
  assert.equal(broker.session('s')?.subscriptions.size, 0);
  await client.subscribe('t', { qos: 2 });
  const { payload, qos } = await (async () => {
    await publishAll(broker, 't', ['new'], 2);
    return client.receive();
  })();
  assert.deepEqual([payload.toString(), qos], ['new', 2]);
  assert.equal((await client.publish('t', 'id 9 is free', { qos: 2, packetId: 9 }))?.reasonCode, 0);
  assert.deepEqual(await client.receivePayloads(1), ['id 9 is free']);
});

/** Vouches for everyone with a username; `mountpoints` are by username. */
function vouch({ broker }: TestBroker, mountpoints: Record<string, string> = {}): void {
  broker.hooks.on('client.authenticate', 'test', ({ username }) => {
    if (username === undefined) return 'ignore';
    return { allow: true, mountpoint: mountpoints[username] ?? '' };
  });
}

test('a session is not inherited by somebody who is proven to be another', async () => {
  await using lives = new Lives();
  const first = await lives.start();
  vouch(first);
  const before = await join(first, 's', false, { username: 'alice' });
  await before.subscribe('t', { qos: 1 });
  await before.disconnect();
  await publishAll(first, 't', ['for alice'], 1);
  const second = await lives.crashAndStart();
  vouch(second);
  const owner = await join(second, 's', true, { username: 'alice' });
  assert.equal((await owner.next('publish')).payload.toString(), 'for alice');
  const third = await lives.crashAndStart();
  vouch(third);
  for (const username of ['mallory', undefined]) {
    const other = await join(third, 's', false, username === undefined ? {} : { username });
    await other.expectNothing();
    await other.disconnect(0, { sessionExpirySeconds: 0 });
  }
  const last = await lives.crashAndStart();
  vouch(last);
  await join(last, 's', false, { username: 'alice' });
});

test('a session lives on under its mountpoint, and under no other', async () => {
  await using lives = new Lives();
  const first = await lives.start();
  vouch(first, { alice: 'home/' });
  const before = await join(first, 's', false, { username: 'alice' });
  await before.subscribe('t/#', { qos: 1 });
  await before.subscribe('$share/g/u', { qos: 1 });
  await before.disconnect();
  await publishAll(first, 'home/t/a', ['before'], 1);
  const second = await lives.crashAndStart();
  vouch(second, { alice: 'home/' });
  await publishAll(second, 'home/t/b', ['after'], 1);
  await publishAll(second, 'home/u', ['shared'], 1);
  await publishAll(second, 't/a', ['not at home'], 1);
  const client = await join(second, 's', true, { username: 'alice' });
  const seen: string[] = [];
  for (let i = 0; i < 3; i++) {
    const { topic, payload } = await client.receive();
    seen.push(`${topic} ${payload.toString()}`);
  }
  assert.deepEqual(seen, ['t/a before', 't/b after', 'u shared']);
  await client.expectNothing();
  await client.disconnect();
  const third = await lives.crashAndStart();
  vouch(third, { alice: 'elsewhere/' });
  await join(third, 's', false, { username: 'alice' });
});

test('members of a shared subscription are there, and what one leaves goes to another', async () => {
  await using lives = new Lives();
  const first = await lives.start();
  const leaving = await join(first, 'leaving', false, {
    properties: { sessionExpirySeconds: 10 },
  });
  await leaving.subscribe('$share/g/t', { qos: 2 });
  await publishAll(first, 't', ['sent 1'], 1);
  await publishAll(first, 't', ['sent 2'], 2);
  await nextSeen(leaving);
  await nextSeen(leaving);
  await first.lose(leaving, 'leaving');
  await publishAll(first, 't', ['queued 1'], 1);
  await publishAll(first, 't', ['queued 2'], 2);
  const staying = await join(first, 'staying', false);
  await staying.subscribe('$share/g/t', { qos: 2 });
  await staying.disconnect();
  const broker = await lives.crashAndStart();
  assert.equal(broker.stat('subscriptions/shared'), 2);
  const heir = await join(broker, 'staying', true);
  await heir.expectNothing();
  broker.advance(11_000);
  // QoS 2 that was sent stays with its receiver [MQTT-4.8.2-5].
  assert.deepEqual(await heir.receivePayloads(3), ['sent 1', 'queued 1', 'queued 2']);
  await heir.expectNothing();
  await lives.crashFlushed();
  const last = await join(await lives.start(), 'staying', true);
  await last.expectNothing();
});

test('session_durability = memory: nothing is written, nothing is left', async () => {
  await using lives = new Lives({ zone: { sessionDurability: 'memory' } });
  const first = await lives.start();
  const client = await join(first, 's', false, {
    will: { topic: 'w', payload: 'gone', properties: { willDelaySeconds: 5 } },
  });
  await client.subscribe('t', { qos: 2 });
  await publishAll(first, 't', ['x'], 2);
  await client.receive();
  await first.lose(client, 's');
  await publishAll(first, 't', ['y'], 2);
  assert.equal(lives.engine.begun, 0);
  const broker = await lives.crashAndStart();
  await join(broker, 's', false);
});

test('session_durability = async: acknowledgements do not wait, and what was flushed is there', async () => {
  await using lives = new Lives({ zone: { sessionDurability: 'async' } });
  const first = await lives.start();
  const before = await join(first, 's', false);
  await before.subscribe('t', { qos: 2 });
  await publishAll(first, 't', ['one', 'two'], 2);
  const one = await before.next('publish');
  const two = await before.next('publish');
  before.ack('pubrec', two.packetId);
  await before.next('pubrel');
  await first.flushed();
  lives.engine.hold();
  await publishAll(first, 't', ['not flushed'], 1);
  await publishAll(first, 't', ['not flushed either'], 2);
  await before.next('publish');
  await before.next('publish');
  before.ack('puback', one.packetId);
  await lives.crash();
  const client = await join(await lives.start(), 's', true);
  assert.equal((await client.next('pubrel')).packetId, two.packetId);
  assert.equal(await nextSeen(client), `one ${one.packetId} dup`);
  await client.expectNothing();
});

test('a session that is on disk stays durable when its zone becomes one of memory', async () => {
  await using lives = new Lives();
  const first = await lives.start();
  const before = await join(first, 's', false);
  await before.subscribe('t', { qos: 1 });
  await before.disconnect();
  await publishAll(first, 't', ['promised'], 1);
  const second = await lives.crashAndStart({ zone: { sessionDurability: 'memory' } });
  const client = await join(second, 's', true);
  assert.deepEqual(await client.receivePayloads(1), ['promised']);
  await client.disconnect(0, { sessionExpirySeconds: 0 });
  const last = await lives.crashAndStart();
  assert.equal(last.sessionCount, 0, 'it does not come back from the dead');
});

test('retained messages are there as they were last, those removed are not', async () => {
  await using lives = new Lives();
  const first = await lives.start();
  const writer = await first.connect();
  const properties = { contentType: 'text' };
  await writer.publish('a/1', 'old', { qos: 1, retain: true });
  await writer.publish('a/1', 'new', { qos: 2, retain: true, properties });
  await writer.publish('a/2', 'x', { qos: 1, retain: true });
  await writer.publish('a/3', 'gone', { qos: 1, retain: true });
  await writer.publish('a/3', '', { qos: 1, retain: true });
  await writer.publish('a/4', 'expires', {
    qos: 1,
    retain: true,
    properties: { messageExpirySeconds: 10 },
  });
  await lives.crash();
  lives.clock.advance(20_000);
  const broker = await lives.start();
  const client = await broker.connect();
  await client.subscribe('a/+', { qos: 2 });
  const seen = [await client.receive(), await client.receive()];
  await client.expectNothing();
  assert.deepEqual(
    seen.map(({ topic, payload, qos, retain, properties: got }) => ({
      ...{ topic, qos, retain, ...got },
      text: payload.toString(),
    })),
    [
      { topic: 'a/1', qos: 2, retain: true, contentType: 'text', text: 'new' },
      { topic: 'a/2', qos: 1, retain: true, text: 'x' },
    ],
  );
});
