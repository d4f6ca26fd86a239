// The largest packet that a client takes, at its edges.

import assert from 'node:assert/strict';
import test from 'node:test';
import { startBroker } from '#test/broker';

test('a client that takes no CONNACK is closed instead of waiting for ever', async () => {
  await using broker = await startBroker();
  const client = await broker.open();
  client.send({
    type: 'connect',
    version: 5,
    isBridge: false,
    cleanStart: true,
    keepaliveSeconds: 0,
    clientId: 'tiny',
    properties: { maximumPacketSize: 5 },
  });
  assert.deepEqual(await client.expectClosed(), []);
  assert.deepEqual([...broker.channels()], []);
});

test('a message that fits only without a topic alias is sent without one', async () => {
  await using broker = await startBroker();
  const maximumPacketSize = 100;
  const client = await broker.connect({ properties: { topicAliasMaximum: 5, maximumPacketSize } });
  await client.subscribe('t');
  const writer = await broker.connect();
  // Fixed header 2, topic 2 + 1, length of the properties 1.
  const payload = Buffer.alloc(maximumPacketSize - 6, 'x');
  await writer.publish('t', payload);
  const whole = await client.receive();
  assert.deepEqual([whole.topic, whole.payload], ['t', payload]);
  assert.equal(whole.properties.topicAlias, undefined);
  await writer.publish('t', 'short');
  assert.equal((await client.receive()).topic, 't', 'an alias is used only once it was told');
});
