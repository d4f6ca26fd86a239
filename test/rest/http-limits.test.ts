import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import test from 'node:test';
import { basic, startManaged } from '#test/managed';

/** What a connection says until it ends. */
async function untilEnd(socket: Socket): Promise<string> {
  let said = '';
  socket.setEncoding('utf8').on('data', (text: string) => {
    said += text;
  });
  // A reset ends it as well.
  socket.on('error', () => undefined);
  await once(socket, 'close', { signal: AbortSignal.timeout(10_000) });
  return said;
}

test('a body that is too large is refused, whether it says so or not', async () => {
  await using managed = await startManaged({ settings: { 'management.max_body_size': '1KB' } });
  const raw = `"${'x'.repeat(2000)}"`;
  const told = await managed.post('/mqtt/publish', undefined, { raw });
  assert.equal(told.status, 413);
  assert.equal(told.body.code, 413);
  const chunked = { 'transfer-encoding': 'chunked', authorization: basic(managed.auth) };
  const response = await fetch(`${managed.url}/mqtt/publish`, {
    method: 'POST',
    headers: { authorization: chunked.authorization },
    body: new Blob([raw]).stream(),
    duplex: 'half',
  });
  assert.equal(response.status, 413);
  const stranger = await managed.post('/mqtt/publish', undefined, { raw, auth: '' });
  assert.equal(stranger.status, 401);
  const small = await managed.post('/nodes', undefined, { raw: '{}' });
  assert.equal(small.status, 404);
});

test('a request that never ends is closed after its time, with or without its head', async () => {
  await using managed = await startManaged({
    settings: { 'management.request_timeout': '300ms' },
  });
  const head = `POST /api/v3/mqtt/publish HTTP/1.1\r\nHost: x\r\nAuthorization: ${basic(managed.auth)}\r\n`;
  for (const begun of ['GET /api', head, `${head}Content-Length: 10\r\n\r\n{"a"`]) {
    const socket = connect(managed.httpPort, '127.0.0.1');
    socket.write(begun);
    assert.match(await untilEnd(socket), /^HTTP\/1\.1 408 .*\{"code":408,"message":".*"\}$/s);
  }
  assert.equal((await managed.get('/nodes')).status, 200);
});

test('bytes that are no request, and heads that are too large, are answered in an envelope', async () => {
  await using managed = await startManaged();
  for (const [bytes, status] of [
    ['\x10\x0c\0\x04MQTT\x04\x02\0\0\0\0', 400],
    [`GET / HTTP/1.1\r\nX: ${'x'.repeat(40_000)}\r\n\r\n`, 431],
  ] as const) {
    const socket = connect(managed.httpPort, '127.0.0.1');
    socket.write(bytes);
    const said = await untilEnd(socket);
    assert.match(said, new RegExp(`^HTTP/1\\.1 ${status} .*\\{"code":${status},`, 's'));
  }
});

test('more connections than allowed are closed at once', async () => {
  await using managed = await startManaged({
    settings: { 'management.listener.http.max_clients': '2' },
  });
  const open = [0, 1].map(() => connect(managed.httpPort, '127.0.0.1'));
  await Promise.all(open.map((socket) => once(socket, 'connect')));
  assert.equal(await untilEnd(connect(managed.httpPort, '127.0.0.1')), '');
  for (const socket of open) {
    socket.write('GET /livez HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
    assert.match(await untilEnd(socket), /^HTTP\/1\.1 200 /);
  }
});

test('an address that the rules deny is not served', async () => {
  await using managed = await startManaged({
    settings: {
      'dashboard.listener.http': '127.0.0.1:0',
      'dashboard.listener.http.access.1': 'deny 127.0.0.1',
    },
  });
  const socket = connect(managed.portOf('dashboard'), '127.0.0.1');
  socket.write('GET /livez HTTP/1.1\r\nHost: x\r\n\r\n');
  assert.equal(await untilEnd(socket), '');
  assert.equal((await managed.get('@/livez')).status, 200);
});

test('a node whose management port is in use does not start, and leaves nothing open', async () => {
  await using first = await startManaged();
  const taken = `127.0.0.1:${first.httpPort}`;
  await assert.rejects(
    startManaged({ settings: { 'management.listener.http': taken } }),
    new RegExp(`Cannot listen on "${taken}" for management\\.listener\\.http: it is in use`),
  );
  await assert.rejects(
    startManaged({ settings: { 'dashboard.listener.http': taken } }),
    new RegExp(`Cannot listen on "${taken}" for dashboard\\.listener\\.http: it is in use`),
  );
  await using again = await startManaged();
  assert.equal((await again.get('/nodes')).status, 200);
});

test('several requests go over one connection, also all at once', async () => {
  await using managed = await startManaged();
  const socket = connect(managed.httpPort, '127.0.0.1');
  const one = `GET /api/v3/nodes HTTP/1.1\r\nHost: x\r\nAuthorization: ${basic(managed.auth)}\r\n`;
  socket.write(`${one}\r\n${one}\r\n${one}Connection: close\r\n\r\n`);
  const said = await untilEnd(socket);
  assert.equal(said.match(/HTTP\/1\.1 200 OK/g)?.length, 3);
});
