// Each event from end to end: a real client makes it happen, a rule selects from it, and what the rule
// selected is published. In one thread, and with two workers.

import assert from 'node:assert/strict';
import test from 'node:test';
import type { Managed } from '#test/managed';
import { Client, makeRule, startRules, toTopic } from './rules-fixture.ts';

interface Row {
  readonly what: string;
  readonly sql: string;
  /** Makes it happen; what it opens it closes. */
  readonly happen: (node: Managed) => Promise<void>;
  readonly selected: readonly Record<string, unknown>[];
}

const publish =
  (topic: string, payload: string | Buffer, options: object = {}) =>
  async (node: Managed): Promise<void> => {
    await using client = await Client.open(node, { clientId: 'pub', username: 'ann' });
    await client.mqtt.publishAsync(topic, payload, { qos: 1, ...options });
  };

const rows: readonly Row[] = [
  {
    what: 'message.publish with its columns',
    sql: `SELECT client_id, username, event, topic, payload, qos, retain, node FROM "message.publish" WHERE topic = 't/a'`,
    happen: publish('t/a', 'hello', { qos: 2 }),
    selected: [
      {
        ...{ client_id: 'pub', username: 'ann', event: 'message.publish', topic: 't/a' },
        ...{ payload: 'hello', qos: 2, retain: 0, node: 'broker@127.0.0.1' },
      },
    ],
  },
  {
    what: 'message.publish of QoS 0, by payload, nested and with an alias',
    sql: `SELECT payload.a.b as b, payload.list[2] as second, b + 1 as c FROM "message.publish" WHERE topic =~ 't/+' and b > 1`,
    happen: async (node) => {
      await using client = await Client.open(node);
      await client.mqtt.publishAsync('t/1', '{"a":{"b":1}}', { qos: 0 });
      await client.mqtt.publishAsync('t/2', '{"a":{"b":7},"list":["x","y"]}', { qos: 0 });
      await client.mqtt.publishAsync('u/2', '{"a":{"b":7}}', { qos: 1 });
    },
    selected: [{ b: 7, second: 'y', c: 8 }],
  },
  {
    what: 'a topic filter in FROM',
    sql: `SELECT topic, qos FROM "t/+/x", "t/1/#"`,
    happen: async (node) => {
      await publish('t/1/x', 'once for both')(node);
      await publish('t/2/y', 'not this')(node);
      await publish('t/2/x', 'this')(node);
    },
    selected: [
      { topic: 't/1/x', qos: 1 },
      { topic: 't/2/x', qos: 1 },
    ],
  },
  {
    what: 'FOREACH, one result for each element that INCASE lets through',
    sql: `FOREACH payload.s as s DO s.v as v, client_id INCASE s.v > 1 FROM "message.publish" WHERE topic = 't/list'`,
    happen: publish('t/list', '{"s":[{"v":1},{"v":2},{"v":3}]}'),
    selected: [
      { v: 2, client_id: 'pub' },
      { v: 3, client_id: 'pub' },
    ],
  },
  {
    what: 'message.deliver to the one who gets it',
    sql: `SELECT client_id, from_clientid, topic, qos, auth_result, mountpoint, event FROM "message.deliver" WHERE topic = 't/d'`,
    happen: async (node) => {
      await using reader = await Client.open(node, { clientId: 'sub' });
      await reader.mqtt.subscribeAsync('t/d', { qos: 1 });
      await publish('t/d', 'x', { qos: 2 })(node);
      await reader.packets(1);
    },
    selected: [
      {
        ...{ client_id: 'sub', from_clientid: 'pub', topic: 't/d', qos: 1 },
        ...{ auth_result: 'success', mountpoint: '', event: 'message.deliver' },
      },
    ],
  },
  {
    what: 'message.acked by the one who acknowledges',
    sql: `SELECT client_id, from_username, topic, payload FROM "$events/message_acked" WHERE topic =~ 't/#'`,
    happen: async (node) => {
      await using reader = await Client.open(node, { clientId: 'sub' });
      await reader.mqtt.subscribeAsync('t/ack', { qos: 2 });
      await publish('t/ack', 'one')(node);
      await publish('t/ack', 'two', { qos: 2 })(node);
      await reader.packets(2);
      // Its own acknowledgements are ahead of this one.
      await reader.mqtt.publishAsync('elsewhere', 'x', { qos: 1 });
    },
    selected: ['one', 'two'].map((payload) => ({
      ...{ client_id: 'sub', from_username: 'ann', topic: 't/ack', payload },
    })),
  },
  {
    what: 'message.dropped with the reason',
    sql: `SELECT client_id, topic, reason, payload FROM "message.dropped" WHERE topic = 't/nobody'`,
    happen: publish('t/nobody', 'lost'),
    selected: [{ client_id: 'pub', topic: 't/nobody', reason: 'no_subscribers', payload: 'lost' }],
  },
  {
    what: 'message.dropped for one client, by the name of later versions',
    sql: `SELECT client_id, to_client_id, reason FROM "$events/delivery_dropped" WHERE topic = 't/own'`,
    happen: async (node) => {
      await using client = await Client.open(node, { clientId: 'own' });
      await client.mqtt.subscribeAsync('t/own', { qos: 1, nl: true });
      await client.mqtt.publishAsync('t/own', 'x', { qos: 1 });
    },
    selected: [{ client_id: 'own', to_client_id: 'own', reason: 'no_local' }],
  },
  {
    what: 'client.connected',
    sql: `SELECT client_id, username, connack, clean_start, keepalive, proto_ver, is_bridge, auth_result, mountpoint, anonymous, zone FROM "client.connected" WHERE client_id = 'cc'`,
    happen: async (node) => {
      await using _ = await Client.open(node, {
        ...{ clientId: 'cc', username: 'bob', protocolVersion: 4, keepalive: 33 },
      });
    },
    selected: [
      {
        ...{ client_id: 'cc', username: 'bob', connack: 0, clean_start: true, keepalive: 33 },
        ...{ proto_ver: 4, is_bridge: false, auth_result: 'success', mountpoint: '' },
        ...{ anonymous: true, zone: 'external' },
      },
    ],
  },
  {
    what: 'client.connected and client.connack of one who is refused, not the name that means accepted',
    sql: `SELECT event, connack, auth_result FROM "client.connected", "client.connack", "$events/client_connected" WHERE username = 'nobody'`,
    happen: refused,
    selected: [
      { event: 'client.connected', connack: 140, auth_result: 'bad_authentication_method' },
      { event: 'client.connack', connack: 140, auth_result: 'bad_authentication_method' },
    ],
  },
  {
    what: 'client.connack of one who is banned, and the end of one who was connected',
    sql: `SELECT event, client_id, connack, auth_result, reason_code FROM "client.connack", "client.disconnected" WHERE client_id = 'banned'`,
    happen: async (node) => {
      const client = await Client.open(node, { clientId: 'banned' });
      const gone = new Promise<void>((resolve) => client.mqtt.once('close', () => resolve()));
      const ban = await node.post('/banned', { who: 'banned', as: 'client_id' });
      assert.equal(ban.body.code, 0, ban.text);
      await gone;
      await client.mqtt.endAsync(true);
      for (const protocolVersion of [5, 4] as const) {
        await assert.rejects(Client.open(node, { clientId: 'banned', protocolVersion }));
      }
    },
    selected: [
      {
        ...{ event: 'client.connack', client_id: 'banned', connack: 0 },
        ...{ auth_result: 'success', reason_code: 'success' },
      },
      {
        ...{ event: 'client.disconnected', client_id: 'banned', reason_code: 'banned' },
        auth_result: 'success',
      },
      // What it is, also to a client of MQTT 3.1.1, which is told 5.
      ...[5, 4].map(() => ({
        ...{ event: 'client.connack', client_id: 'banned', connack: 138 },
        ...{ auth_result: 'banned', reason_code: 'banned' },
      })),
    ],
  },
  {
    what: 'client.disconnected with the reason',
    sql: `SELECT client_id, reason_code, auth_result FROM "client.disconnected" WHERE client_id = 'leaving'`,
    happen: async (node) => {
      const client = await Client.open(node, { clientId: 'leaving' });
      await client.mqtt.endAsync();
      const other = await Client.open(node, { clientId: 'leaving' });
      const gone = new Promise<void>((resolve) => other.mqtt.once('close', () => resolve()));
      await node.delete('/connections/leaving');
      await gone;
      await other.mqtt.endAsync(true);
    },
    selected: ['normal', 'kicked'].map((reason) => ({
      ...{ client_id: 'leaving', reason_code: reason, auth_result: 'success' },
    })),
  },
  {
    what: 'client.subscribe, the first filter and all of them',
    sql: `SELECT topic, qos, topic_filters FROM "client.subscribe" WHERE contains_topic(topic_filters, 's/2', 2) and client_id = 'ss'`,
    happen: async (node) => {
      await using client = await Client.open(node, { clientId: 'ss' });
      await client.mqtt.subscribeAsync({
        's/1': { qos: 1 },
        's/2': { qos: 2, nl: true, rap: true },
      });
    },
    selected: [
      {
        topic: 's/1',
        qos: 1,
        topic_filters: [
          { topic: 's/1', qos: 1, sub_opts: { qos: 1, nl: 0, rap: 0, rh: 0 } },
          { topic: 's/2', qos: 2, sub_opts: { qos: 2, nl: 1, rap: 1, rh: 0 } },
        ],
      },
    ],
  },
  {
    what: 'client.unsubscribe',
    sql: `SELECT client_id, topic, qos, topic_filters FROM "client.unsubscribe" WHERE topic =~ 's/#'`,
    happen: async (node) => {
      await using client = await Client.open(node, { clientId: 'us' });
      await client.mqtt.unsubscribeAsync(['s/1', 's/2']);
    },
    selected: [
      {
        ...{ client_id: 'us', topic: 's/1', qos: 0 },
        topic_filters: [
          { topic: 's/1', qos: 0, sub_opts: {} },
          { topic: 's/2', qos: 0, sub_opts: {} },
        ],
      },
    ],
  },
  {
    what: 'session.subscribed and session.unsubscribed',
    sql: `SELECT event, client_id, topic, qos, nl, sub_opts.first as first FROM "session.subscribed", "$events/session_unsubscribed" WHERE topic = 's/+'`,
    happen: async (node) => {
      await using client = await Client.open(node, { clientId: 'se' });
      await client.mqtt.subscribeAsync('s/+', { qos: 2, nl: true });
      await client.mqtt.subscribeAsync('s/+', { qos: 1 });
      await client.mqtt.unsubscribeAsync('s/+');
    },
    selected: [
      {
        ...{ event: 'session.subscribed', client_id: 'se', topic: 's/+' },
        ...{ qos: 2, nl: 1, first: true },
      },
      {
        ...{ event: 'session.subscribed', client_id: 'se', topic: 's/+' },
        ...{ qos: 1, nl: 0, first: false },
      },
      { event: 'session.unsubscribed', client_id: 'se', topic: 's/+' },
    ],
  },
];

/** From two workers they may come in another order. */
function byText(a: unknown, b: unknown): number {
  return JSON.stringify(a) < JSON.stringify(b) ? -1 : 1;
}

/** It asks for a way to authenticate that nobody here knows. */
async function refused(node: Managed): Promise<void> {
  const wanted = Client.open(node, {
    username: 'nobody',
    properties: { authenticationMethod: 'unknown' },
  });
  await assert.rejects(wanted);
}

for (const workers of [0, 2]) {
  test(`every event reaches the rules that are about it (workers: ${workers})`, async (t) => {
    const settings = { 'zone.external.enable_ban': 'on' };
    await using node = await startRules({ workers, settings });
    for (const [i, { what, sql, happen, selected }] of rows.entries()) {
      await t.test(what, async () => {
        const { id } = await makeRule(node, sql, [toTopic(`out/${i}`, { target_qos: 1 })]);
        await using reader = await Client.reading(node, `out/${i}`);
        await happen(node);
        const got = await reader.json(selected.length);
        assert.deepEqual(got.toSorted(byText), selected.toSorted(byText));
        await node.delete(`/rules/${id}`);
        // What it would have published too much is there before this.
        await publish(`out/${i}`, '"end"')(node);
        assert.deepEqual(await reader.json(1), ['end']);
      });
    }
  });
}
