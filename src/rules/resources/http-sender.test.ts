import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { type AddressInfo, createServer as createTcpServer } from 'node:net';
import test, { type TestContext } from 'node:test';
import { systemClock } from '#base/clock';
import { HttpSender, type SenderOptions } from './http-sender.ts';
import { isLinkLocal } from './link-local.ts';
import { JobFault } from './resource-type.ts';

function sender(t: TestContext, url: string, own: Partial<SenderOptions> = {}): HttpSender {
  const made = new HttpSender({
    ...{ url, connectTimeoutMs: 2000, requestTimeoutMs: 2000, poolSize: 2 },
    ...{ isLinkLocalDenied: true, clock: systemClock, ...own },
  });
  t.after(() => made.close());
  return made;
}

const post = { method: 'POST', path: '', headers: {}, body: 'x' };

/** What the server was asked for, and over how many connections. */
async function serving(
  t: TestContext,
  status: number,
): Promise<{ url: string; paths: string[]; connections: () => number }> {
  const paths: string[] = [];
  let connections = 0;
  const server = createServer((request, response) => {
    paths.push(request.url ?? '');
    request.resume().on('end', () => response.writeHead(status, { location: '/x' }).end('{}'));
  });
  server.on('connection', () => void connections++);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, paths, connections: () => connections };
}

test('a sender puts paths and queries together with exactly one stroke between them', async (t) => {
  const { url, paths, connections } = await serving(t, 200);
  const cases: readonly (readonly [string, string, string])[] = [
    ['', '', '/'],
    ['/', '', '/'],
    ['/a', '', '/a'],
    ['/a', 'b', '/a/b'],
    ['/a/', '/b', '/a/b'],
    ['', 'b', '/b'],
    ['/a', '?q=1', '/a?q=1'],
    ['/a?k=v', 'b?q=1', '/a/b?k=v&q=1'],
    ['/a?k=v', '', '/a?k=v'],
  ];
  for (const [behind, path, wanted] of cases) {
    const one = sender(t, `${url}${behind}`);
    await one.send({ ...post, path });
    assert.equal(paths.pop(), wanted);
    one.close();
  }
  const before = connections();
  const kept = sender(t, url);
  for (let i = 0; i < 5; i++) await kept.send(post);
  assert.equal(connections() - before, 1);
});

test('a sender tells what passes from what does not', async (t) => {
  for (const [status, isPassing] of [
    [301, false],
    [400, false],
    [401, false],
    [404, false],
    [408, true],
    [429, true],
    [500, true],
    [503, true],
  ] as const) {
    const { url } = await serving(t, status);
    await assert.rejects(sender(t, url).send(post), (error: unknown) => {
      assert.ok(error instanceof JobFault);
      assert.equal(error.message, `The web server answered ${status}`);
      assert.equal(error.isPassing, isPassing);
      return true;
    });
  }
});

test('a sender does not connect to link-local addresses, by whatever name, unless it may', async (t) => {
  for (const host of ['169.254.169.254', '[fe80::1]', '100.100.100.200', '[::ffff:169.254.1.1]']) {
    const one = sender(t, `http://${host}:1/`);
    await assert.rejects(one.reach(), /link-local/, host);
    await assert.rejects(one.send(post), /link-local or that of cloud metadata/, host);
  }
  const near = sender(t, 'http://127.0.0.1:1/', { isLinkLocalDenied: false });
  await assert.rejects(near.send(post), /Cannot reach the web server: connect ECONNREFUSED/);
  await assert.rejects(near.reach(), /Cannot reach the web server: connect ECONNREFUSED/);
  assert.ok(isLinkLocal('169.254.0.1') && !isLinkLocal('127.0.0.1') && !isLinkLocal('localhost'));
});

test('a sender gives up on a server that accepts and says nothing, or ever more', async (t) => {
  const endless = createTcpServer((socket) => {
    socket.on('error', () => undefined);
    socket.once('data', () => {
      const chunk = Buffer.alloc(64 * 1024, 0x20);
      socket.write('HTTP/1.1 200 OK\r\ncontent-length: 1000000000\r\n\r\n');
      const more = (): void => {
        while (!socket.destroyed && socket.write(chunk));
      };
      socket.on('drain', more);
      more();
    });
  });
  const mute = createTcpServer((socket) => void socket.on('error', () => undefined));
  for (const server of [endless, mute]) {
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    t.after(() => server.close());
  }
  const port = (server: typeof mute): number => (server.address() as AddressInfo).port;
  // It has said that it is fine: what follows is not read.
  await sender(t, `http://127.0.0.1:${port(endless)}`).send(post);
  const silent = sender(t, `http://127.0.0.1:${port(mute)}`, { requestTimeoutMs: 50 });
  await assert.rejects(silent.send(post), /did not answer within 50 ms/);
  await silent.reach();
  silent.close();
});

test('a connection that is handed on is connected, however long the answer takes', async (t) => {
  let asked = 0;
  const server = createServer((request, response) => {
    request.resume();
    // The second comes over the connection of the first; its connecting would be over by then.
    if (++asked === 1) response.end();
    else systemClock.setTimer(200, () => response.end());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => server.close());
  const { port } = server.address() as AddressInfo;
  const own = { connectTimeoutMs: 50, poolSize: 1 };
  const one = sender(t, `http://127.0.0.1:${port}`, own);
  await Promise.all([one.send(post), one.send(post)]);
  assert.equal(asked, 2);
});
