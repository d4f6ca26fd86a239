import assert from 'node:assert/strict';
import test from 'node:test';
import type { ClientInfo } from '#hooks/table';
import { messageOf, WorkerRules } from './rule-set-fixture.ts';

const client = { clientId: 'c', username: 'u', address: '::1', port: 1 } as ClientInfo;

test('of a thousand rules on a thousand topics a message meets one', () => {
  for (const sql of [
    (i: number) => `SELECT * FROM "t/${i}"`,
    (i: number) => `SELECT * FROM "message.publish" WHERE topic = 't/${i}'`,
    (i: number) => `SELECT * FROM "#" WHERE qos = 0 and topic =~ 't/${i}/#'`,
  ]) {
    const worker = new WorkerRules();
    worker.apply(Array.from({ length: 1000 }, (_, i) => worker.order(`r${i}`, sql(i))));
    worker.publish('t/500', 'x');
    assert.equal(worker.shown, 1);
    assert.equal(worker.matched('r500'), 1);
    worker.publish('u/1', 'x');
    assert.equal(worker.shown, 1);
    assert.equal(worker.counted.length, 1);
  }
});

test('of a thousand rules about deliveries on a thousand topics one is asked', () => {
  const worker = new WorkerRules();
  const sql = (i: number): string => `SELECT * FROM "message.deliver" WHERE topic = 't/${i}'`;
  const rules = Array.from({ length: 1000 }, (_, i) => worker.order(`r${i}`, sql(i)));
  worker.apply(rules);
  const message = messageOf('t/7', 'x');
  let read = 0;
  const counting = {
    ...message,
    get topic() {
      read++;
      return 't/7';
    },
  };
  worker.hooks.tell('message.sent', client, counting, 1, false);
  assert.equal(worker.matched('r7'), 1);
  // For the index, for the condition and for `*`.
  assert.ok(read < 10, `The topic was read ${read} times`);
});

test('a hook is set while a rule is about its event, and all change at once', () => {
  const worker = new WorkerRules();
  const has = (): readonly string[] =>
    (
      [
        'message.sent',
        'message.acked',
        'message.dropped',
        'client.connected',
        'message.publish',
      ] as const
    ).filter((hook) => worker.hooks.has(hook));
  const acked = worker.order('a', `SELECT * FROM "message.acked", "message.publish"`);
  const connected = worker.order('c', `SELECT * FROM "client.connack"`);
  worker.apply([worker.order('p', `SELECT * FROM "message.publish"`)]);
  assert.deepEqual([has(), worker.hookings], [[], 0]);
  worker.apply([acked, connected]);
  assert.deepEqual([has(), worker.hookings], [['message.acked', 'client.connected'], 1]);
  worker.apply([acked, connected, worker.order('b', `SELECT * FROM "message.acked"`)]);
  assert.equal(worker.hookings, 1);
  worker.apply([connected]);
  assert.deepEqual([has(), worker.watchedFilters], [['client.connected'], 0]);
  worker.apply([]);
  assert.deepEqual([has(), worker.set.size], [[], 0]);
});

test('rules that are the same stay untouched, others are made anew', () => {
  const worker = new WorkerRules();
  const stays = worker.order('a', `SELECT * FROM "a"`);
  worker.apply([stays, worker.order('b', `SELECT * FROM "a"`)]);
  worker.apply([stays, worker.order('b', `SELECT * FROM "b"`)]);
  worker.publish('a', 'x');
  worker.publish('b', 'x');
  worker.publish('b', 'x');
  assert.deepEqual([worker.matched('a'), worker.matched('b')], [1, 2]);
});

test('a message is decoded once, whatever number of rules look into it', () => {
  const worker = new WorkerRules();
  const sql = `SELECT payload.a as a FROM "t" WHERE a = 1`;
  worker.apply(['a', 'b', 'c'].map((id) => worker.order(id, sql)));
  let decoded = 0;
  const bytes = Buffer.from('{"a":1}');
  worker.publish('t', '', {
    get payload() {
      decoded++;
      return bytes;
    },
  });
  assert.equal(decoded, 1);
  assert.deepEqual(
    ['a', 'b', 'c'].map((id) => worker.matched(id)),
    [1, 1, 1],
  );
});

test('a rule that is gone counts nothing of what is still under way', async () => {
  const worker = new WorkerRules();
  const { promise, resolve } = Promise.withResolvers<void>();
  worker.onPublish = () => promise;
  const action = worker.action('x', 'republish', republished('out'));
  worker.apply([worker.order('a', `SELECT * FROM "t"`, { actions: [action] })]);
  worker.publish('t', 'x');
  worker.apply([]);
  resolve();
  await promise;
  await new Promise(setImmediate);
  assert.equal(worker.pool.value(action.successColumn), 0);
  assert.deepEqual(worker.counted, ['rules.matched']);
});

test('what is under way is counted when its rule was changed or disabled meanwhile, until it is gone', async () => {
  const worker = new WorkerRules();
  const waiting: (() => void)[] = [];
  worker.onPublish = () => new Promise<void>((resolve) => waiting.push(resolve));
  const action = worker.action('x', 'republish', republished('out'));
  const order = worker.order('a', `SELECT * FROM "t"`, { actions: [action] });
  const { matchedColumn } = order;
  const columns = [matchedColumn, action.successColumn, action.failedColumn];
  const settle = async (): Promise<number> => {
    waiting.shift()?.();
    await new Promise(setImmediate);
    return worker.pool.value(action.successColumn);
  };
  worker.apply([order]);
  for (let i = 0; i < 4; i++) worker.publish('t', 'x');
  worker.apply([worker.order('a', `SELECT * FROM "t/2"`, { actions: [action], matchedColumn })]);
  assert.equal(await settle(), 1);
  worker.apply([], false, columns);
  assert.equal(await settle(), 2);
  worker.apply([]);
  assert.equal(await settle(), 2);
  // Somebody else has the column now.
  worker.apply([worker.order('b', `SELECT * FROM "t"`, { actions: [action], matchedColumn })]);
  assert.equal(await settle(), 2);
});

test('republish fails for a topic with half a character', async () => {
  const worker = new WorkerRules();
  const action = worker.action('x', 'republish', republished('out/${t}'));
  worker.apply([worker.order('a', `SELECT payload.t AS t FROM "t"`, { actions: [action] })]);
  worker.publish('t', String.raw`{"t":"\ud83d"}`);
  worker.publish('t', String.raw`{"t":"\ud83d\ude00"}`);
  await new Promise(setImmediate);
  assert.deepEqual(
    worker.published.map(({ topic }) => topic),
    ['out/😀'],
  );
  assert.equal(worker.pool.value(action.failedColumn), 1);
});

test('how much republish has under way is bounded in bytes', async () => {
  const worker = new WorkerRules();
  worker.onPublish = () => new Promise(() => undefined);
  const action = worker.action('x', 'republish', republished('out'));
  const rawsql = `FOREACH payload.items AS i DO i, payload FROM "t"`;
  worker.apply([worker.order('a', rawsql, { actions: [action] })]);
  const items = JSON.stringify(Array(300).fill(0));
  for (let i = 0; i < 3; i++)
    worker.publish('t', `{"items":${items},"x":"${'x'.repeat(200_000)}"}`);
  await new Promise(setImmediate);
  const bytes = worker.published.reduce((sum, { payload }) => sum + payload.length, 0);
  assert.ok(bytes > 60_000_000 && bytes < 70_000_000, `${bytes}`);
  assert.ok(worker.pool.value(action.failedColumn) > 500);
});

test('a rule that cannot be made keeps no other from running', () => {
  const worker = new WorkerRules();
  worker.apply([worker.order('bad', 'SELECT'), worker.order('good', `SELECT * FROM "t"`)]);
  worker.publish('t', 'x');
  assert.equal(worker.matched('good'), 1);
  assert.deepEqual(
    worker.logged.map(({ event }) => event),
    ['rule.not_run'],
  );
});

test('inspect shows what it is given, in the log always, and live while somebody watches', () => {
  const worker = new WorkerRules();
  const action = worker.action('i', 'inspect', { a: 1 });
  const order = worker.order('r', `SELECT payload.x as x FROM "t"`, { actions: [action] });
  worker.apply([order]);
  worker.publish('t', `{"x":"${'y'.repeat(10_000)}"}`);
  assert.equal(worker.sights.length, 0);
  worker.apply([order], true);
  worker.publish('t', '{"x":1}');
  assert.equal(worker.logged.length, 2);
  const [long] = worker.logged;
  assert.ok(JSON.stringify(long).length < 20_000);
  const [sight] = worker.sights;
  assert.deepEqual(sight?.selected, { x: 1 });
  assert.equal(sight?.event['topic'], 't');
  assert.deepEqual([sight?.ruleId, sight?.actionId, sight?.params], ['r', 'i', { a: 1 }]);
});

test('inspect shows so much of one event, however many texts it has', () => {
  const worker = new WorkerRules();
  const actions = [worker.action('i', 'inspect')];
  worker.apply(
    [worker.order('r', `SELECT payload AS p, payload.a AS a FROM "t"`, { actions })],
    true,
  );
  const long = Object.fromEntries(
    Array.from({ length: 150 }, (_, i) => [`k${i}`, 'x'.repeat(4000)]),
  );
  worker.publish('t', JSON.stringify({ a: long }));
  const [sight] = worker.sights;
  assert.ok(sight !== undefined);
  const { a } = sight.selected as { readonly a: Readonly<Record<string, string>> };
  assert.equal(a['k3'], 'x'.repeat(4000));
  assert.deepEqual([a['…'], a['k149']], ['…', undefined]);
  assert.ok(JSON.stringify(sight).length < 150_000);
});

test('inspect shows so much of a rule in a second, and then how much it left out', () => {
  const worker = new WorkerRules();
  const twice = [worker.action('i', 'inspect'), worker.action('j', 'inspect')];
  const flood = worker.order('flood', `FOREACH payload.items AS i FROM "t"`, { actions: twice });
  const calm = worker.order('calm', `SELECT qos FROM "t"`, {
    actions: [worker.action('k', 'inspect')],
  });
  worker.apply([flood, calm], true);
  const linesOf = (rule: string): number =>
    worker.logged.filter(
      ({ event, fields }) => event === 'rule.inspect' && Reflect.get(fields, 'rule') === rule,
    ).length;
  const said = (): object[] =>
    worker.logged
      .filter(({ event }) => event === 'rule.inspect_left_out')
      .map(({ fields }) => fields);
  worker.publish('t', `{"items":[${Array(5000).fill(1).join()}]}`);
  assert.deepEqual([linesOf('flood'), linesOf('calm'), worker.sights.length], [100, 1, 101]);
  worker.clock.advance(999);
  worker.publish('t', '{"items":[1]}');
  assert.deepEqual([linesOf('flood'), linesOf('calm'), said()], [100, 2, []]);
  worker.clock.advance(1);
  const lost = 10_000 - 100 + 2;
  assert.deepEqual(said(), [{ rule: 'flood', lost }]);
  assert.deepEqual(worker.losses, [{ ruleId: 'flood', lost }]);
  worker.publish('t', '{"items":[1]}');
  assert.equal(linesOf('flood'), 102);
  worker.clock.advance(1000);
  assert.deepEqual([said().length, worker.losses.length, worker.clock.timerCount], [1, 1, 0]);
  // Left out of sight they are run all the same.
  assert.equal(worker.pool.value(twice[1]?.successColumn ?? -1), 5002);
});

test('$SYS is passed over, published or dropped, where it is to be', () => {
  for (const isIgnored of [true, false]) {
    const worker = new WorkerRules(isIgnored);
    const sql = `SELECT * FROM "message.publish", "message.dropped", "message.deliver"`;
    worker.apply([worker.order('r', sql)]);
    worker.publish('$SYS/x', 'x');
    worker.hooks.tell('message.dropped', messageOf('$SYS/x', 'x'), 'expired', undefined);
    assert.equal(worker.matched('r'), isIgnored ? 0 : 2);
    worker.hooks.tell('message.sent', client, messageOf('$SYS/x', 'x'), 0, false);
    assert.equal(worker.matched('r'), isIgnored ? 1 : 3);
  }
});

test('republish fills in its templates, takes after the source where it is told to, and counts hops', async () => {
  const worker = new WorkerRules();
  const action = worker.action('act', 'republish', {
    ...{ target_topic: 'to/${id}', target_qos: -1, target_retain: -1 },
    payload_tmpl: '{"v": ${v}}',
  });
  const sql = `SELECT payload.v as v, client_id as id FROM "t", "client.connected"`;
  worker.apply([worker.order('r', sql, { actions: [action] })]);
  worker.publish('t', '{"v":1}', { qos: 2, retain: true, hops: 3 });
  worker.hooks.tell('client.connected', client, 0);
  assert.deepEqual(worker.published, [
    { topic: 'to/c', payload: '{"v": 1}', qos: 2, retain: true, clientId: 'act', hops: 4 },
    { topic: 'to/c', payload: '{"v": null}', qos: 0, retain: false, clientId: 'act', hops: 1 },
  ]);
});

const refused: readonly (readonly [string, object, string, RegExp])[] = [
  ['a topic with a missing part', republished('to/${none}'), 't', /\$\{none\} of the target topic/],
  ['a topic that is none', republished('${payload}'), 't', /wildcard/],
  ['a topic of the broker', republished('$SYS/x'), 't', /only the broker itself/],
];

for (const [what, params, topic, message] of refused) {
  test(`republish fails for ${what}`, async () => {
    const worker = new WorkerRules();
    const action = worker.action('a', 'republish', params);
    worker.apply([worker.order('r', `SELECT payload FROM "t"`, { actions: [action] })]);
    worker.publish(topic, 'a/#');
    await new Promise(setImmediate);
    assert.equal(worker.pool.value(action.failedColumn), 1);
    assert.equal(worker.published.length, 0);
    assert.match(JSON.stringify(worker.logged), message);
  });
}

function republished(topic: string): Readonly<Record<string, unknown>> {
  return { target_topic: topic, target_qos: 0, target_retain: 0, payload_tmpl: '${payload}' };
}
