import assert from 'node:assert/strict';
import test from 'node:test';
import { RawClient } from '#test/raw-client';
import { BrokerProcess, onlyListeners } from './broker-process.ts';
import { OutsideClient } from './outside-client.ts';

const megabyte = 1024 * 1024;

test('max_connections closes one connection more at once, and lets one in when one leaves', async () => {
  await using broker = await BrokerProcess.start([
    ...onlyListeners('tcp', 'ws'),
    'listener.tcp.external.max_connections=3',
  ]);
  const port = broker.port('tcp');
  await using clients = new AsyncDisposableStack();
  const first = clients.use(await connected(port, 'first'));
  for (const id of ['second', 'third']) clients.use(await connected(port, id));
  const fourth = clients.use(await RawClient.open(port));
  assert.deepEqual(await fourth.expectClosed(), [], 'closed without a word');
  // Another listener has a limit of its own.
  clients.use(await OutsideClient.open(`ws://127.0.0.1:${broker.port('ws')}/mqtt`));
  await first.disconnect();
  const fifth = clients.use(await connectedInTheEnd(port, 'fifth'));
  await fifth.expectNothing();
});

test('max_conn_rate lets connections above the rate wait, and refuses none', async () => {
  const rate = 8;
  await using broker = await BrokerProcess.start([
    ...onlyListeners('tcp'),
    `listener.tcp.external.max_conn_rate=${rate}`,
  ]);
  const count = 16;
  const start = process.hrtime.bigint();
  const clients = await Promise.all(
    Array.from({ length: count }, (_, i) => connected(broker.port('tcp'), `client-${i}`)),
  );
  const tookMs = Number(process.hrtime.bigint() - start) / 1e6;
  await using cleanup = new AsyncDisposableStack();
  for (const client of clients) cleanup.use(client);
  // Not a measurement: a slow machine only takes longer, and no machine may take less than this.
  const leastMs = ((count - rate) / rate) * 1000;
  assert.ok(tookMs > leastMs - 20, `${count} connections in ${tookMs} ms at ${rate} per second`);
});

test('node.max_clients refuses one client more with a code', async () => {
  await using broker = await BrokerProcess.start([...onlyListeners('tcp'), 'node.max_clients=2']);
  const port = broker.port('tcp');
  await using clients = new AsyncDisposableStack();
  for (const id of ['one', 'two']) clients.use(await connected(port, id));
  const third = clients.use(await RawClient.open(port));
  assert.equal((await third.connect({ clientId: 'three' })).reasonCode, 0x97);
});

test('a packet over the limit ends its connection and no other', async () => {
  await using broker = await BrokerProcess.start([
    ...onlyListeners('tcp'),
    'mqtt.max_packet_size=4KB',
  ]);
  const url = `mqtt://127.0.0.1:${broker.port('tcp')}`;
  await using large = await OutsideClient.open(url, { clientId: 'large' });
  await using other = await OutsideClient.open(url, { clientId: 'other' });
  assert.equal(large.connack.properties?.maximumPacketSize, 4096);
  await other.subscribe('size', { qos: 1 });
  // MQTT.js does not look at the limit that it was told.
  large.mqtt.publish('size', Buffer.alloc(8192), { qos: 0 });
  assert.equal((await large.ended()).disconnect?.reasonCode, 0x95);
  await other.publish('size', 'fits', { qos: 1 });
  assert.deepEqual(await other.payloads(1), ['fits']);
});

test('a subscriber that does not read costs neither the others nor much memory', async () => {
  await using broker = await BrokerProcess.start();
  const port = broker.port('tcp');
  const deaf = await connected(port, 'deaf');
  await using _deaf = deaf;
  await deaf.subscribe('flood');
  deaf.socket.pause();
  await using publisher = await connected(port, 'publisher');
  const url = `mqtt://127.0.0.1:${port}`;
  await using sender = await OutsideClient.open(url, { clientId: 'sender' });
  await using receiver = await OutsideClient.open(url, { clientId: 'receiver' });
  await receiver.subscribe('talk', { qos: 1 });
  const startedWith = broker.memory('VmRSS');

  const flood = floodOf(publisher, 320 * megabyte);
  let talked = 0;
  const isFlooded = flood.then(() => true);
  do {
    await sender.publish('talk', String(talked), { qos: 1 });
    assert.deepEqual(await receiver.payloads(1), [String(talked)]);
    talked += 1;
  } while (!(await Promise.race([isFlooded, Promise.resolve(false)])));
  await flood;
  assert.ok(talked > 1, 'nobody was served during the flood');
  // The socket's outbox and a queue of waiting messages are bounded; 320 MB are not kept.
  const grown = broker.memory('VmHWM') - startedWith;
  assert.ok(grown < 160 * megabyte, `the broker grew by ${Math.round(grown / megabyte)} MB`);
});

test('send_timeout ends the connection of a client that does not read', async () => {
  await using broker = await BrokerProcess.start([
    ...onlyListeners('tcp'),
    'listener.tcp.external.send_timeout=200ms',
    'log.level=debug',
  ]);
  const port = broker.port('tcp');
  await using watcher = await connected(port, 'watcher');
  await watcher.subscribe('gone', { qos: 1 });
  await using deaf = await RawClient.open(port);
  await deaf.connect({ clientId: 'deaf', will: { topic: 'gone', payload: 'deaf', qos: 1 } });
  await deaf.subscribe('flood');
  deaf.socket.pause();
  await using publisher = await connected(port, 'publisher');
  await floodOf(publisher, 32 * megabyte);
  assert.deepEqual(await watcher.receivePayloads(1), ['deaf']);
  const { clientId, reason } = await broker.event('client.disconnected');
  assert.deepEqual([clientId, reason], ['deaf', 'send_timeout']);
});

test('a connection that stays silent is closed, whatever it should have said first', async () => {
  await using broker = await BrokerProcess.start([
    ...onlyListeners('tcp', 'ssl'),
    'zone.external.idle_timeout=200ms',
    'listener.ssl.external.handshake_timeout=200ms',
    ...['listener.tcp.behind=127.0.0.1:0', 'listener.tcp.behind.proxy_protocol=on'],
    'listener.tcp.behind.proxy_protocol_timeout=200ms',
  ]);
  const ports = [broker.port('tcp'), broker.port('ssl'), broker.port('tcp', 1)];
  await Promise.all(
    ports.map(async (port) => {
      await using silent = await RawClient.open(port);
      assert.deepEqual(await silent.expectClosed(10_000), []);
    }),
  );
});

test('keepalive ends the connection of a client that has fallen silent', async () => {
  await using broker = await BrokerProcess.start();
  await using silent = await RawClient.open(broker.port('tcp'));
  await silent.connect({ clientId: 'silent', keepaliveSeconds: 1 });
  const disconnect = await silent.next('disconnect', 5000);
  assert.equal(disconnect.reasonCode, 0x8d);
});

async function connected(port: number, clientId: string): Promise<RawClient> {
  const client = await RawClient.open(port);
  try {
    const { reasonCode } = await client.connect({ clientId });
    assert.equal(reasonCode, 0);
    return client;
  } catch (error) {
    client.destroy();
    throw error;
  }
}

/** Tries again while it is closed at once: the broker sees a socket close later than its peer does. */
async function connectedInTheEnd(port: number, clientId: string): Promise<RawClient> {
  const deadline = Date.now() + 10_000;
  for (;;) {
    try {
      return await connected(port, clientId);
    } catch (error) {
      if (Date.now() > deadline) throw error;
    }
  }
}

/** Publishes so many bytes with QoS 0; resolves when the broker has read them all. */
async function floodOf(publisher: RawClient, bytes: number): Promise<void> {
  const payload = Buffer.alloc(16 * 1024);
  for (let sent = 0; sent < bytes; sent += payload.length) {
    publisher.sendPublish('flood', payload);
    if (publisher.socket.writableNeedDrain) {
      await new Promise((drained) => publisher.socket.once('drain', drained));
    }
  }
  publisher.send({ type: 'pingreq' });
  await publisher.next('pingresp', 10_000);
}
