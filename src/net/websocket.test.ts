import assert from 'node:assert/strict';
import { request } from 'node:http';
import { connect } from 'node:net';
import test from 'node:test';
import { type ClientOptions, WebSocket } from 'ws';
import { VirtualClock } from '#base/clock';
import type { WsSettings } from '#config/settings';
import { collect, connectClient } from './client-fixture.ts';
import { echo, listenerSettings, plainWs, TriedListener, until } from './listener-fixture.ts';

function wsSettings(changes: Partial<WsSettings> = {}): ReturnType<typeof listenerSettings> {
  return listenerSettings('ws', { ws: { ...plainWs, ...changes } });
}

async function open(
  port: number,
  protocols: string[] = ['mqtt'],
  options: ClientOptions = {},
  path = '/mqtt',
): Promise<WebSocket> {
  const { promise, resolve, reject } = Promise.withResolvers<WebSocket>();
  const ws = new WebSocket(`ws://127.0.0.1:${port}${path}`, protocols, options);
  ws.once('open', () => resolve(ws));
  ws.once('error', reject);
  await promise;
  return ws.on('error', () => undefined);
}

test('the first MQTT subprotocol that a client offers is chosen', async () => {
  await using tried = await TriedListener.open(wsSettings());
  for (const [offered, chosen] of [
    [['mqtt'], 'mqtt'],
    [['mqttv3.1'], 'mqttv3.1'],
    [['mqttv3.1.1'], 'mqttv3.1.1'],
    [['chat', 'mqttv5', 'mqtt'], 'mqttv5'],
  ] as const) {
    const ws = await open(tried.port, [...offered]);
    assert.equal(ws.protocol, chosen);
    ws.terminate();
  }
});

test('a client that offers no MQTT subprotocol is refused with 400', async () => {
  await using tried = await TriedListener.open(wsSettings());
  await assert.rejects(open(tried.port, []), /400/);
  await assert.rejects(open(tried.port, ['chat', 'mqttx']), /400/);
  await until('the end', () => tried.listener.currentConnections === 0);
  assert.equal(tried.sinks.length, 0);
});

test('a client that offers no subprotocol is accepted when that is not verified', async () => {
  await using tried = await TriedListener.open(wsSettings({ verifyProtocolHeader: false }));
  const ws = await open(tried.port, []);
  assert.equal(ws.protocol, '');
  await tried.sink();
  ws.terminate();
});

test('another path is refused with 404, and the query is no part of the path', async () => {
  await using tried = await TriedListener.open(wsSettings());
  await assert.rejects(open(tried.port, ['mqtt'], {}, '/other'), /404/);
  const ws = await open(tried.port, ['mqtt'], {}, '/mqtt?token=1');
  ws.terminate();
});

test('a plain request is told to upgrade, or that there is nothing', async () => {
  await using tried = await TriedListener.open(wsSettings());
  for (const [path, status] of [
    ['/mqtt', 426],
    ['/', 404],
  ] as const) {
    let found: number | undefined;
    request({ port: tried.port, host: '127.0.0.1', path }, (response) => {
      found = response.statusCode;
      response.resume();
    }).end();
    await until('the answer', () => found !== undefined);
    assert.equal(found, status);
  }
  await until('the end', () => tried.listener.currentConnections === 0);
});

test('a text frame closes with 1003 and other_frame_type', async () => {
  await using tried = await TriedListener.open(wsSettings());
  const ws = await open(tried.port);
  let told: [number, string] | undefined;
  ws.on('close', (code, reason) => {
    told = [code, reason.toString()];
  });
  ws.send('text');
  ws.send(Buffer.from('late'));
  const sink = await tried.sink();
  await until('both ends', () => sink.closedFor !== undefined && told !== undefined);
  assert.deepEqual(told, [1003, 'other_frame_type']);
  assert.equal(sink.closedFor, 'other_frame_type');
  assert.equal(sink.bytes.length, 0);
});

test('a frame over max_frame_size ends the connection', async () => {
  await using tried = await TriedListener.open(wsSettings({ maxFrameBytes: 100 }));
  const ws = await open(tried.port);
  ws.send(Buffer.alloc(100));
  ws.send(Buffer.alloc(101));
  const sink = await tried.sink();
  await until('the end', () => sink.closedFor !== undefined);
  assert.equal(sink.closedFor, 'frame_too_large');
  assert.equal(sink.bytes.length, 100);
});

test('headers of a proxy name the client when they are configured', async () => {
  const headers = { 'X-Forwarded-For': '192.0.2.7, 10.0.0.1', 'X-Forwarded-Port': '4711' };
  const settings = wsSettings({
    proxyAddressHeader: 'X-Forwarded-For',
    proxyPortHeader: 'X-Forwarded-Port',
  });
  await using tried = await TriedListener.open(settings);
  const told = await open(tried.port, ['mqtt'], { headers });
  const toldPeer = (await tried.sink(0)).transport.peer;
  assert.deepEqual([toldPeer.address, toldPeer.port], ['192.0.2.7', 4711]);
  const lied = await open(tried.port, ['mqtt'], {
    headers: { 'X-Forwarded-For': 'localhost', 'X-Forwarded-Port': '0' },
  });
  const liedPeer = (await tried.sink(1)).transport.peer;
  assert.equal(liedPeer.address, '127.0.0.1');
  assert.ok(liedPeer.port > 0);
  told.terminate();
  lied.terminate();
});

test('headers of a proxy are ignored when they are not configured', async () => {
  await using tried = await TriedListener.open(wsSettings());
  const ws = await open(tried.port, ['mqtt'], { headers: { 'X-Forwarded-For': '192.0.2.7' } });
  assert.equal((await tried.sink()).transport.peer.address, '127.0.0.1');
  ws.terminate();
});

test('the cookie of the upgrade is kept', async () => {
  await using tried = await TriedListener.open(wsSettings());
  const ws = await open(tried.port, ['mqtt'], { headers: { Cookie: 'session=1; theme=dark' } });
  assert.equal((await tried.sink()).transport.peer.wsCookie, 'session=1; theme=dark');
  ws.terminate();
});

test('frames are compressed when that is on and keep the write contract', async () => {
  const settings = wsSettings({ compress: true, deflate: { ...plainWs.deflate, level: 1 } });
  await using tried = await TriedListener.open(settings, {}, echo);
  const ws = await open(tried.port);
  assert.match(ws.extensions, /permessage-deflate/);
  const back: Buffer[] = [];
  ws.on('message', (data: Buffer) => back.push(data));
  const sent = Array.from({ length: 50 }, (_, i) => Buffer.alloc(5000, i));
  for (const one of sent) ws.send(one);
  await until('the echo', () => Buffer.concat(back).length === 250_000);
  assert.deepEqual(Buffer.concat(back), Buffer.concat(sent));
  ws.terminate();
});

test('a connection without frames ends with idle_timeout, one with pings does not', async () => {
  const clock = new VirtualClock();
  await using tried = await TriedListener.open(wsSettings({ idleTimeoutMs: 1000 }), { clock });
  const quiet = await open(tried.port);
  const alive = await open(tried.port);
  const [quietSink, aliveSink] = [await tried.sink(0), await tried.sink(1)];
  clock.advance(900);
  let pongs = 0;
  alive.on('pong', () => pongs++);
  alive.ping();
  await until('the pong', () => pongs === 1);
  clock.advance(100);
  await until('the end', () => quietSink.closedFor !== undefined);
  assert.equal(quietSink.closedFor, 'idle_timeout');
  assert.equal(aliveSink.closedFor, undefined);
  quiet.terminate();
  alive.terminate();
});

test('a connection that is not read does not end with idle_timeout, and has its time anew when it is', async () => {
  const clock = new VirtualClock();
  await using tried = await TriedListener.open(wsSettings({ idleTimeoutMs: 1000 }), { clock });
  const ws = await open(tried.port);
  const sink = await tried.sink();
  sink.transport.pause();
  clock.advance(9500);
  assert.equal(sink.closedFor, undefined);
  sink.transport.resume();
  clock.advance(900);
  ws.send(Buffer.from('here'));
  await until('the frame', () => sink.bytes.length > 0);
  assert.equal(sink.closedFor, undefined);
  ws.terminate();
});

test('pings of a client that does not read the pongs take no memory, and the last is answered', async () => {
  await using tried = await TriedListener.open(wsSettings());
  const socket = connect(tried.port, '127.0.0.1');
  const ws = await open(tried.port, ['mqtt'], { createConnection: () => socket });
  ws.pause();
  const payloadBytes = 125;
  const pings = 400_000;
  // Masked with zeros, so that the payload is its own.
  const ping = (word: string): Buffer =>
    Buffer.from([0x89, 0x80 | payloadBytes, 0, 0, 0, 0, ...Buffer.from(word.padEnd(payloadBytes))]);
  const chunk = Buffer.concat(Array.from({ length: 1000 }, () => ping('again')));
  for (let i = 0; i < pings; i += 1000) socket.write(chunk);
  const sent = Promise.withResolvers<void>();
  socket.write(ping('last'), () => sent.resolve());
  await sent.promise;
  let pongs = 0;
  let lastPong = '';
  ws.on('pong', (data) => {
    pongs++;
    lastPong = data.toString().trim();
  });
  ws.resume();
  await until('the last pong', () => lastPong === 'last');
  assert.ok(pongs < pings, `${pongs} pongs were kept for it`);
  ws.terminate();
});

test('frames that inflate to more than can be held for a paused connection end it', async () => {
  await using tried = await TriedListener.open(wsSettings({ compress: true }), {}, (sink) => {
    sink.onReceive = () => sink.transport.pause();
  });
  const socket = connect(tried.port, '127.0.0.1');
  const ws = await open(tried.port, ['mqtt'], { createConnection: () => socket });
  // One chunk, of which the library hands out everything whatever is paused.
  socket.cork();
  for (let i = 0; i < 40; i++) ws.send(Buffer.alloc(1_000_000));
  await until('all compressed', () => ws.bufferedAmount === socket.writableLength);
  socket.uncork();
  const sink = await tried.sink();
  await until('the end', () => sink.closedFor !== undefined);
  assert.equal(sink.closedFor, 'frame_flood');
  assert.equal(sink.bytes.length, 1_000_000);
  ws.terminate();
});

test('a client that never asks for an upgrade is closed', async () => {
  const clock = new VirtualClock();
  await using tried = await TriedListener.open(wsSettings(), { clock });
  const client = await connectClient('tcp', tried.port);
  const got = collect(client);
  client.write('GET /mqtt HTTP/1.1\r\n');
  await until('the connection', () => tried.listener.currentConnections === 1);
  clock.advance(15_000);
  await until('the end', () => got.ended() && tried.listener.currentConnections === 0);
  assert.equal(tried.listener.shutdownCounts.get('idle_timeout'), 1);
});

test('a peer that resets ends a connection that waits, paused, for a write to go away', async () => {
  const settings = listenerSettings('ws', { ws: plainWs, sendTimeoutClose: false });
  await using tried = await TriedListener.open(settings, {}, (sink) => {
    sink.onReceive = () => {
      assert.equal(sink.transport.write(Buffer.alloc(16 * 1024 * 1024)), false);
      sink.transport.pause();
    };
    sink.onDrained = () => sink.transport.resume();
  });
  const socket = connect(tried.port, '127.0.0.1');
  const ws = await open(tried.port, ['mqtt'], { createConnection: () => socket });
  ws.pause();
  // One chunk: the library hands out the second frame although the first one paused it.
  socket.cork();
  ws.send(Buffer.from('one'));
  ws.send(Buffer.from('two'));
  socket.uncork();
  const sink = await tried.sink();
  await until('the first frame', () => sink.bytes.length > 0);
  socket.resetAndDestroy();
  await until('the end', () => sink.closedFor !== undefined);
  assert.equal(sink.bytes.toString(), 'one');
  assert.equal(tried.listener.currentConnections, 0);
});

test('a frame that would be waited for longer than a timer can last ends nothing', async () => {
  const rateLimit = { bytesPerSecond: 1, burst: 1 };
  const settings = listenerSettings('ws', { ws: plainWs, rateLimit });
  await using tried = await TriedListener.open(settings, { maxPacketBytes: 4 * 1024 * 1024 });
  const ws = await open(tried.port);
  const sink = await tried.sink();
  // At a byte a second, 3 MiB are 36 days.
  ws.send(Buffer.alloc(3 * 1024 * 1024));
  await until('the frame', () => sink.bytes.length > 0);
  await until('an answer', () => sink.transport.write(Buffer.from('x')));
  assert.equal(sink.closedFor, undefined);
  assert.deepEqual(
    tried.log.events.filter((event) => event.endsWith('.threw')),
    [],
  );
  ws.terminate();
  sink.transport.destroy();
});
