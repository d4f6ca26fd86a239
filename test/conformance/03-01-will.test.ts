// MQTT 5.0 section 3.1.2.5 to 3.1.2.7 and 3.1.3.2: the will message, when it is published and when not.

import assert from 'node:assert/strict';
import test from 'node:test';
import { startBroker, type TestBroker } from '#test/broker';
import { badStrings, connectPacket, field, properties } from '#test/raw-bytes';
import type { RawClient } from '#test/raw-client';

const malformed = 0x81;
const will = { topic: 'will', payload: 'gone' };

async function watching(broker: TestBroker): Promise<RawClient> {
  const watcher = await broker.connect();
  await watcher.subscribe('will/#', { qos: 2, retainAsPublished: true });
  return watcher;
}

test('[MQTT-3.1.2-7] the will is kept while the connection is open and published from what was kept', async () => {
  await using broker = await startBroker();
  const watcher = await watching(broker);
  const client = await broker.connect({ clientId: 'c', will: { ...will, qos: 2 } });
  await client.expectNothing();
  await watcher.expectNothing();
  client.destroy();
  const published = await watcher.receive();
  assert.deepEqual(
    [published.topic, published.payload.toString(), published.qos, published.retain],
    ['will', 'gone', 2, false],
  );
});

test('[MQTT-3.1.2-8] the will is published however the connection ends, except by DISCONNECT 0x00', async () => {
  await using broker = await startBroker();
  const watcher = await watching(broker);
  const endings: Record<string, (client: RawClient) => void> = {
    'network failure': (client) => client.destroy(),
    'protocol error': (client) => client.send(Buffer.from([0xc1, 0])),
    'disconnect with will': (client) =>
      client.send({ type: 'disconnect', reasonCode: 0x04, properties: {} }),
    keepalive: () => broker.advance(16_000),
  };
  for (const [name, end] of Object.entries(endings)) {
    const client = await broker.connect({
      keepaliveSeconds: 10,
      will: { topic: 'will', payload: name },
    });
    end(client);
    assert.deepEqual(await watcher.receivePayloads(1), [name]);
  }
});

test('[MQTT-3.1.2-8] the will waits for its delay', async () => {
  await using broker = await startBroker();
  const watcher = await watching(broker);
  const client = await broker.connect({
    clientId: 'c',
    properties: { sessionExpirySeconds: 100 },
    will: { ...will, properties: { willDelaySeconds: 10 } },
  });
  await broker.lose(client, 'c');
  broker.advance(8_000);
  await watcher.expectNothing();
  broker.advance(4_000);
  const published = await watcher.receive();
  assert.equal(published.payload.toString(), 'gone');
  assert.equal(published.properties.willDelaySeconds, undefined);
  // Once: the end of the session does not publish it again.
  broker.advance(200_000);
  await watcher.expectNothing();
});

test('[MQTT-3.1.2-8] the will does not wait longer than the session lives', async () => {
  await using broker = await startBroker();
  const watcher = await watching(broker);
  for (const sessionExpirySeconds of [0, 5]) {
    const client = await broker.connect({
      clientId: 'c',
      properties: { sessionExpirySeconds },
      will: { ...will, properties: { willDelaySeconds: 1000 } },
    });
    await broker.lose(client, 'c');
    broker.advance(sessionExpirySeconds * 1000 + 1000);
    assert.deepEqual(await watcher.receivePayloads(1), ['gone']);
  }
});

test('[MQTT-3.1.2-9] a will flag without will properties, topic and payload makes the CONNECT malformed', async () => {
  await using broker = await startBroker();
  const id = field('c');
  for (const payload of [[id], [id, properties()], [id, properties(), field('will')]]) {
    const client = await broker.open();
    client.send(connectPacket({ flags: 0x06, payload }));
    await client.expectRefused(malformed);
  }
});

test('[MQTT-3.1.2-10] a published will is gone: the next end of the session publishes nothing', async () => {
  await using broker = await startBroker();
  const watcher = await watching(broker);
  const session = { clientId: 'c', cleanStart: false, properties: { sessionExpirySeconds: 100 } };
  const first = await broker.connect({ ...session, will });
  await broker.lose(first, 'c');
  assert.deepEqual(await watcher.receivePayloads(1), ['gone']);
  const second = await broker.connect(session);
  await broker.lose(second, 'c');
  broker.advance(200_000);
  await watcher.expectNothing();
});

test('[MQTT-3.1.2-10] a will discarded by DISCONNECT 0x00 does not come back with the session', async () => {
  await using broker = await startBroker();
  const watcher = await watching(broker);
  const session = { clientId: 'c', cleanStart: false, properties: { sessionExpirySeconds: 100 } };
  const first = await broker.connect({ ...session, will });
  await first.disconnect();
  const second = await broker.connect(session);
  await broker.lose(second, 'c');
  broker.advance(200_000);
  await watcher.expectNothing();
});

test('[MQTT-3.1.2-11] a will QoS without a will makes the CONNECT malformed', async () => {
  await using broker = await startBroker();
  for (const flags of [0x0a, 0x12]) {
    const client = await broker.open();
    client.send(connectPacket({ flags }));
    await client.expectRefused(malformed, 0x82);
  }
});

test('[MQTT-3.1.2-12] a will QoS of 3 makes the CONNECT malformed', async () => {
  await using broker = await startBroker();
  const client = await broker.open();
  client.send(
    connectPacket({ flags: 0x1e, payload: [field('c'), properties(), field('will'), field('')] }),
  );
  await client.expectRefused(malformed);
});

test('[MQTT-3.1.2-13] a will retain flag without a will makes the CONNECT malformed', async () => {
  await using broker = await startBroker();
  const client = await broker.open();
  client.send(connectPacket({ flags: 0x22 }));
  await client.expectRefused(malformed, 0x82);
});

test('[MQTT-3.1.2-14] a will without will retain is published as a message that is not retained', async () => {
  await using broker = await startBroker();
  const watcher = await watching(broker);
  const client = await broker.connect({ will });
  client.destroy();
  assert.equal((await watcher.receive()).retain, false);
  const late = await broker.connect();
  await late.subscribe('will');
  await late.expectNothing();
});

test('[MQTT-3.1.2-15] a will with will retain is published as a retained message', async () => {
  await using broker = await startBroker();
  const watcher = await watching(broker);
  const client = await broker.connect({ will: { ...will, retain: true } });
  client.destroy();
  assert.equal((await watcher.receive()).retain, true);
  const late = await broker.connect();
  await late.subscribe('will');
  const retained = await late.receive();
  assert.deepEqual([retained.payload.toString(), retained.retain], ['gone', true]);
});

test('[MQTT-3.1.3-9] a connection to the same session before the delay is over cancels the will', async () => {
  await using broker = await startBroker();
  const watcher = await watching(broker);
  const session = { clientId: 'c', cleanStart: false, properties: { sessionExpirySeconds: 1000 } };
  const first = await broker.connect({
    ...session,
    will: { ...will, properties: { willDelaySeconds: 10 } },
  });
  await broker.lose(first, 'c');
  broker.advance(5_000);
  const second = await broker.connect(session);
  assert.equal(second.connack?.sessionPresent, true);
  broker.advance(20_000);
  await watcher.expectNothing();
  // Nor does it come back with the end of the session.
  await broker.lose(second, 'c');
  broker.advance(2_000_000);
  await watcher.expectNothing();
});

test('[MQTT-3.1.3-9] a clean start ends the session and so publishes its delayed will', async () => {
  await using broker = await startBroker();
  const watcher = await watching(broker);
  const session = { clientId: 'c', properties: { sessionExpirySeconds: 1000 } };
  const first = await broker.connect({
    ...session,
    will: { ...will, properties: { willDelaySeconds: 10 } },
  });
  await broker.lose(first, 'c');
  await broker.connect({ ...session, cleanStart: true });
  assert.deepEqual(await watcher.receivePayloads(1), ['gone']);
});

test('[MQTT-3.1.3-10] the user properties of a will keep their order', async () => {
  await using broker = await startBroker();
  const watcher = await watching(broker);
  const userProperties: [string, string][] = [
    ['b', '1'],
    ['a', '2'],
    ['b', '3'],
    ['a', '2'],
  ];
  const all = {
    userProperties,
    contentType: 'text/plain',
    responseTopic: 'answers',
    correlationData: Buffer.from([0, 255]),
    payloadFormat: 1,
    messageExpirySeconds: 60,
  };
  const client = await broker.connect({ will: { ...will, properties: all } });
  client.destroy();
  assert.deepEqual({ ...(await watcher.receive()).properties }, all);
});

test('[MQTT-3.1.3-11] a will topic that is no UTF-8 string makes the CONNECT malformed', async () => {
  await using broker = await startBroker();
  for (const bytes of Object.values(badStrings)) {
    const client = await broker.open();
    client.send(
      connectPacket({ flags: 0x06, payload: [field('c'), properties(), field(bytes), field('')] }),
    );
    await client.expectRefused(malformed);
  }
});
