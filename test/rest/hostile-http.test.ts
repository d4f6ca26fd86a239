// Requests of somebody who means harm, or of a parser that is not ours: odd targets, odd methods, two
// requests in one, pages of other origins. Law: nobody gets in, nobody gets the answer of another, and
// the node has no fault to log.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import test from 'node:test';
import { basic, type Managed, startManaged } from '#test/managed';

const deadlineMs = 10_000;

/** Everything that a connection says to these bytes until it ends. */
async function saidTo(port: number, bytes: string | Buffer): Promise<string> {
  const socket = connect(port, '127.0.0.1').setEncoding('latin1');
  let said = '';
  socket.on('data', (text: string) => {
    said += text;
  });
  // A reset ends it as well.
  socket.on('error', () => undefined);
  socket.write(bytes);
  await once(socket, 'close', { signal: AbortSignal.timeout(deadlineMs) });
  return said;
}

const head = 'Host: x\r\nConnection: close\r\n';

function authorized({ auth }: Managed): string {
  return `${head}Authorization: ${basic(auth)}\r\n`;
}

test('no spelling of a path lets anybody in, and strangers are not told which paths exist', async () => {
  await using managed = await startManaged();
  for (const target of [
    '/api/v3/nodes',
    '/api/v3/nope',
    '//api///v3//nodes',
    '/%61pi/v3/nodes',
    '/%61pi/v3/nope',
    '/api/v3/%6eodes/',
    '/api/v3/nodes?/livez',
    '/api/v3/connections/%zz',
    'http://x/api/v3/nodes',
    'http://x/api/v3/nope',
    'http://x@livez/api/v3/nope',
    '/metrics',
  ]) {
    for (const method of ['GET', 'HEAD', 'POST']) {
      if (method === 'POST' && target === '/metrics') continue;
      const said = await saidTo(managed.httpPort, `${method} ${target} HTTP/1.1\r\n${head}\r\n`);
      assert.match(said, /^HTTP\/1\.1 401 /, `${method} ${target}`);
    }
  }
  for (const target of ['/livez/../api/v3/nodes', '/API/V3/nodes', '/api/v3;/nodes', '*']) {
    const said = await saidTo(managed.httpPort, `OPTIONS ${target} HTTP/1.1\r\n${head}\r\n`);
    assert.match(said, /^HTTP\/1\.1 404 /, target);
  }
});

test('a target in absolute form means what its path means', async () => {
  await using managed = await startManaged();
  const { httpPort } = managed;
  const probe = await saidTo(httpPort, `GET http://x:1/livez HTTP/1.1\r\n${head}\r\n`);
  assert.match(probe, /^HTTP\/1\.1 200 .*ok$/s);
  const paged = `GET HTTP://x/api/v3/connections?_limit=7 HTTP/1.1\r\n${authorized(managed)}\r\n`;
  assert.match(await saidTo(httpPort, paged), /"limit":7/);
});

test('a request that two parsers could read in two ways is refused', async () => {
  await using managed = await startManaged();
  const post = `POST /api/v3/mqtt/publish HTTP/1.1\r\n${authorized(managed)}`;
  const get = `GET /api/v3/nodes HTTP/1.1\r\n`;
  for (const bytes of [
    `${post}Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /`,
    `${post}Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n`,
    `${post}Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n`,
    `${post}Content-Length: 2\r\nContent-Length: 3\r\n\r\n{} `,
    `${post}Content-Length: +2\r\n\r\n{}`,
    `${post}Transfer-Encoding: chunked\r\n\r\n2\n{}\r\n0\r\n\r\n`,
    `${get}Host: x\r\n folded: 1\r\n\r\n`,
    `${get}Host : x\r\n\r\n`,
    `${get}${head}X: a\0b\r\n\r\n`,
  ]) {
    const said = await saidTo(managed.httpPort, bytes);
    assert.match(said, /^HTTP\/1\.1 400 .*\{"code":400,"message":"Bad Request"\}$/s, bytes);
    assert.equal(said.match(/HTTP\/1\.1/g)?.length, 1, bytes);
  }
});

test('bytes behind a good request are never answered in its place', async () => {
  await using managed = await startManaged();
  const good = `GET /api/v3/nodes HTTP/1.1\r\nHost: x\r\nAuthorization: ${basic(managed.auth)}\r\n\r\n`;
  const said = await saidTo(managed.httpPort, `${good}GARBAGE\r\n\r\n`);
  assert.doesNotMatch(said, /400/);
});

test('bytes behind a stream end it, and do not get into it', async () => {
  await using managed = await startManaged();
  await managed.post('/traces', { client_id: 'c', file: 'c.log' });
  const socket = connect(managed.httpPort, '127.0.0.1').setEncoding('latin1');
  let said = '';
  socket.on('data', (text: string) => {
    said += text;
  });
  socket.on('error', () => undefined);
  socket.write(`GET /api/v3/traces/c.log/tail HTTP/1.1\r\n${authorized(managed)}\r\n`);
  await once(socket, 'data', { signal: AbortSignal.timeout(deadlineMs) });
  socket.write('GARBAGE\r\n\r\n');
  await once(socket, 'close', { signal: AbortSignal.timeout(deadlineMs) });
  assert.match(said, /^HTTP\/1\.1 200 /);
  assert.doesNotMatch(said, /400/);
});

test('what is refused before anybody is asked is refused in an envelope as well', async () => {
  await using managed = await startManaged();
  const post = `POST /api/v3/mqtt/publish HTTP/1.1\r\n${authorized(managed)}`;
  const expected = await saidTo(
    managed.httpPort,
    `${post}Expect: 200-ok\r\nContent-Length: 2\r\n\r\n{}`,
  );
  assert.match(expected, /^HTTP\/1\.1 417 .*\{"code":417,/s);
  const hostless = await saidTo(managed.httpPort, 'GET /api/v3/nodes HTTP/1.1\r\n\r\n');
  assert.match(hostless, /^HTTP\/1\.1 400 .*\{"code":400,/s);
});

test('methods that nobody serves find nothing', async () => {
  await using managed = await startManaged();
  for (const method of ['TRACE', 'OPTIONS', 'PATCH', 'PURGE', 'PROPFIND']) {
    const line = `${method} /api/v3/nodes HTTP/1.1\r\n`;
    const body = 'Content-Length: 2\r\n\r\n{}';
    const known = await saidTo(managed.httpPort, `${line}${authorized(managed)}${body}`);
    assert.match(known, /^HTTP\/1\.1 404 .*\{"code":404,"message":"Not Found"\}$/s, method);
    const stranger = await saidTo(managed.httpPort, `${line}${head}${body}`);
    assert.match(stranger, /^HTTP\/1\.1 401 /, method);
  }
  const tunnel = await saidTo(managed.httpPort, `CONNECT x:80 HTTP/1.1\r\n${head}\r\n`);
  assert.equal(tunnel, '');
});

test('a page of another origin changes nothing, though the browser sends the credentials along', async () => {
  await using managed = await startManaged();
  const publish = (headers: Readonly<Record<string, string>>) =>
    managed.post('/mqtt/publish', { topic: 't' }, { headers });
  const host = `127.0.0.1:${managed.httpPort}`;
  for (const headers of [
    { 'sec-fetch-site': 'cross-site' },
    { 'sec-fetch-site': 'same-site', origin: `http://${host}` },
    { origin: 'http://evil.example', 'content-type': 'text/plain' },
    { origin: `http://127.0.0.1:${managed.httpPort + 1}` },
    { origin: 'null' },
  ]) {
    const { status, body } = await publish(headers);
    assert.equal(status, 403, JSON.stringify(headers));
    assert.equal(body.code, 403);
  }
  for (const headers of [
    {},
    { origin: `http://${host}` },
    { 'sec-fetch-site': 'same-origin', origin: 'https://behind.proxy' },
    { 'sec-fetch-site': 'none' },
  ]) {
    assert.equal((await publish(headers)).body.code, 0, JSON.stringify(headers));
  }
  const link = await managed.get('/nodes', { headers: { 'sec-fetch-site': 'cross-site' } });
  assert.equal(link.status, 200);
});

test('pages at the ends of numbers are empty or refused', async () => {
  await using managed = await startManaged();
  for (const path of ['/connections', '/sessions', '/subscriptions', '/routes', '/banned']) {
    const last = await managed.get(`${path}?_page=9007199254740991&_limit=10000`);
    assert.deepEqual([last.body.code, last.body.data], [0, []], path);
    for (const query of [
      `_page=${'9'.repeat(400)}`,
      '_page=0',
      '_page=-1',
      '_page=1e3',
      '_page=0x1',
      '_page=1.5',
      '_limit=0',
      '_limit=10001',
      '_limit=NaN',
      '_limit=',
    ]) {
      assert.equal((await managed.get(`${path}?${query}`)).body.code, 108, `${path}?${query}`);
    }
  }
});
