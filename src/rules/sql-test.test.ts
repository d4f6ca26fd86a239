import assert from 'node:assert/strict';
import test from 'node:test';
import { RuleFault } from './rule-fault.ts';
import { testSql } from './sql-test.ts';

const place = { nodeName: 'node', nowMs: 1000 };

const rows: readonly (readonly [string, Record<string, unknown>, unknown])[] = [
  [
    'SELECT client_id, username, topic, qos, peername, payload.name as name, timestamp FROM "message.publish"',
    {},
    {
      ...{ client_id: 'c_broker', username: 'u_broker', topic: 't1', qos: 1 },
      ...{ peername: '127.0.0.1:50891', name: 'ha', timestamp: 1000 },
    },
  ],
  [
    `SELECT payload.x as x FROM "t/#" WHERE topic = 't/1'`,
    { topic: 't/1', payload: { x: 2 } },
    { x: 2 },
  ],
  ['SELECT topic FROM "a/+/b/#"', {}, { topic: 'a/t1/b/t1' }],
  ['SELECT topic FROM "#"', {}, { topic: 't1' }],
  ['SELECT keepalive, proto_ver FROM "client.connected"', {}, { keepalive: 60, proto_ver: 4 }],
  [
    'SELECT topic, qos FROM "client.subscribe"',
    { topic_filters: '[{"topic":"x","qos":2}]' },
    { topic: 'x', qos: 2 },
  ],
  ['SELECT topic, qos FROM "client.unsubscribe"', { topic_filters: ['x'] }, { topic: 'x', qos: 0 }],
  ['SELECT topic FROM "client.subscribe"', { topic: 'own' }, { topic: 'own' }],
  ['FOREACH payload.a FROM "t"', { payload: '{"a":[]}' }, []],
  [
    'FOREACH payload.a as i DO i INCASE i > 1 FROM "t"',
    { payload: { a: [1, 2, 3] } },
    [{ i: 2 }, { i: 3 }],
  ],
  ['SELECT clientid FROM "message.publish"', { clientid: 'later' }, { clientid: 'later' }],
  ['SELECT event FROM "message.acked"', { event: 'another' }, { event: 'message.acked' }],
];

for (const [rawsql, ctx, output] of rows) {
  test(`${rawsql} of ${JSON.stringify(ctx)} gives ${JSON.stringify(output)}`, () => {
    assert.deepEqual(testSql({ rawsql, ctx }, place), output);
  });
}

const misses: readonly (readonly [string, Record<string, unknown>, string, RegExp])[] = [
  ['SELECT * FROM "t" WHERE qos = 2', {}, 'no_match', /^SQL Not Match: .*qos/],
  [
    'SELECT * FROM "t"',
    { topic: 'u' },
    'no_match',
    /^SQL Not Match: topic "u" matches none of FROM: t$/,
  ],
  ['SELECT * FROM "client.subscribe"', { topic_filters: 'x' }, 'bad_rule', /"topic_filters"/],
  ['SELECT', {}, 'bad_sql', /line 1/],
];

for (const [rawsql, ctx, kind, message] of misses) {
  test(`${rawsql} of ${JSON.stringify(ctx)} is ${kind}`, () => {
    assert.throws(
      () => testSql({ rawsql, ctx }, place),
      (error) => error instanceof RuleFault && error.kind === kind && message.test(error.message),
    );
  });
}

test('* of a sample has what * has of a message', () => {
  const output = testSql({ rawsql: 'SELECT * FROM "message.publish"' }, place);
  assert.deepEqual(Object.keys(output).toSorted(), [
    ...['client_id', 'event', 'id', 'node', 'payload', 'peername', 'qos', 'retain', 'timestamp'],
    ...['topic', 'username'],
  ]);
});
