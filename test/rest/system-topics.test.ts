// The topics under $SYS/ of a whole node: by the clock, from every worker, and for whom.

import assert from 'node:assert/strict';
import test from 'node:test';
import { metricKeys } from '#core/metrics';
import { type Managed, startManaged } from '#test/managed';
import { RawClient } from '#test/raw-client';

const prefix = '$SYS/brokers/broker@127.0.0.1';
const open = { allow_anonymous: 'true', acl_nomatch: 'allow' };
const often = {
  ...open,
  'broker.sys_interval': '200ms',
  'broker.sys_heartbeat': '100ms',
};
const notAuthorized = 0x87;

async function join(managed: Managed, clientId: string, hello = ''): Promise<RawClient> {
  const client = await RawClient.open(managed.mqttPort);
  if (hello !== '') client.send(Buffer.from(hello));
  const { reasonCode } = await client.connect({ clientId });
  assert.equal(reasonCode, 0);
  return client;
}

const on = (topic: string) => (packet: { readonly topic: string }) => packet.topic === topic;

for (const workers of [0, 2]) {
  test(`what the node is and counts is published by the clock, ${workers} workers`, async () => {
    await using managed = await startManaged({ workers, settings: often });
    // So many that the kernel gives some to each worker.
    const readers = await Promise.all(
      Array.from({ length: 8 }, (_, i) => join(managed, `reader-${i}`)),
    );
    for (const reader of readers) await reader.subscribe('$SYS/#');
    for (const reader of readers) {
      const textOf = async (topic: string): Promise<string> =>
        (await reader.find('publish', on(topic))).payload.toString();
      assert.equal(await textOf('$SYS/brokers'), 'broker@127.0.0.1');
      assert.equal(await textOf(`${prefix}/version`), 'v0.0.0');
      assert.equal(await textOf(`${prefix}/sysdescr`), 'MQTT Broker');
      assert.match(await textOf(`${prefix}/uptime`), /^\d+ seconds$/);
      assert.match(await textOf(`${prefix}/datetime`), /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/);
      assert.equal(await textOf(`${prefix}/stats/connections/count`), '8');
      assert.equal(
        await textOf(`${prefix}/stats/suboptions/count`),
        await textOf(`${prefix}/stats/subscriptions/count`),
      );
      for (const key of metricKeys) assert.match(await textOf(`${prefix}/metrics/${key}`), /^\d+$/);
    }
    // Retained, in whichever worker one subscribes.
    for (let i = 0; i < 8; i++) {
      await using late = await join(managed, `late-${i}`);
      const kept = ['$SYS/brokers', `${prefix}/version`, `${prefix}/sysdescr`];
      await late.subscribe(kept);
      for (const name of kept) {
        await late.find('publish', ({ topic, retain }) => retain && topic === name);
      }
    }
    for (const reader of readers) await reader[Symbol.asyncDispose]();
    assert.equal(managed.node.metrics()['messages/dropped'], 0);
  });

  test(`each reader gets each system message once, ${workers} workers`, async () => {
    await using managed = await startManaged({ workers, settings: open });
    const readers = await Promise.all(
      Array.from({ length: 6 }, (_, i) => join(managed, `reader-${i}`)),
    );
    for (const reader of readers) await reader.subscribe('$SYS/test/#');
    const entries = ['a', 'b'].map(
      (level) => ({ topic: `$SYS/test/${level}`, payload: level, qos: 0, retain: false }) as const,
    );
    await managed.node.workers.anywhere('publishSystem', [entries]);
    for (const reader of readers) {
      assert.deepEqual(await reader.receivePayloads(2), ['a', 'b']);
      await reader.expectNothing();
      await reader[Symbol.asyncDispose]();
    }
  });

  test(`presence is told from the worker of the client, ${workers} workers`, async () => {
    await using managed = await startManaged({ workers, settings: open });
    const reader = await join(managed, 'reader');
    await reader.subscribe(`${prefix}/clients/+/+`, { qos: 1 });
    for (let i = 0; i < 6; i++) {
      const device = await join(managed, `device-${i}`);
      await device.disconnect();
      for (const word of ['connected', 'disconnected']) {
        const { topic, payload } = await reader.receive();
        assert.equal(topic, `${prefix}/clients/device-${i}/${word}`);
        const { ts } = JSON.parse(payload.toString()) as { ts: number };
        assert.ok(Math.abs(ts - Date.now() / 1000) < 60);
      }
    }
    await reader.expectNothing();
    await reader[Symbol.asyncDispose]();
  });
}

test('a thread that is held up is told under sysmon', async () => {
  await using managed = await startManaged({
    settings: { ...open, 'sysmon.long_schedule': '40ms' },
  });
  const reader = await join(managed, 'reader');
  await reader.subscribe(`${prefix}/sysmon/+`);
  // The start may have held it up already, and is not to be told in place of what comes.
  await managed.node.workers.uphold('watchThread', [managed.parts.settings.monitor]);
  const untilMs = performance.now() + 200;
  while (performance.now() < untilMs);
  const { topic, payload } = await reader.find('publish');
  assert.equal(topic, `${prefix}/sysmon/long_schedule`);
  assert.match(
    payload.toString(),
    /^long_schedule warning: thread = worker 0, info: held up for \d+ ms$/,
  );
  await reader[Symbol.asyncDispose]();
});

const fromAfar = 'PROXY TCP4 192.0.2.7 192.0.2.1 40000 1883\r\n';
const fromHere = 'PROXY TCP4 127.0.0.1 127.0.0.1 40000 1883\r\n';
const proxied = {
  ...open,
  'listener.tcp.external.proxy_protocol': 'on',
};
const filters = ['$SYS/#', '$share/g/$SYS/#', '$queue/$SYS/a', 'a/#', '$SYSX'];

test('system topics can be subscribed to by clients of this machine', async () => {
  await using managed = await startManaged({ settings: proxied });
  await using near = await join(managed, 'near', fromHere);
  assert.deepEqual((await near.subscribe(filters)).reasonCodes, [0, 0, 0, 0, 0]);
  await using far = await join(managed, 'far', fromAfar);
  const codes = [notAuthorized, notAuthorized, notAuthorized, 0, 0];
  assert.deepEqual((await far.subscribe(filters)).reasonCodes, codes);
});

test('system topics can be subscribed to by all where that is set', async () => {
  const settings = { ...proxied, 'broker.sys_topics': 'all', acl_nomatch: 'deny' };
  await using managed = await startManaged({ settings });
  await using far = await join(managed, 'far', fromAfar);
  const codes = [0, 0, 0, notAuthorized, notAuthorized];
  assert.deepEqual((await far.subscribe(filters)).reasonCodes, codes);
});
