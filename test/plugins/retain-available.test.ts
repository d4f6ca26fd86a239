// Retained messages while the plugin broker_retainer does not run: who comes is told, and who was told is
// held to it. Whoever cannot be told (MQTT 3), or was told otherwise, is served; nothing is kept.

import assert from 'node:assert/strict';
import test from 'node:test';
import { type Managed, startManaged } from '#test/managed';
import { RawClient } from '#test/raw-client';

const open = { allow_anonymous: 'true', acl_nomatch: 'allow' };
const retainNotSupported = 0x9a;

async function connect(managed: Managed, clientId: string, version: 4 | 5 = 5): Promise<RawClient> {
  const client = await RawClient.open(managed.mqttPort, version);
  assert.equal((await client.connect({ clientId })).reasonCode, 0);
  return client;
}

const toldOf = (client: RawClient): boolean | undefined =>
  client.connack?.properties.retainAvailable;

for (const workers of [0, 2]) {
  test(`who comes while broker_retainer is unloaded is told, and held to it, with ${workers} workers`, async () => {
    await using managed = await startManaged({ workers, settings: open });
    await using before = await connect(managed, 'before');
    assert.equal(toldOf(before), undefined, 'it is available');
    assert.equal((await managed.put('/plugins/broker_retainer/unload')).body.code, 0);
    await using after = await connect(managed, 'after');
    assert.equal(toldOf(after), false);
    await after.publish('a/1', 'x', { qos: 1 });
    after.sendPublish('a/1', 'x', { retain: true });
    await after.expectDisconnected(retainNotSupported);

    await using dying = await RawClient.open(managed.mqttPort);
    const will = { topic: 'w', retain: true };
    assert.equal((await dying.connect({ will })).reasonCode, retainNotSupported);

    await using former = await connect(managed, 'former', 4);
    // Answered with PUBACK, both.
    for (const client of [before, former]) {
      await client.publish('a/1', 'x', { qos: 1, retain: true });
    }
    assert.equal((await managed.put('/plugins/broker_retainer/load')).body.code, 0);
    await using again = await connect(managed, 'again');
    assert.equal(toldOf(again), undefined);
    await again.publish('a/2', 'x', { qos: 1, retain: true });
    const kept = (await managed.get('/retained')).body.data as { readonly topic: string }[];
    assert.deepEqual(
      kept.map(({ topic }) => topic),
      ['a/2'],
    );
  });

  test(`a node that starts without broker_retainer keeps nothing, with ${workers} workers`, async () => {
    const settings = { ...open, 'plugins.loaded': 'broker_management' };
    await using managed = await startManaged({ workers, settings });
    await using client = await connect(managed, 'c');
    assert.equal(toldOf(client), false);
    await using former = await connect(managed, 'former', 4);
    await former.publish('a/1', 'x', { qos: 1, retain: true });
    const plan = await managed.post('/explain/publish', {
      client_id: 'former',
      topic: 'a/1',
      retain: true,
    });
    assert.match(plan.text, /the plugin broker_retainer does not run/);
    assert.equal((await managed.put('/plugins/broker_retainer/load')).body.code, 0);
    assert.deepEqual((await managed.get('/retained')).body.data, []);
  });
}
