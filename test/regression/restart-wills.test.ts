// Wills over the deaths of brokers: a client that a crash of ours cut off has not taken its will back.

import assert from 'node:assert/strict';
import test from 'node:test';
import type { TestBroker } from '#test/broker';
import type { RawClient } from '#test/raw-client';
import { settled } from './event-turns.ts';
import { join, Lives } from './lives.ts';

/** A session that is told of wills, whoever publishes them when. */
async function watcher(broker: TestBroker): Promise<void> {
  const client = await join(broker, 'watcher', false);
  await client.subscribe('will/#', { qos: 1 });
  await client.disconnect();
}

async function wills(broker: TestBroker): Promise<{ client: RawClient; seen: string[] }> {
  // From one worker to another, and from there to the disk.
  await settled();
  await broker.flushed();
  const client = await join(broker, 'watcher', true);
  const seen: string[] = [];
  client.send({ type: 'pingreq' });
  for (let packet = await client.next(); packet.type === 'publish'; packet = await client.next()) {
    seen.push(packet.payload.toString());
    client.ack('puback', packet.packetId);
  }
  return { client, seen: seen.sort() };
}

const will = (text: string, willDelaySeconds = 0): object => ({
  will: {
    topic: `will/${text}`,
    payload: text,
    qos: 1,
    ...(willDelaySeconds > 0 && { properties: { willDelaySeconds } }),
  },
});

test('wills of clients that a crash cut off are published after it, those taken back are not', async () => {
  await using lives = new Lives();
  const first = await lives.start();
  await watcher(first);
  await join(first, 'durable', false, will('durable'));
  await first.connect({ clientId: 'brief', ...will('brief') });
  const left = await join(first, 'left', false, will('left'));
  await left.disconnect();
  const lost = await join(first, 'lost', false, will('lost'));
  await first.lose(lost, 'lost');
  await join(first, 'again', false, will('old'));
  await join(first, 'again', true, {});
  const second = await lives.crashAndStart();
  assert.deepEqual((await wills(second)).seen, ['brief', 'durable', 'lost', 'old']);
  const last = await lives.crashAndStart();
  assert.deepEqual((await wills(last)).seen, [], 'each once');
});

test('a delayed will is published when its delay is over, counted from the end of the connection', async () => {
  await using lives = new Lives();
  const first = await lives.start();
  await watcher(first);
  const lost = await join(first, 'lost', false, will('lost', 100));
  await first.lose(lost, 'lost');
  await join(first, 'cut off', false, will('cut off', 100));
  lives.clock.advance(60_000);
  const second = await lives.crashAndStart();
  second.advance(39_000);
  assert.deepEqual((await wills(second)).seen, []);
  second.advance(2_000);
  assert.deepEqual((await wills(second)).seen, ['lost']);
  second.advance(58_000);
  assert.deepEqual((await wills(second)).seen, []);
  second.advance(2_000);
  assert.deepEqual((await wills(second)).seen, ['cut off'], 'the crash ended its connection');
});

test('[MQTT-3.1.3-9] a delayed will is not published when its client is back after the restart', async () => {
  await using lives = new Lives();
  const first = await lives.start();
  await watcher(first);
  await join(first, 'back', false, will('back', 100));
  const lost = await join(first, 'lost', false, will('lost', 100));
  await first.lose(lost, 'lost');
  const second = await lives.crashAndStart();
  const back = await join(second, 'back', true);
  await join(second, 'lost', true);
  second.advance(200_000);
  assert.deepEqual((await wills(second)).seen, []);
  await back.disconnect();
  const last = await lives.crashAndStart();
  last.advance(200_000);
  assert.deepEqual((await wills(last)).seen, []);
});

test('a delayed will is published when the session ends before its delay, after a restart too', async () => {
  await using lives = new Lives();
  const first = await lives.start();
  await watcher(first);
  const properties = { sessionExpirySeconds: 50 };
  const lost = await join(first, 'lost', false, { ...will('lost', 100), properties });
  await first.lose(lost, 'lost');
  await lives.crashFlushed();
  lives.clock.advance(40_000);
  const second = await lives.start();
  assert.deepEqual((await wills(second)).seen, []);
  second.advance(11_000);
  assert.deepEqual((await wills(second)).seen, ['lost']);
});

test('the will of a client that connects after the restart replaces the one before', async () => {
  await using lives = new Lives();
  const first = await lives.start();
  await watcher(first);
  await join(first, 'c', false, will('old', 100));
  const second = await lives.crashAndStart();
  await join(second, 'c', true, will('new'));
  const last = await lives.crashAndStart();
  assert.deepEqual((await wills(last)).seen, ['new']);
});

test('a broker that stops in order publishes no wills, then or later', async () => {
  await using lives = new Lives();
  const first = await lives.start();
  await watcher(first);
  await join(first, 'c', false, will('c'));
  await lives.stop();
  const last = await lives.start();
  assert.deepEqual((await wills(last)).seen, []);
});
