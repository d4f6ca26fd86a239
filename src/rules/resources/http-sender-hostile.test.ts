// Web servers that mean harm, or know no better: every request ends, and the next one has its turn.

import assert from 'node:assert/strict';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import test, { type TestContext } from 'node:test';
import { systemClock } from '#base/clock';
import { HttpSender } from './http-sender.ts';
import { JobFault } from './resource-type.ts';

/** A server that answers by its own bytes; a sender with one connection. */
async function against(t: TestContext, answer: (socket: Socket) => void): Promise<HttpSender> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.on('data', () => answer(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const sender = new HttpSender({
    ...{ url: `http://127.0.0.1:${port}`, poolSize: 1, isLinkLocalDenied: true },
    ...{ connectTimeoutMs: 5000, requestTimeoutMs: 2000, clock: systemClock },
  });
  t.after(() => {
    sender.close();
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return sender;
}

const wanted = { method: 'POST', path: '', headers: { 'content-length': '1' }, body: 'x' };
const endless = 'x-a: ' + 'y'.repeat(1000) + '\r\n';

const refused: Readonly<Record<string, readonly [answer: string, fault: RegExp]>> = {
  'a status below all': ['HTTP/1.1 000 OK\r\ncontent-length: 0\r\n\r\n', /answered 0/],
  'a status above all': ['HTTP/1.1 600 OK\r\ncontent-length: 0\r\n\r\n', /answered 600/],
  'headers without end': [`HTTP/1.1 200 OK\r\n${endless.repeat(100)}`, /overflow/],
  'another protocol': [
    'HTTP/1.1 101 X\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n',
    /closed the connection/,
  ],
  'a redirection': [
    'HTTP/1.1 307 X\r\nlocation: http://169.254.169.254/\r\ncontent-length: 0\r\n\r\n',
    /answered 307/,
  ],
  'two lengths': [
    'HTTP/1.1 200 OK\r\ncontent-length: 0\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n',
    /Transfer-Encoding/,
  ],
};

for (const [what, [answer, fault]] of Object.entries(refused)) {
  test(`a sender takes ${what} for a refusal`, async (t) => {
    const sender = await against(t, (socket) => void socket.write(answer));
    for (let i = 0; i < 2; i++) {
      await assert.rejects(sender.send(wanted), (error) => {
        assert.ok(error instanceof JobFault);
        assert.match(error.message, fault);
        return true;
      });
    }
  });
}

test('an answer whose body never ends keeps no request behind it from being answered', async (t) => {
  const answer = 'HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nabc';
  const sender = await against(t, (socket) => void socket.write(answer));
  for (let i = 0; i < 3; i++) await sender.send(wanted);
});
