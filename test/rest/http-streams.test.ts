import assert from 'node:assert/strict';
import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import test from 'node:test';
import { Type } from 'typebox';
import { type AnyOperation, define } from '#admin/operation';
import { noParams } from '#admin/paging';
import { basic, type Managed, startManaged } from '#test/managed';
import { Watch } from '#test/watch';

const plain = { tag: 'Test', descr: '' };

/** Operations that answer piece by piece, and what became of them. */
class Streams {
  readonly watch = new Watch();
  readonly ended: string[] = [];

  end(name: string): void {
    this.ended.push(name);
    this.watch.wake();
  }

  until(name: string): Promise<true> {
    const look = (): true | undefined => (this.ended.includes(name) ? true : undefined);
    return this.watch.until(look, 10_000, () => new Error(`Cannot see the end of ${name}`));
  }

  readonly operations: AnyOperation[] = [
    define({
      ...plain,
      name: 'events',
      http: { method: 'GET', path: '/test/events', produces: 'text/event-stream' },
      params: Type.Object({ name: Type.String() }),
      run: ({ name }, { signal }) => this.#events(name, signal),
    }),
    define({
      ...plain,
      name: 'file',
      http: { method: 'GET', path: '/test/file', produces: 'text/plain' },
      params: noParams,
      run: () => this.#file(),
    }),
    define({
      ...plain,
      name: 'flood',
      http: { method: 'GET', path: '/test/flood', produces: 'application/octet-stream' },
      params: noParams,
      run: () => this.#flood(),
    }),
    define({
      ...plain,
      name: 'broken',
      http: { method: 'GET', path: '/test/broken', produces: 'text/plain' },
      params: noParams,
      run: () => this.#broken(),
    }),
  ];

  async *#events(name: string, signal: AbortSignal): AsyncGenerator<string> {
    try {
      yield 'data: first\n\n';
      if (!signal.aborted) await once(signal, 'abort');
    } finally {
      this.end(name);
    }
  }

  async *#file(): AsyncGenerator<string | Buffer> {
    yield 'one ';
    yield Buffer.from('two ');
    yield 'ü';
  }

  async *#flood(): AsyncGenerator<Buffer> {
    try {
      for (;;) yield Buffer.alloc(65_536);
    } finally {
      this.end('flood');
    }
  }

  async *#broken(): AsyncGenerator<string> {
    yield 'so far';
    throw new Error('no further');
  }
}

async function open(managed: Managed, path: string): Promise<IncomingMessage> {
  const headers = { authorization: basic(managed.auth) };
  const asked = get(`${managed.url}${path}`, { headers, agent: false });
  const [response] = (await once(asked, 'response')) as [IncomingMessage];
  response.on('error', () => undefined);
  return response;
}

async function startStreams(
  options: Parameters<typeof startManaged>[0] = {},
): Promise<{ managed: Managed; streams: Streams }> {
  const managed = await startManaged(options);
  const streams = new Streams();
  managed.parts.catalogue.add('test', streams.operations);
  return { managed, streams };
}

test('an operation that produces something answers that, piece by piece', async () => {
  const { managed } = await startStreams();
  await using _ = managed;
  const { status, headers, text } = await managed.get('/test/file');
  assert.equal(status, 200);
  assert.equal(headers['content-type'], 'text/plain');
  assert.equal(text, 'one two ü');
  const head = await managed.ask('HEAD', '/test/file', undefined);
  assert.equal(head.headers['content-type'], 'text/plain');
  assert.equal((await managed.get('/test/events')).body.code, 107);
  assert.equal((await managed.get('/test/file', { auth: '' })).status, 401);
});

test('a stream ends when its client goes', async () => {
  const { managed, streams } = await startStreams();
  await using _ = managed;
  const response = await open(managed, '/test/events?name=mine');
  assert.equal(response.headers['content-type'], 'text/event-stream');
  const [first] = (await once(response, 'data')) as [Buffer];
  assert.equal(first.toString(), 'data: first\n\n');
  assert.deepEqual(streams.ended, []);
  response.destroy();
  await streams.until('mine');
});

test('a stream ends when the node stops', async () => {
  const { managed, streams } = await startStreams();
  const response = await open(managed, '/test/events?name=mine');
  await once(response, 'data');
  const ended = once(response, 'close');
  await managed[Symbol.asyncDispose]();
  await ended;
  assert.deepEqual(streams.ended, ['mine']);
});

test('a client that does not read is not written to without end, and loses the connection', async () => {
  const { managed, streams } = await startStreams({
    settings: { 'management.listener.http.send_timeout': '400ms' },
  });
  await using _ = managed;
  const response = await open(managed, '/test/flood');
  response.pause();
  await streams.until('flood');
});

test('a stream that breaks cuts the connection, so that nobody takes it for whole', async () => {
  const { managed } = await startStreams({ expectedErrors: ['operation.failed'] });
  await using _ = managed;
  const response = await open(managed, '/test/broken');
  const { promise, resolve } = Promise.withResolvers<void>();
  response.resume().on('close', resolve);
  await promise;
  assert.equal(response.complete, false);
  assert.ok(managed.logged.some((line) => line.includes('no further')));
});
