import assert from 'node:assert/strict';
import test from 'node:test';
import type { ClientInfo, MessageView } from '#hooks/table';
import { type EventDefinition, eventNamed, events, eventView, TableRecord } from './events.ts';
import { Happening } from './happening.ts';
import { prepareStatement } from './prepare-statement.ts';
import { testSql } from './sql-test.ts';

/** As the interface has them, besides client_id, username and event. */
const inTheInterface: Readonly<Record<string, string>> = {
  'message.publish': 'id topic payload peername qos timestamp',
  'message.deliver': 'id topic payload peername qos timestamp auth_result mountpoint',
  'message.acked': 'id topic payload peername qos timestamp',
  'message.dropped': 'id topic payload peername qos timestamp node reason',
  'client.connected':
    'auth_result clean_start connack connected_at is_bridge keepalive mountpoint peername proto_ver',
  'client.disconnected': 'auth_result mountpoint peername reason_code',
  'client.subscribe': 'auth_result mountpoint peername topic_filters topic qos',
  'client.unsubscribe': 'auth_result mountpoint peername topic_filters topic qos',
  'session.subscribed': 'topic qos nl rap rh timestamp node',
  'session.unsubscribed': 'topic timestamp node',
  'client.connack': 'reason_code connack keepalive proto_ver',
};

test('the events are those of the interface, in its order, and ours behind them', () => {
  assert.deepEqual(
    events.map(({ event }) => event),
    Object.keys(inTheInterface),
  );
});

for (const definition of events) {
  const { event } = definition;
  test(`${event} has every column of the interface once`, () => {
    const { columns } = eventView(definition);
    assert.equal(new Set(columns).size, columns.length);
    const wanted = ['client_id', 'username', 'event', ...(inTheInterface[event] ?? '').split(' ')];
    assert.deepEqual(
      wanted.filter((name) => !columns.includes(name)),
      [],
    );
    const names = definition.columns.map(({ name }) => name);
    assert.equal(new Set(names).size, names.length);
  });

  test(`${event} has an example that can be used, and is true of its own test columns`, () => {
    const { sql_example: rawsql, test_columns: ctx } = eventView(definition);
    assert.deepEqual(prepareStatement(rawsql).events, [event]);
    const output = testSql({ rawsql, ctx }, { nodeName: 'n', nowMs: 1 });
    assert.ok(Object.keys(output).length > 0);
  });
}

function message(payload: Buffer): MessageView & { decoded: number } {
  return {
    ...{ id: '00abc0', topic: 't', qos: 1, retain: true, clientId: 'c', username: undefined },
    ...{ timestampMs: 5, address: '::1', port: 7, hops: 2 },
    properties: {
      contentType: 'x',
      userProperties: [
        ['__proto__', 'p'],
        ['k', 'v'],
      ],
    },
    decoded: 0,
    get payload() {
      this.decoded++;
      return payload;
    },
  };
}

function recordOf(event: string, view?: MessageView, client?: ClientInfo): TableRecord {
  return new TableRecord(
    eventNamed(event) as EventDefinition,
    new Happening('node', 9, view, client, { reason: 'expired', receiver: 'r' }),
  );
}

test('a payload is decoded when somebody asks, once, and parsed once', () => {
  const view = message(Buffer.from('{"a":1}'));
  const record = recordOf('message.publish', view);
  assert.equal(record.get('topic'), 't');
  assert.equal(record.get('qos'), 1);
  assert.equal(view.decoded, 0);
  const json = record.json();
  assert.deepEqual(json, { a: 1 });
  assert.equal(record.json(), json);
  assert.equal(record.get('payload'), '{"a":1}');
  record.columns();
  assert.equal(view.decoded, 1);
});

test('a payload that is no UTF-8 is bytes, and no JSON', () => {
  const record = recordOf('message.publish', message(Buffer.from([0xff])));
  assert.deepEqual(record.get('payload'), Buffer.from([0xff]));
  assert.equal(record.json(), undefined);
});

test('* has what the interface lists and a little more; other names are there for who asks', () => {
  const record = recordOf('message.dropped', message(Buffer.from('x')));
  assert.deepEqual(record.columns(), {
    ...{ event: 'message.dropped', client_id: 'c', id: 'ABC0', payload: 'x', qos: 1, timestamp: 5 },
    ...{ topic: 't', node: 'node', retain: 1, peername: '::1:7', reason: 'expired' },
    to_client_id: 'r',
  });
  assert.equal(record.get('clientid'), 'c');
  assert.equal(record.get('peerhost'), '::1');
  assert.deepEqual(record.get('flags'), { retain: true });
  const properties = record.get('pub_props') as Record<string, Record<string, unknown>>;
  assert.equal(properties['Content-Type'], 'x');
  assert.deepEqual(Object.keys(properties['User-Property'] ?? {}), ['__proto__', 'k']);
  for (const name of ['nothing', 'constructor', '__proto__', 'toString']) {
    assert.equal(record.get(name), undefined);
  }
  assert.equal(record.hops, 2);
});
