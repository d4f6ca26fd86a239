// Against a real server that behaves badly in every way that matters.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import { createServer as createTls } from 'node:https';
import type { AddressInfo } from 'node:net';
import test from 'node:test';
import { fetchText } from './fetch-text.ts';
import { selfSigned, type TlsPair } from './token-fixture.ts';

interface Served extends AsyncDisposable {
  readonly url: string;
}

async function serve(listener: RequestListener, tls?: TlsPair): Promise<Served> {
  const made: Server = tls === undefined ? createServer(listener) : createTls(tls, listener);
  const server = made.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `${tls === undefined ? 'http' : 'https'}://127.0.0.1:${port}/jwks`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

interface More {
  readonly signal?: AbortSignal;
  readonly timeoutMs?: number;
  readonly ca?: string;
}

function fetchFrom(url: string, more: More = {}): Promise<string> {
  const { signal = new AbortController().signal, timeoutMs = 20_000, ca } = more;
  return fetchText(url, { signal, timeoutMs, bytesMax: 1000, ca });
}

test('fetchText gives the body, up to the bound', async () => {
  await using server = await serve((_, answer) => void answer.end('x'.repeat(1000)));
  assert.equal((await fetchFrom(server.url)).length, 1000);
});

test('fetchText gives up on a body that is too long, however it comes', async () => {
  await using whole = await serve((_, answer) => void answer.end('x'.repeat(1001)));
  await assert.rejects(fetchFrom(whole.url), /more than 1000 bytes/);
  await using endless = await serve((_, answer) => {
    const more = setInterval(() => answer.write('x'.repeat(100)), 1);
    answer.on('close', () => clearInterval(more));
  });
  await assert.rejects(fetchFrom(endless.url), /more than 1000 bytes/);
});

test('fetchText does not follow a redirect, and takes no other status', async () => {
  let asked = 0;
  await using server = await serve((request, answer) => {
    asked++;
    const status = Number(new URL(request.url ?? '', 'http://x').searchParams.get('status'));
    answer.writeHead(status, { location: '/elsewhere?status=200' }).end('{}');
  });
  for (const status of [201, 204, 301, 302, 307, 401, 404, 500]) {
    await assert.rejects(
      fetchFrom(`${server.url}?status=${status}`),
      new RegExp(`found status ${status}, want 200`),
    );
  }
  assert.equal(asked, 8);
});

test('fetchText waits no longer than it is told, for the beginning and for the end', async () => {
  await using silent = await serve(() => {});
  await using slow = await serve((_, answer) => void answer.write('{'));
  for (const { url } of [silent, slow]) {
    await assert.rejects(fetchFrom(url, { timeoutMs: 50 }), /no answer within 50 ms/);
  }
});

test('fetchText ends when it is called off, and when the server is not there or breaks off', async () => {
  await using silent = await serve(() => {});
  const controller = new AbortController();
  const asked = fetchFrom(silent.url, { signal: controller.signal });
  controller.abort();
  await assert.rejects(asked, { name: 'AbortError' });
  await using broken = await serve((_, answer) => {
    answer.writeHead(200, { 'content-length': '100' });
    answer.write('{', () => answer.destroy());
  });
  await assert.rejects(fetchFrom(broken.url));
  await assert.rejects(fetchFrom('http://127.0.0.1:1/'), /ECONNREFUSED/);
});

test('fetchText believes an https server that its authorities vouch for, and no other', async () => {
  const [tls, other] = [selfSigned(), selfSigned()];
  await using server = await serve((_, answer) => void answer.end('{}'), tls);
  assert.equal(await fetchFrom(server.url, { ca: tls.cert }), '{}');
  await assert.rejects(fetchFrom(server.url, { ca: other.cert }), /certificate/);
  await assert.rejects(fetchFrom(server.url), /certificate/);
});
