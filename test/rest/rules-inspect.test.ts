import assert from 'node:assert/strict';
import { connect as connectSocket } from 'node:net';
import test from 'node:test';
import { callNode } from '../../src/cli/ctl-call.ts';
import { basic, startManaged } from '#test/managed';
import { eventually } from '#test/watch';
import { connect, EventStream, startRuled } from './rules-fixture.ts';

const inspect = [{ name: 'inspect', params: { a: 1 } }];

interface Sight {
  readonly rule_id: string;
  readonly action_id: string;
  readonly timestamp: number;
  readonly selected: Readonly<Record<string, unknown>>;
  readonly event: Readonly<Record<string, unknown>>;
  readonly params: Readonly<Record<string, unknown>>;
}

for (const workers of [0, 2]) {
  test(`inspect is followed live over server-sent events, with ${workers} workers`, async () => {
    await using managed = await startRuled(workers);
    const rule = (id: string, topic: string): Promise<unknown> =>
      managed.post('/rules', {
        id,
        rawsql: `SELECT payload.x AS x FROM "${topic}"`,
        actions: inspect,
      });
    await rule('rule:a', 'a');
    await rule('rule:b', 'b');
    await using all = await EventStream.open(managed, '/rules/inspect');
    await using onlyB = await EventStream.open(managed, '/rules/rule:b/inspect');
    assert.equal(all.type, 'text/event-stream');
    for (const stream of [all, onlyB]) {
      await stream.until((text) => (text.startsWith(': \n\n') ? true : undefined));
    }
    const client = await connect(managed, 'c1');
    for (const topic of ['a', 'b']) await client.publishAsync(topic, '{"x":1}', { qos: 1 });
    await all.until(() => (all.dataOf('inspect').length === 2 ? true : undefined));
    await onlyB.until(() => (onlyB.dataOf('inspect').length === 1 ? true : undefined));
    const [sight] = onlyB.dataOf('inspect') as Sight[];
    assert.equal(sight?.rule_id, 'rule:b');
    assert.deepEqual(sight.selected, { x: 1 });
    assert.equal(sight.event['topic'], 'b');
    assert.equal(sight.event['client_id'], 'c1');
    assert.match(sight.action_id, /^inspect_/);
    assert.equal(sight.params['a'], 1);
    await client.endAsync();
  });
}

for (const workers of [0, 2]) {
  test(`whoever follows inspect is told how many results were not shown, with ${workers} workers`, async () => {
    await using managed = await startRuled(workers);
    const rawsql = 'FOREACH payload.list AS one FROM "a"';
    await managed.post('/rules', { id: 'rule:a', rawsql, actions: inspect });
    await using stream = await EventStream.open(managed, '/rules/rule:a/inspect');
    await stream.until((text) => (text.startsWith(': \n\n') ? true : undefined));
    const client = await connect(managed, 'c1');
    const list = Array(5000).fill(1).join();
    await client.publishAsync('a', `{"list":[${list}]}`, { qos: 1 });
    const lost = (): number =>
      stream.dataOf('lost').reduce<number>((sum, count) => sum + Number(count), 0);
    await stream.until(() =>
      stream.dataOf('inspect').length + lost() === 5000 ? true : undefined,
    );
    assert.ok(stream.dataOf('inspect').length <= 100);
    await client.endAsync();
  });
}

test('whoever follows inspect and never reads is let go, and leaves room for others', async () => {
  await using managed = await startManaged({
    settings: {
      ...{ allow_anonymous: 'true', acl_nomatch: 'allow' },
      'plugins.loaded': 'broker_management,broker_rule_engine',
      'management.listener.http.send_timeout': '200ms',
    },
  });
  const rawsql = 'SELECT payload.long AS long FROM "a"';
  await managed.post('/rules', { id: 'rule:a', rawsql, actions: inspect });
  await managed.post('/rules', { id: 'rule:b', rawsql: 'SELECT * FROM "b"', actions: inspect });
  await using others = new AsyncDisposableStack();
  for (let i = 0; i < 15; i++) {
    const other = others.use(await EventStream.open(managed, '/rules/rule:b/inspect'));
    await other.until((text) => (text === '' ? undefined : true));
  }
  const { hostname, port, pathname } = new URL(managed.url);
  const deaf = connectSocket(Number(port), hostname);
  deaf.on('error', () => undefined);
  const path = `${pathname}/rules/rule:a/inspect`;
  deaf.write(
    `GET ${path} HTTP/1.1\r\nhost: ${hostname}\r\nauthorization: ${basic(managed.auth)}\r\n\r\n`,
  );
  await new Promise((resolve) => deaf.once('readable', resolve));
  assert.equal((await managed.get('/rules/inspect')).status, 429);
  const client = await connect(managed, 'c1');
  const long = JSON.stringify({ long: Array(20).fill('x'.repeat(4000)) });
  await eventually(async () => {
    await Promise.all(Array.from({ length: 20 }, () => client.publishAsync('a', long, { qos: 1 })));
    const another = await EventStream.open(managed, '/rules/rule:b/inspect');
    await another[Symbol.asyncDispose]();
    return another.type === 'text/event-stream';
  });
  deaf.destroy();
  await client.endAsync();
});

test('inspect of a rule that is not there is code 404', async () => {
  await using managed = await startRuled();
  const answer = await managed.get('/rules/rule:none/inspect');
  assert.deepEqual(answer.body, { code: 404, message: 'Not Found' });
});

test('so many follow inspect and no more, and whoever goes leaves room', async () => {
  await using managed = await startRuled();
  const streams: EventStream[] = [];
  const open = async (): Promise<EventStream> => {
    const stream = await EventStream.open(managed, '/rules/inspect');
    await stream.until((text) => (text === '' ? undefined : true));
    return stream;
  };
  for (let i = 0; i < 16; i++) streams.push(await open());
  const refused = await managed.get('/rules/inspect');
  assert.equal(refused.status, 429, refused.text);
  await streams.pop()?.[Symbol.asyncDispose]();
  for (;;) {
    const again = await EventStream.open(managed, '/rules/inspect');
    streams.push(again);
    if (again.type === 'text/event-stream') break;
  }
  for (const stream of streams) await stream[Symbol.asyncDispose]();
});

test('rules inspect follows on the command line until it is left', async () => {
  await using managed = await startRuled();
  const rawsql = 'SELECT payload FROM "a"';
  await managed.post('/rules', { id: 'rule:a', rawsql, actions: inspect });
  const client = await connect(managed, 'c1');
  const seen = Promise.withResolvers<string>();
  const { dataDir } = managed.parts.settings.node;
  const screen = {
    out: async (text: string) => seen.resolve(text),
    err: async (text: string) => seen.reject(new Error(text)),
  };
  const args = ['rules', 'inspect', 'rule:a', '-s', '1'];
  const ended = callNode(dataDir, { args, json: false }, screen);
  let isSeen = false;
  void seen.promise.then(() => (isSeen = true));
  while (!isSeen) await client.publishAsync('a', '\u001b[31m', { qos: 1 });
  const line = await seen.promise;
  const sight = JSON.parse(line.split('\n')[0] ?? '') as Sight;
  assert.deepEqual(sight.selected, { payload: '\u001b[31m' });
  assert.equal(line.includes('\u001b'), false);
  await client.endAsync();
  assert.deepEqual(await ended, { exitCode: 0 });
});
