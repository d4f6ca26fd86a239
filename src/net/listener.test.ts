import assert from 'node:assert/strict';
import { connect, type Socket } from 'node:net';
import test from 'node:test';
import { connect as connectTls } from 'node:tls';
import { WebSocket } from 'ws';
import { VirtualClock } from '#base/clock';
import { collect, connectClient, kinds } from './client-fixture.ts';
import { listenerSettings, TriedListener, until } from './listener-fixture.ts';
import { ListenerShare, listenerShareMemory } from './listener-share.ts';
import { proxyV2 } from './proxy-v2-fixture.ts';

async function connectTcp(port: number): Promise<Socket> {
  return (await connectClient('tcp', port)) as Socket;
}

test('a listener describes itself with the port it was given and its counts', async () => {
  await using tried = await TriedListener.open(listenerSettings('tcp'));
  const client = await connectTcp(tried.port);
  await tried.sink();
  tried.listener.ended('kicked');
  tried.listener.ended('kicked');
  assert.deepEqual(tried.listener.describe(), {
    protocol: 'mqtt:tcp',
    listenOn: '127.0.0.1:0',
    acceptors: 4,
    currentConns: 1,
    maxConns: 100,
    shutdownCount: new Map([['kicked', 2]]),
  });
  assert.equal(tried.listener.zone, 'external');
  client.destroy();
});

test('a transport knows both ends of its connection', async () => {
  await using tried = await TriedListener.open(listenerSettings('tcp'));
  const client = await connectTcp(tried.port);
  const { peer } = (await tried.sink()).transport;
  assert.deepEqual(peer, {
    address: '127.0.0.1',
    port: client.localPort,
    localAddress: '127.0.0.1',
    localPort: tried.port,
  });
  client.destroy();
});

test('a listener on all addresses writes IPv4 peers as IPv4', async () => {
  await using tried = await TriedListener.open(listenerSettings('tcp', { host: undefined }));
  const client = await connectTcp(tried.port);
  assert.equal((await tried.sink()).transport.peer.address, '127.0.0.1');
  client.destroy();
});

for (const kind of kinds) {
  test(`${kind}: stop keeps connections, refuses new ones, and the listener can start again`, async () => {
    await using tried = await TriedListener.open(listenerSettings(kind));
    const port = tried.port;
    const client = await connectClient(kind, port);
    const sink = await tried.sink();
    await tried.listener.stop();
    assert.equal(tried.listener.boundPort, undefined);
    await assert.rejects(connectClient(kind, port), /ECONNREFUSED/);
    client.write('still here');
    await until('the bytes', () => sink.bytes.toString() === 'still here');
    await tried.listener.start();
    const second = await connectClient(kind, tried.port);
    await tried.sink(1);
    assert.equal(tried.listener.currentConnections, 2);
    client.destroy();
    second.destroy();
  });

  test(`${kind}: disposing closes every connection and waits for the server's close`, async () => {
    const tried = await TriedListener.open(listenerSettings(kind));
    const clients = await Promise.all([1, 2, 3].map(() => connectClient(kind, tried.port)));
    const ends = clients.map((client) => collect(client));
    await tried.sink(2);
    await tried[Symbol.asyncDispose]();
    assert.equal(tried.listener.currentConnections, 0);
    assert.ok(tried.sinks.every((sink) => sink.closedFor === 'closed'));
    await until('the clients to see it', () => ends.every((one) => one.ended()));
  });

  test(`${kind}: a PROXY header of version 1 names the client`, async () => {
    await using tried = await TriedListener.open(listenerSettings(kind, { proxyProtocol: true }));
    const header = Buffer.from('PROXY TCP4 192.0.2.7 198.51.100.1 4711 1883\r\n');
    await sayHello(kind, await connectTcp(tried.port), [header]);
    const sink = await tried.sink();
    await until('the greeting', () => sink.bytes.toString() === 'hello');
    const { address, port, localAddress, localPort } = sink.transport.peer;
    assert.deepEqual(
      { address, port, localAddress, localPort },
      { address: '192.0.2.7', port: 4711, localAddress: '198.51.100.1', localPort: 1883 },
    );
  });

  test(`${kind}: a PROXY header of version 2 in single bytes names client and certificate`, async () => {
    await using tried = await TriedListener.open(listenerSettings(kind, { proxyProtocol: true }));
    const header = proxyV2({ address: '192.0.2.8', port: 99 }, 'device-1');
    const socket = await connectTcp(tried.port);
    socket.setNoDelay(true);
    await sayHello(
      kind,
      socket,
      [...header].map((byte) => Buffer.of(byte)),
    );
    const sink = await tried.sink();
    await until('the greeting', () => sink.bytes.toString() === 'hello');
    assert.equal(sink.transport.peer.address, '192.0.2.8');
    assert.equal(sink.transport.peer.tls?.commonName, 'device-1');
  });
}

/** Sends the header and then, without waiting, what a client of that kind begins with. */
async function sayHello(kind: string, socket: Socket, header: readonly Buffer[]): Promise<void> {
  for (const piece of header) socket.write(piece);
  const stream =
    kind === 'ssl' || kind === 'wss' ? connectTls({ socket, rejectUnauthorized: false }) : socket;
  stream.on('error', () => undefined);
  if (kind === 'tcp' || kind === 'ssl') {
    stream.write('hello');
    return;
  }
  const ws = new WebSocket('ws://127.0.0.1/mqtt', ['mqtt'], { createConnection: () => stream });
  ws.on('error', () => undefined);
  ws.on('open', () => ws.send(Buffer.from('hello')));
}

test('a proxied connection goes on in the same segment as its header', async () => {
  await using tried = await TriedListener.open(listenerSettings('tcp', { proxyProtocol: true }));
  const client = await connectTcp(tried.port);
  client.write('PROXY TCP4 192.0.2.7 198.51.100.1 4711 1883\r\nfirst ');
  const sink = await tried.sink();
  client.end('second');
  await until('the end', () => sink.closedFor !== undefined);
  assert.equal(sink.bytes.toString(), 'first second');
});

test('a bad PROXY header closes the connection and is counted', async () => {
  await using tried = await TriedListener.open(listenerSettings('tcp', { proxyProtocol: true }));
  const client = await connectTcp(tried.port);
  const got = collect(client);
  client.write('\x10\x0c\0\x04MQTT');
  await until('the end', () => got.ended());
  assert.equal(tried.listener.shutdownCounts.get('proxy_protocol_error'), 1);
  assert.equal(tried.sinks.length, 0);
  assert.equal(tried.listener.currentConnections, 0);
});

test('a PROXY header that does not come in time closes the connection', async () => {
  const clock = new VirtualClock();
  const settings = listenerSettings('ssl', { proxyProtocol: true, proxyProtocolTimeoutMs: 3000 });
  await using tried = await TriedListener.open(settings, { clock });
  const client = await connectTcp(tried.port);
  const got = collect(client);
  client.write('PROXY');
  await until('the connection', () => tried.listener.currentConnections === 1);
  clock.advance(2999);
  assert.equal(tried.listener.currentConnections, 1);
  clock.advance(1);
  await until('the end', () => got.ended());
  assert.equal(tried.listener.shutdownCounts.get('proxy_protocol_timeout'), 1);
});

test('a client that leaves before its PROXY header is forgotten', async () => {
  await using tried = await TriedListener.open(listenerSettings('tcp', { proxyProtocol: true }));
  const client = await connectTcp(tried.port);
  await until('the connection', () => tried.listener.currentConnections === 1);
  client.end('PRO');
  await until('the end', () => tried.listener.currentConnections === 0);
  assert.deepEqual(tried.listener.shutdownCounts, new Map([['closed', 1]]));
});

test('an address that the rules deny is closed and counted', async () => {
  const access = [{ allow: false, range: '127.0.0.0/8' }];
  await using tried = await TriedListener.open(listenerSettings('tcp', { access }));
  const got = collect(await connectTcp(tried.port));
  await until('the end', () => got.ended());
  assert.equal(tried.listener.shutdownCounts.get('access_denied'), 1);
  assert.equal(tried.sinks.length, 0);
});

test('a connection over max_connections is closed and counted, and its place is free later', async () => {
  await using tried = await TriedListener.open(listenerSettings('tcp', { maxConnections: 1 }));
  const first = await connectTcp(tried.port);
  await tried.sink(0);
  const refused = collect(await connectTcp(tried.port));
  await until('the refusal', () => refused.ended());
  assert.equal(tried.listener.shutdownCounts.get('max_connections'), 1);
  first.destroy();
  await until('the place', () => tried.listener.currentConnections === 0);
  const third = await connectTcp(tried.port);
  await tried.sink(1);
  third.destroy();
});

test('connections over max_conn_rate wait their turn and are served', async () => {
  const clock = new VirtualClock();
  const settings = listenerSettings('tcp', { maxConnRate: 2, backlog: 3 });
  await using tried = await TriedListener.open(settings, { clock });
  const clients = [];
  for (let i = 0; i < 6; i++) clients.push(await connectTcp(tried.port));
  clients.forEach((client, i) => client.write(String(i)));
  const last = clients[5];
  assert.ok(last !== undefined);
  const refused = collect(last);
  await until('the refusal', () => refused.ended());
  assert.equal(tried.listener.shutdownCounts.get('max_conn_rate'), 1);
  assert.equal(tried.sinks.length, 2);
  assert.equal(tried.listener.currentConnections, 5);
  clock.advance(1000);
  assert.equal(tried.sinks.length, 4);
  clock.advance(500);
  const sink = await tried.sink(4);
  await until('the bytes', () => sink.bytes.toString() === '4');
  for (const client of clients) client.destroy();
});

test('max_connections holds for two listeners that share it', async () => {
  const memory = listenerShareMemory(2);
  const [ours, theirs] = [new ListenerShare(memory, 0), new ListenerShare(memory, 1)];
  const settings = listenerSettings('tcp', { maxConnections: 2 });
  await using first = await TriedListener.open(settings, { share: ours });
  await using second = await TriedListener.open(settings, { share: theirs });
  const [one, other] = [await connectTcp(first.port), await connectTcp(second.port)];
  await Promise.all([first.sink(), second.sink()]);
  assert.equal(ours.connections, 2);
  const refused = collect(await connectTcp(second.port));
  await until('the refusal', () => refused.ended());
  assert.equal(second.listener.shutdownCounts.get('max_connections'), 1);
  assert.equal(ours.connections, 2, 'who was refused has no place');
  one.destroy();
  await until('the place', () => theirs.connections === 1);
  const third = await connectTcp(second.port);
  await second.sink(1);
  assert.equal(second.listener.currentConnections, 2);
  other.destroy();
  third.destroy();
  await until('all to have left', () => ours.connections === 0);
});

for (const kind of kinds) {
  test(`${kind}: a share counts a connection once, from accept to close`, async () => {
    const share = new ListenerShare(listenerShareMemory(1), 0);
    const settings = listenerSettings(kind, { proxyProtocol: true });
    await using tried = await TriedListener.open(settings, { share });
    const idle = await connectTcp(tried.port);
    await until('the first', () => share.connections === 1);
    await sayHello(kind, await connectTcp(tried.port), [
      Buffer.from('PROXY TCP4 192.0.2.7 198.51.100.1 4711 1883\r\n'),
    ]);
    const sink = await tried.sink();
    await until('the greeting', () => sink.bytes.toString() === 'hello');
    assert.equal(share.connections, 2);
    idle.destroy();
    await until('the first to have left', () => share.connections === 1);
    sink.transport.destroy();
    await until('the second to have left', () => share.connections === 0);
  });
}

test('a socket that the rules deny takes no place of a share', async () => {
  const share = new ListenerShare(listenerShareMemory(1), 0);
  const access = [{ allow: false, range: '127.0.0.0/8' }];
  await using tried = await TriedListener.open(listenerSettings('tcp', { access }), { share });
  const got = collect(await connectTcp(tried.port));
  await until('the end', () => got.ended());
  assert.equal(tried.listener.shutdownCounts.get('access_denied'), 1);
  assert.equal(share.connections, 0);
});

test('max_conn_rate holds for two listeners that share it', async () => {
  const clock = new VirtualClock();
  const memory = listenerShareMemory(2);
  const settings = listenerSettings('tcp', { maxConnRate: 2 });
  const open = (worker: number): Promise<TriedListener> =>
    TriedListener.open(settings, { clock, share: new ListenerShare(memory, worker) });
  await using first = await open(0);
  await using second = await open(1);
  const clients = [];
  for (const { port } of [first, second, first, second]) clients.push(await connectTcp(port));
  const connected = (): number =>
    first.listener.currentConnections + second.listener.currentConnections;
  const served = (): number => first.sinks.length + second.sinks.length;
  await until('all to have come', () => connected() === 4);
  assert.equal(served(), 2);
  clock.advance(500);
  assert.equal(served(), 3);
  clock.advance(500);
  assert.equal(served(), 4);
  for (const client of clients) client.destroy();
});

test('a client that ends its side still gets the answer to its last bytes', async () => {
  await using tried = await TriedListener.open(listenerSettings('tcp'), {}, (sink) => {
    sink.onReceive = () => setImmediate(() => sink.transport.write(Buffer.from('answer')));
  });
  const client = await connectTcp(tried.port);
  const got = collect(client);
  client.end('question');
  const sink = await tried.sink();
  await until('both ends', () => sink.closedFor !== undefined && got.ended());
  assert.equal(got.bytes().toString(), 'answer');
  assert.equal(sink.closedFor, 'closed');
});

test('plain connections read into one buffer of the thread', async () => {
  const seen: Buffer[] = [];
  await using tried = await TriedListener.open(listenerSettings('tcp'), {
    accept: () => ({ receive: (bytes) => seen.push(bytes), drained() {}, closed() {} }),
  });
  const clients = [await connectTcp(tried.port), await connectTcp(tried.port)];
  for (const client of clients) client.write('x');
  await until('both reads', () => seen.length === 2);
  assert.equal(seen[0], seen[1]);
  for (const client of clients) client.destroy();
});

test('a reset by the peer is told as econnreset', async () => {
  await using tried = await TriedListener.open(listenerSettings('tcp'));
  const client = await connectTcp(tried.port);
  const sink = await tried.sink();
  client.resetAndDestroy();
  await until('the end', () => sink.closedFor !== undefined);
  assert.equal(sink.closedFor, 'econnreset');
});

test('a port in use is refused with the listener, the address and the remedy', async () => {
  await using first = await TriedListener.open(listenerSettings('tcp'));
  const port = first.port;
  const settings = listenerSettings('tcp', { port, listenOn: `127.0.0.1:${port}` });
  await using second = new TriedListener(settings);
  await assert.rejects(second.listener.start(), {
    message:
      `Cannot listen on "127.0.0.1:${port}" for listener.tcp.external: it is in use, ` +
      'stop what uses it or choose another with --set listener.tcp.external=127.0.0.1:<port>',
  });
});

test('two listeners share a port when asked to', async () => {
  await using first = await TriedListener.open(listenerSettings('tcp'), { reusePort: true });
  const settings = listenerSettings('tcp', { port: first.port });
  await using second = await TriedListener.open(settings, { reusePort: true });
  assert.equal(second.port, first.port);
});

test('a throw while accepting closes that connection and is logged', async () => {
  await using tried = await TriedListener.open(listenerSettings('tcp'), {
    accept: () => {
      throw new Error('no');
    },
  });
  const socket = connect(tried.port, '127.0.0.1');
  const got = collect(socket);
  await until('the end', () => got.ended());
  assert.ok(tried.log.events.includes('listener.accept.threw'));
});
