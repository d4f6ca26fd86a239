// The keepalive: one and a half times what was agreed, also for the shortest, and never counted while
// the broker itself does not read.

import assert from 'node:assert/strict';
import test from 'node:test';
import { VirtualClock } from '#base/clock';
import { loadSettings } from '#config/load';
import { Alone } from '#cluster/alone';
import { Broker } from '#core/broker';
import type { Channel } from '#core/channel';
import { openListeners } from '#net/open-listeners';
import { DurableStore } from '#store/durable-store';
import { MemoryEngine } from '#store/memory-engine';
import { startBroker } from '#test/broker';
import { RawClient } from '#test/raw-client';
import { settled, until } from './event-turns.ts';

/** The wheel of timers is late by one tick at most. */
const tickMs = 250;

for (const version of [3, 4, 5] as const) {
  for (const keepaliveSeconds of [1, 2, 60]) {
    test(`a client of keepalive ${keepaliveSeconds} is closed after one and a half times that, not before, level ${version}`, async () => {
      await using broker = await startBroker();
      const client = await broker.connect({ version, keepaliveSeconds });
      broker.advance(keepaliveSeconds * 1500 - tickMs);
      await client.expectNothing();
      broker.advance(keepaliveSeconds * 1500 - tickMs);
      await settled();
      assert.equal([...broker.channels()].length, 1);
      broker.advance(2 * tickMs);
      await client.expectDisconnected(0x8d);
    });
  }
}

test('a keepalive does not run out while a hook holds up the reading', async () => {
  await using broker = await startBroker({ pluginHost: { hookDeadlineMs: 120_000 } });
  const thinking = Promise.withResolvers<void>();
  let asked = 0;
  broker.hook(
    'message.publish',
    async () => {
      asked += 1;
      await thinking.promise;
      return undefined;
    },
    'slow',
  );
  const client = await broker.connect({ keepaliveSeconds: 1 });
  const publishing = client.publish('t', 'x', { qos: 1 });
  await until('the hook asked', () => asked === 1);
  broker.advance(60_000);
  thinking.resolve();
  await publishing;
  await client.expectNothing();
});

test('a keepalive does not run out while publish_limit holds up the reading', async () => {
  await using broker = await startBroker({ zone: { publishLimit: { count: 1, perMs: 60_000 } } });
  const client = await broker.connect({ keepaliveSeconds: 1 });
  client.sendPublish('t', '1');
  const publishing = client.publish('t', '2', { qos: 1 });
  const [channel] = broker.channels() as Iterable<Channel>;
  await until('the pause', () => channel?.transport.isPaused === true);
  broker.advance(59_000);
  await settled();
  broker.advance(2000);
  await publishing;
});

test('a keepalive does not run out while the rate limit of the listener holds up the reading', async () => {
  const settings = loadSettings({
    sets: [
      'listener.tcp.external=127.0.0.1:0',
      'listener.tcp.external.rate_limit=1KB,2KB',
      'zone.external.allow_anonymous=true',
    ],
  });
  const clock = new VirtualClock();
  const log = { error: assert.fail, warn() {}, info() {}, debug() {}, trace() {} };
  const quiet = { ...log, child: () => quiet, isEnabled: () => false };
  const parts = {
    settings,
    clock,
    log: quiet,
    store: new DurableStore(new MemoryEngine(), { clock }),
    peers: new Alone(),
  };
  const broker = new Broker(parts);
  // The listener has the clock of the machine: its pause lasts for the whole test.
  const [listener] = await openListeners(settings, {
    log: quiet,
    accept: (transport, face) => broker.accept(transport, face),
  });
  assert.ok(listener !== undefined);
  await using _closed = listener;
  await using client = await RawClient.open(listener.boundPort ?? 0);
  await client.connect({ keepaliveSeconds: 1 });
  client.sendPublish('t', Buffer.alloc(60_000));
  const [channel] = broker.channels();
  await until('the pause', () => channel?.transport.isPaused === true);
  for (let i = 0; i < 10; i++) {
    clock.advance(6000);
    await settled();
  }
  assert.equal(channel?.state, 'open');
  broker.stop();
});
