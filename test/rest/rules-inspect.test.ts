import assert from 'node:assert/strict';
import test from 'node:test';
import { callNode } from '../../src/cli/ctl-call.ts';
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
