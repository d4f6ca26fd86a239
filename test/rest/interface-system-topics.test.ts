// Every topic under `$SYS/brokers/<node>/` that the interface names, and no other: when it comes, with
// which QoS, whether it is kept, and its payload character by character.

import assert from 'node:assert/strict';
import test from 'node:test';
import { connectAsync } from 'mqtt';
import { type Managed, startManaged } from '#test/managed';
import { RawClient } from '#test/raw-client';
import { metricKeys, ownMetricKeys, statKeys } from './interface-shapes.ts';

const node = 'broker@127.0.0.1';
const prefix = `$SYS/brokers/${node}/`;
const open = { allow_anonymous: 'true', acl_nomatch: 'allow' };
const often = { ...open, 'broker.sys_interval': '200ms', 'broker.sys_heartbeat': '100ms' };
const suboptions = ['suboptions/count', 'suboptions/max'];
const ofRules = ['rules', 'actions', 'resources'].flatMap((key) => [`${key}/count`, `${key}/max`]);
const counted = ['rules/matched', 'actions/success', 'actions/failure'];

const wholeNumber = /^\d+$/;
const payloads: Readonly<Record<string, RegExp>> = {
  '$SYS/brokers': /^broker@127\.0\.0\.1$/,
  [`${prefix}version`]: /^v0\.0\.0$/,
  [`${prefix}sysdescr`]: /^MQTT Broker$/,
  [`${prefix}uptime`]: /^\d+ seconds$/,
  [`${prefix}datetime`]: /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/,
  ...Object.fromEntries([
    ...[...statKeys, ...suboptions, ...ofRules].map((key) => [
      `${prefix}stats/${key}`,
      wholeNumber,
    ]),
    ...[...metricKeys, ...ownMetricKeys, ...counted].map((key) => [
      `${prefix}metrics/${key}`,
      wholeNumber,
    ]),
  ]),
};
const kept = ['$SYS/brokers', `${prefix}sysdescr`, `${prefix}version`];

async function join(managed: Managed, clientId: string): Promise<RawClient> {
  const client = await RawClient.open(managed.mqttPort);
  assert.equal((await client.connect({ clientId })).reasonCode, 0);
  return client;
}

for (const workers of [0, 2]) {
  test(`the topics by the clock are those of the interface, ${workers} workers`, async () => {
    await using managed = await startManaged({ workers, settings: often });
    await using reader = await join(managed, 'reader');
    await reader.subscribe('$SYS/#', { qos: 2 });
    const seen = new Set<string>();
    let rounds = 0;
    // The second round is whole, wherever in the first one the reader came.
    while (rounds < 3) {
      const { topic, payload, qos, retain } = await reader.next('publish');
      if (topic === '$SYS/brokers' && !retain) rounds += 1;
      assert.equal(qos, 0, topic);
      assert.match(payload.toString(), payloads[topic] ?? /^none is expected$/, topic);
      seen.add(topic);
    }
    assert.deepEqual([...seen].sort(), Object.keys(payloads).sort());
    await using late = await join(managed, 'late');
    await late.subscribe(['$SYS/brokers', `${prefix}+`], { retainAsPublished: true });
    const found = new Set<string>();
    for (let i = 0; i < kept.length; i++) {
      const { topic } = await late.find('publish', ({ retain }) => retain);
      found.add(topic);
    }
    assert.deepEqual([...found].sort(), kept);
  });

  test(`presence has the fields of the interface, ${workers} workers`, async () => {
    await using managed = await startManaged({ workers, settings: open });
    await using reader = await join(managed, 'reader');
    await reader.subscribe(`${prefix}clients/#`, { qos: 2 });
    const url = `mqtt://127.0.0.1:${managed.mqttPort}`;
    const told = async (): Promise<[string, string, Record<string, unknown>]> => {
      const { topic, payload, qos, retain } = await reader.receive();
      assert.deepEqual([qos, retain], [1, false]);
      const text = payload.toString();
      return [topic.slice(prefix.length), text, JSON.parse(text) as Record<string, unknown>];
    };
    const before = Math.floor(Date.now() / 1000);
    const isNow = (ts: unknown): boolean =>
      Number.isInteger(ts) && Number(ts) >= before && Number(ts) <= Date.now() / 1000;
    const client = await connectAsync(url, { clientId: 'c', username: 'u', keepalive: 30 });
    const [came, cameText, { ts: cameAt }] = await told();
    assert.equal(came, 'clients/c/connected');
    assert.ok(isNow(cameAt));
    const fields =
      `"clientid":"c","username":"u","ipaddress":"127.0.0.1","connack":0,"ts":${Number(cameAt)},` +
      '"proto_ver":4,"proto_name":"MQTT","clean_start":true,"keepalive":30';
    assert.equal(cameText, `{${fields}}`);
    await client.endAsync();
    const [left, leftText, { ts: leftAt }] = await told();
    assert.equal(left, 'clients/c/disconnected');
    assert.ok(isNow(leftAt));
    const end = `"clientid":"c","username":"u","reason":"normal","ts":${Number(leftAt)}`;
    assert.equal(leftText, `{${end}}`);
    await using nameless = await join(managed, 'n/1');
    const [topic, , { username, proto_ver: version }] = await told();
    assert.deepEqual([topic, username, version], ['clients/n/1/connected', 'undefined', 5]);
    nameless.destroy();
    const [, , { reason, username: still }] = await told();
    assert.deepEqual([reason, still], ['closed', 'undefined']);
    await using kicked = await join(managed, 'k');
    await told();
    await managed.delete('/connections/k');
    const [, , last] = await told();
    assert.equal(last['reason'], 'kicked');
    await kicked.expectClosed();
  });
}
