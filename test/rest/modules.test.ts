// The modules of a whole node, as its configuration sets them, seen through REST.

import assert from 'node:assert/strict';
import test from 'node:test';
import mqtt from 'mqtt';
import { startManaged } from '#test/managed';

const settings = {
  allow_anonymous: 'true',
  acl_nomatch: 'allow',
  'module.subscription': 'on',
  'module.subscription.1.topic': 'to/%c/#',
  'module.subscription.2.topic': '$share/crew/user/%u',
  'module.subscription.2.qos': '2',
  'module.rewrite': 'on',
  'module.rewrite.rule.1': 'x/# ^x/y/(.+)$ to/$1',
};

for (const workers of [0, 2]) {
  test(`a node subscribes sessions and rewrites topics, with ${workers} workers`, async () => {
    await using managed = await startManaged({ workers, settings });
    const client = await mqtt.connectAsync({
      ...{ host: '127.0.0.1', port: managed.mqttPort, clientId: 'c1', username: 'ann' },
      ...{ clean: false, reconnectPeriod: 0 },
    });
    const { body } = await managed.get('/subscriptions/c1');
    const rows = body.data as { readonly topic: string; readonly qos: number }[];
    const shown = rows.map(({ topic, qos }) => `${topic} ${qos}`);
    assert.deepEqual(shown.sort(), ['to/c1/# 1', 'user/ann 2']);
    const { promise: received, resolve } = Promise.withResolvers<string[]>();
    client.once('message', (topic, payload) => resolve([topic, payload.toString()]));
    const message = { topic: 'x/y/c1/news', payload: 'hello', qos: 1, retain: true };
    assert.equal((await managed.post('/mqtt/publish', message)).body.code, 0);
    assert.deepEqual(await received, ['to/c1/news', 'hello']);
    assert.equal((await managed.get('/retained/to%2Fc1%2Fnews')).body.code, 0);
    assert.equal((await managed.get('/retained/x%2Fy%2Fc1%2Fnews')).status, 404);
    const asked = { topic: 'x/y/c1/1', client_id: 'c1' };
    const explained = await managed.post('/explain/publish', asked);
    assert.equal((explained.body.data as { topic: string }).topic, 'to/c1/1');
    await client.endAsync(true);
  });
}
