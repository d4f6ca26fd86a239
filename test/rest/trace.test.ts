import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';
import { RawClient } from '../helpers/raw-client.ts';
import { type Managed, startManaged } from '../helpers/managed.ts';
import { Watch } from '../helpers/watch.ts';
import { recordsOf } from './trace-fixture.ts';

interface Row {
  readonly name: string;
  readonly client_id?: string;
  readonly topic?: string;
  readonly file: string;
  readonly level: string;
  readonly status: string;
  readonly lines: number;
}

const settings = { allow_anonymous: 'true', acl_nomatch: 'allow' };

const rows = async (managed: Managed): Promise<Row[]> =>
  (await managed.get('/traces')).body.data as Row[];

async function connect(managed: Managed, clientId: string): Promise<RawClient> {
  const client = await RawClient.open(managed.mqttPort);
  assert.equal((await client.connect({ clientId })).reasonCode, 0);
  return client;
}

/** What a command prints, and its exit code. */
async function ctl(managed: Managed, line: string): Promise<readonly [string, number]> {
  const { stdout, code } = await managed.ctl(...line.split(' '));
  return [stdout.trimEnd(), code];
}

/** Reads server-sent events with curl until it is stopped. */
class Tail implements AsyncDisposable {
  readonly #curl;
  readonly #watch = new Watch();
  #text = '';

  constructor(managed: Managed, name: string) {
    const url = `${managed.url}/traces/${name}/tail`;
    this.#curl = spawn('curl', ['-sN', '-u', managed.auth, url]);
    this.#curl.stdout.on('data', (chunk: Buffer) => {
      this.#text += chunk.toString();
      this.#watch.wake();
    });
  }

  until(text: string): Promise<string> {
    const late = (): Error => new Error(`Cannot see ${text} in ${this.#text}`);
    return this.#watch.until(
      () => (this.#text.includes(text) ? this.#text : undefined),
      5000,
      late,
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#curl.exitCode !== null) return;
    const ended = new Promise((resolve) => this.#curl.once('close', resolve));
    this.#curl.kill();
    await ended;
  }
}

for (const workers of [0, 2]) {
  test(`a trace is started, listed, read along, stopped and downloaded: ${workers} workers`, async () => {
    await using managed = await startManaged({ workers, settings });
    const started = await managed.post('/traces', {
      client_id: 'c/1',
      file: 'c1.log',
      level: 'info',
    });
    assert.equal(started.body.code, 0, started.text);
    assert.equal((started.body.data as Row).name, 'c1.log');
    await using tail = new Tail(managed, 'c1.log');
    await tail.until(': tail');
    await using client = await connect(managed, 'c/1');
    await client.publish('a/b', 'x', { qos: 1 });
    await tail.until('message.received');
    const [row] = await rows(managed);
    assert.deepEqual(
      [row?.client_id, row?.status, row?.level, row?.file],
      ['c/1', 'running', 'info', join(managed.dir, 'log', 'c1.log')],
    );
    assert.deepEqual(await ctl(managed, 'trace list'), [
      `Trace(client_id=c/1, level=info, destination="${row?.file}")`,
      0,
    ]);
    assert.equal((await managed.delete('/traces/c1.log')).body.code, 0);
    assert.match(await tail.until('event: end'), /event: line\ndata: .*client\.connected.*\n/);
    const file = await managed.get('/traces/c1.log/download');
    assert.equal(file.headers['content-type'], 'text/plain');
    assert.equal(file.text, readFileSync(row?.file ?? '', 'utf8'));
    const events = recordsOf(file.text).map(({ event }) => event);
    assert.deepEqual(events.slice(0, 5), [
      'session.created',
      'client.connected',
      'message.received',
      'message.routed',
      'message.dropped',
    ]);
    assert.equal((await rows(managed))[0]?.status, 'stopped');
    assert.equal((await managed.delete('/traces/c1.log')).body.code, 404);
    assert.equal((await managed.get('/traces/c1.log/tail')).body.code, 404);
  });
}

test('the commands of traces say what they did, in the words of the original', async () => {
  await using managed = await startManaged();
  assert.deepEqual(await ctl(managed, 'trace start client c1 log/c1.log'), [
    'trace client_id c1 successfully',
    0,
  ]);
  assert.deepEqual(await ctl(managed, 'trace start client c1 c2.log'), [
    '[error] trace client_id c1: Cannot trace client "c1": it is traced already',
    1,
  ]);
  assert.deepEqual(await ctl(managed, 'trace start topic t/# t.log error'), [
    'trace topic t/# successfully',
    0,
  ]);
  const dir = join(managed.dir, 'log');
  assert.deepEqual(await ctl(managed, 'trace list'), [
    `Trace(client_id=c1, level=all, destination="${dir}/c1.log")\n` +
      `Trace(topic=t/#, level=error, destination="${dir}/t.log")`,
    0,
  ]);
  assert.deepEqual(await ctl(managed, 'trace stop client c1'), [
    'stop tracing client_id c1 successfully',
    0,
  ]);
  assert.deepEqual(await ctl(managed, 'trace stop topic x'), [
    '[error] stop tracing topic x: not_found',
    1,
  ]);
});

test('a trace writes into no file but its own', async () => {
  await using managed = await startManaged();
  const dir = join(managed.dir, 'log');
  assert.equal((await managed.post('/traces', { client_id: 'a', file: 'a.log' })).body.code, 0);
  writeFileSync(join(dir, 'other.log'), 'precious');
  symlinkSync(join(managed.dir, 'outside'), join(dir, 'link.log'));
  const names = [
    '../x',
    '/tmp/x',
    'log/../../x',
    'a/b',
    '.x',
    'x\0',
    '',
    '..',
    'broker.log',
    'broker.log.1',
  ];
  for (const file of names) {
    const { body } = await managed.post('/traces', { client_id: 'b', file });
    assert.equal(body.code, 108, file);
    assert.match(body.message ?? '', /^Cannot trace into "/);
  }
  for (const file of ['other.log', 'link.log']) {
    assert.equal((await managed.post('/traces', { client_id: 'b', file })).body.code, 102, file);
  }
  assert.equal(existsSync(join(managed.dir, 'outside')), false);
  assert.equal(readFileSync(join(dir, 'other.log'), 'utf8'), 'precious');
  assert.deepEqual(readdirSync(dir).sort(), ['a.log', 'link.log', 'other.log']);
  for (const path of ['other.log', '..%2fdata', '%2e%2e', 'a.log%00']) {
    const { body } = await managed.get(`/traces/${path}/download`);
    assert.equal(body.code, 404, path);
  }
  const same = await managed.post('/traces', { client_id: 'b', file: 'a.log' });
  assert.match(same.body.message ?? '', /another trace does/);
});

test('a trace is refused that says too little, too much, or what there is not', async () => {
  await using managed = await startManaged();
  const refusals: [object, number, RegExp][] = [
    [{}, 107, /client_id/],
    [{ client_id: 'a', topic: 'b' }, 108, /one of them is wanted/],
    [{ topic: 'a/#/b' }, 108, /Cannot trace topic "a\/#\/b"/],
    [{ client_id: '' }, 108, /a client id is wanted/],
    [{ client_id: 'a', level: 'loud' }, 108, /level/],
    [{ client_id: 'a', for: '5' }, 108, /a duration/],
    [{ client_id: 'a', for: '8d' }, 108, /at most 7d/],
  ];
  for (const [wish, code, text] of refusals) {
    const { body } = await managed.post('/traces', wish);
    assert.equal(body.code, code, JSON.stringify(wish));
    assert.match(body.message ?? '', text);
  }
  assert.deepEqual(await rows(managed), []);
});

test('there are at most 50 traces, each with a file of its own', async () => {
  await using managed = await startManaged();
  for (let i = 0; i < 50; i++) {
    assert.equal((await managed.post('/traces', { client_id: `c ${i}` })).body.code, 0);
  }
  const { status, body } = await managed.post('/traces', { client_id: 'one more' });
  assert.deepEqual([status, body.code], [429, 429]);
  assert.equal(new Set((await rows(managed)).map(({ name }) => name)).size, 50);
});

test('at most ten read along with one trace, and who leaves makes room', async () => {
  await using managed = await startManaged();
  await managed.post('/traces', { topic: 't', file: 't.log' });
  await using first = new Tail(managed, 't.log');
  await first.until(': tail');
  const others = Array.from({ length: 9 }, () => new Tail(managed, 't.log'));
  for (const one of others) await one.until(': tail');
  assert.equal((await managed.get('/traces/t.log/tail')).status, 429);
  for (const one of others) await one[Symbol.asyncDispose]();
  // The server learns of it when the connection ends: the next one that is let in shows it.
  for (let tries = 0; ; tries++) {
    await using next = new Tail(managed, 't.log');
    const seen = await Promise.race([next.until(': tail'), next.until('429')]);
    if (seen.includes(': tail')) break;
    assert.ok(tries < 100);
  }
});

test('a flood of a thousand messages is traced whole or counted as lost', async () => {
  await using managed = await startManaged({ workers: 2, settings });
  await managed.post('/traces', { topic: 'flood', file: 'f.log', level: 'info' });
  await using client = await connect(managed, 'c');
  for (let i = 0; i < 1000; i++) client.sendPublish('flood', 'x', { qos: 0 });
  await client.publish('flood', 'last', { qos: 1 });
  await managed.delete('/traces/f.log');
  const records = recordsOf((await managed.get('/traces/f.log/download')).text);
  const lost = records
    .filter(({ event }) => event === 'trace.lost')
    .reduce((sum, { fields }) => sum + Number(fields['lines']), 0);
  const told = records.filter(({ event }) => event.startsWith('message.')).length;
  // Received, routed, dropped for want of subscribers.
  assert.equal(told + lost, 3 * 1001);
});
