// MQTT 5.0 section 6: MQTT in WebSocket frames.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import test from 'node:test';
import { createWebSocketStream, WebSocket } from 'ws';
import { startBroker, type TestBroker } from '#test/broker';
import { connectPacket, field, packet, properties, u16 } from '#test/raw-bytes';
import { RawClient } from '#test/raw-client';

interface WebSocketClient extends AsyncDisposable {
  readonly socket: WebSocket;
  readonly client: RawClient;
}

async function openWebSocket(broker: TestBroker): Promise<WebSocketClient> {
  const socket = new WebSocket(`ws://127.0.0.1:${broker.webSocketPort}/mqtt`, ['mqtt']);
  const stream = createWebSocketStream(socket);
  // The stream stays half open after the server has closed; a TCP socket does not.
  stream.once('end', () => stream.destroy());
  const client = new RawClient(stream, 5);
  await once(socket, 'open');
  return { socket, client, [Symbol.asyncDispose]: () => client[Symbol.asyncDispose]() };
}

test('[MQTT-6.0.0-1] packets travel in binary frames, and a text frame ends the connection', async () => {
  await using broker = await startBroker({ webSocket: true });
  await using opened = await openWebSocket(broker);
  const { socket, client } = opened;
  const kinds = new Set<boolean>();
  socket.on('message', (_, isBinary) => kinds.add(isBinary));
  await client.connect();
  await client.expectNothing();
  assert.deepEqual([...kinds], [true]);
  const closed = once(socket, 'close');
  socket.send('text');
  await closed;
  await broker.expectService();
});

test('[MQTT-6.0.0-1] a text frame ends the connection also before CONNECT', async () => {
  await using broker = await startBroker({ webSocket: true });
  await using opened = await openWebSocket(broker);
  const closed = once(opened.socket, 'close');
  opened.socket.send(connectPacket().toString('latin1'));
  await closed;
});

test('[MQTT-6.0.0-2] one frame may hold several packets or part of one', async () => {
  await using broker = await startBroker({ webSocket: true });
  await using opened = await openWebSocket(broker);
  const { socket, client } = opened;
  const subscribe = packet(0x82, u16(1), properties(), field('a'), 1);
  const publish = packet(0x32, field('a'), u16(2), properties(), Buffer.from('split'));
  const stream = Buffer.concat([connectPacket(), subscribe, publish]);
  const cut = stream.length - 5;
  socket.send(stream.subarray(0, cut));
  for (const byte of stream.subarray(cut)) socket.send(Buffer.from([byte]));
  await client.next('connack');
  await client.next('suback');
  assert.equal((await client.find('publish')).payload.toString(), 'split');
  await client.find('puback');
  await client.expectNothing();
});

test('[MQTT-6.0.0-3] a client that does not offer the subprotocol mqtt is not let in', async () => {
  await using broker = await startBroker({ webSocket: true });
  const socket = new WebSocket(`ws://127.0.0.1:${broker.webSocketPort}/mqtt`, ['chat']);
  const [error] = (await once(socket, 'error')) as [Error];
  assert.match(error.message, /40\d|subprotocol/i);
  await broker.expectService();
});

test('[MQTT-6.0.0-4] the subprotocol that the server selects is mqtt', async () => {
  await using broker = await startBroker({ webSocket: true });
  await using opened = await openWebSocket(broker);
  assert.equal(opened.socket.protocol, 'mqtt');
});

test('lengths that lie end the connection on WebSocket as they do on TCP (CVE-2026-21888, CVE-2026-25627)', async () => {
  await using broker = await startBroker({ webSocket: true });
  for (const bytes of [
    Buffer.from([0x30, 0x80, 0x80, 0x80, 0x80, 0x01]),
    Buffer.from([0x30, 2, 0xff, 0xff]),
    packet(0x30, field('a'), 100),
  ]) {
    await using opened = await openWebSocket(broker);
    await opened.client.connect();
    opened.socket.send(bytes);
    await opened.client.expectDisconnected(0x81);
  }
  await broker.expectService();
});

test('a client on WebSocket and one on TCP exchange messages', async () => {
  await using broker = await startBroker({ webSocket: true });
  await using opened = await openWebSocket(broker);
  const tcp = await broker.connect();
  assert.equal((await opened.client.connect({ clientId: 'ws' })).reasonCode, 0);
  for (const client of [tcp, opened.client]) await client.subscribe('a', { qos: 2 });
  await tcp.publish('a', 'from TCP', { qos: 2 });
  await opened.client.publish('a', Buffer.alloc(100_000, 'x'), { qos: 1 });
  for (const client of [tcp, opened.client]) {
    const [first, second] = await client.receivePayloads(2);
    assert.equal(first, 'from TCP');
    assert.equal(second?.length, 100_000);
  }
});
