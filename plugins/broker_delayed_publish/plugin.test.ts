// Real clients and real nodes. Delays are of one second, because time is that of several threads.

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'node:test';
import type { IClientOptions, IPublishPacket } from 'mqtt';
import { KeepingClient } from '#test/keeping-client';
import { type Managed, type ManagedOptions, startManaged } from '#test/managed';
import { eventually } from '#test/watch';

function startWith(options: ManagedOptions): Promise<Managed> {
  const settings = {
    allow_anonymous: 'true',
    acl_nomatch: 'allow',
    'plugins.loaded': 'broker_management,broker_retainer,broker_delayed_publish',
    ...options.settings,
  };
  return startManaged({ ...options, settings });
}

class Client extends KeepingClient {
  /** The reason code of the acknowledgement. */
  async publish(topic: string, payload = 'x', options: object = { qos: 1 }): Promise<number> {
    try {
      const packet = await this.mqtt.publishAsync(topic, payload, options);
      return (packet as { readonly reasonCode?: number } | undefined)?.reasonCode ?? 0;
    } catch (error) {
      return (error as { readonly code: number }).code;
    }
  }

  async messages(count: number): Promise<readonly IPublishPacket[]> {
    await this.arrived(count);
    return this.got;
  }

  async topics(count: number): Promise<string[]> {
    return (await this.messages(count)).map(({ topic }) => topic);
  }
}

async function metricsOf(managed: Managed): Promise<Readonly<Record<string, number>>> {
  const { body } = await managed.get('/metrics');
  const [{ metrics }] = body.data as [{ metrics: Record<string, number> }];
  return metrics;
}

const topicNameInvalid = 0x90;
const notAuthorized = 0x87;
const quotaExceeded = 0x97;

for (const workers of [0, 2]) {
  test(`a message is published when its delay is over, as it came, with ${workers} workers`, async () => {
    await using managed = await startWith({ workers });
    await using reader = await Client.open(managed);
    await reader.mqtt.subscribeAsync(['a/#', '$delayed/#'], { qos: 2 });
    await using writer = await Client.open(managed, { clientId: 'writer' });
    const properties = {
      correlationData: Buffer.of(0, 255),
      userProperties: { colour: 'red' },
    };
    const sentAtMs = Date.now();
    await writer.publish('$delayed/0/a/0', 'at once', { qos: 0 });
    const options = { qos: 2, retain: true, properties };
    assert.equal(await writer.publish('$delayed/1/a/1', 'soon', options), 0);
    // It would have expired, if its age did not begin when it is due.
    const short = { qos: 1, properties: { messageExpiryInterval: 2 } };
    assert.equal(await writer.publish('$delayed/2/a/2', 'later', short), 0);
    assert.deepEqual(await reader.topics(3), ['a/0', 'a/1', 'a/2']);
    assert.ok(Date.now() - sentAtMs >= 2000, 'not before its time');
    const [, soon] = reader.got;
    assert.equal(String(soon?.payload), 'soon');
    assert.equal(soon?.qos, 2);
    assert.deepEqual(soon?.properties?.correlationData, properties.correlationData);
    assert.deepEqual({ ...soon?.properties?.userProperties }, properties.userProperties);

    await using late = await Client.open(managed);
    await late.mqtt.subscribeAsync('a/+', { qos: 1 });
    const [retained] = await late.messages(1);
    assert.deepEqual([retained?.topic, retained?.retain], ['a/1', true]);
    const metrics = await metricsOf(managed);
    assert.equal(metrics['delayed/accepted'], 3);
    assert.equal(metrics['delayed/published'], 3);
    assert.equal(metrics['messages/dropped'], 0);
  });

  test(`what waits outlives a restart, with ${workers} workers`, async () => {
    const dir = mkdtempSync(join(tmpdir(), 'broker-delayed-'));
    try {
      const sleeper: IClientOptions = {
        clientId: 'sleeper',
        clean: false,
        properties: { sessionExpiryInterval: 3600 },
      };
      {
        await using managed = await startWith({ workers, dir });
        await using reader = await Client.open(managed, sleeper);
        await reader.mqtt.subscribeAsync('#', { qos: 1 });
        await using writer = await Client.open(managed, { clientId: 'writer' });
        assert.equal(await writer.publish('$delayed/4/second', 'b'), 0);
        assert.equal(await writer.publish('$delayed/1600000000/first', 'a'), 0);
        assert.equal(await writer.publish('$delayed/3600/third', 'c'), 0);
      }
      await using managed = await startWith({ workers, dir });
      await using reader = await Client.open(managed, sleeper);
      assert.deepEqual(await reader.topics(2), ['first', 'second']);
      const { body } = await managed.get('/delayed');
      assert.equal(body.meta?.count, 1);
      const [row] = body.data as readonly Record<string, unknown>[];
      assert.equal(row?.['topic'], 'third');
      assert.equal(row?.['client_id'], 'writer');
    } finally {
      rmSync(dir, { recursive: true, force: true });
    }
  });

  test(`whoever may not publish to the topic inside is refused, with ${workers} workers`, async () => {
    const dir = mkdtempSync(join(tmpdir(), 'broker-delayed-'));
    try {
      const aclFile = join(dir, 'acl.conf');
      writeFileSync(
        aclFile,
        '{deny, all, publish, ["secret/#"]}.\n{deny, {client, "plain"}, publish, ["$delayed/#"]}.\n{allow, all}.\n',
      );
      await using managed = await startWith({ workers, settings: { acl_file: aclFile } });
      await using reader = await Client.open(managed);
      await reader.mqtt.subscribeAsync('#', { qos: 1 });
      await using writer = await Client.open(managed);
      assert.equal(await writer.publish('$delayed/0/secret/x'), notAuthorized);
      assert.equal(await writer.publish('$delayed/0/open/x'), 0);
      await using plain = await Client.open(managed, { clientId: 'plain' });
      assert.equal(await plain.publish('$delayed/0/open/y'), notAuthorized);
      const will = { topic: '$delayed/0/secret/x', payload: Buffer.from('will') };
      await assert.rejects(Client.open(managed, { will }), { code: notAuthorized });
      assert.deepEqual(await reader.topics(1), ['open/x']);
      assert.equal((await metricsOf(managed))['delayed/accepted'], 1);
    } finally {
      rmSync(dir, { recursive: true, force: true });
    }
  });
}

test('what is no delayed message is refused and never routed', async () => {
  await using managed = await startWith({});
  await using reader = await Client.open(managed);
  await reader.mqtt.subscribeAsync(['#', '$delayed/#'], { qos: 1 });
  await using writer = await Client.open(managed);
  for (const rest of ['x/t', '5', '5/', '/t', '5000000/t', '99999999999/t']) {
    assert.equal(await writer.publish(`$delayed/${rest}`), topicNameInvalid, rest);
  }
  assert.equal(await writer.publish('$delayed/5/$SYS/x'), notAuthorized);
  assert.equal(await writer.publish('$delayed/x/t', 'x', { qos: 2 }), topicNameInvalid);
  await writer.publish('$delayed/x/t', 'x', { qos: 0 });
  await using old = await Client.open(managed, { protocolVersion: 4 });
  assert.equal(await old.publish('$delayed/x/t'), 0, 'MQTT 3.1.1 has no word for it');
  const { body } = await managed.post('/mqtt/publish', { topic: '$delayed/x/t', payload: 'x' });
  assert.equal(body.code, 102);
  assert.match(body.message ?? '', /^Cannot delay the message to "\$delayed\/x\/t": expected /);
  await writer.publish('after', 'x');
  assert.deepEqual(await reader.topics(1), ['after']);
  assert.equal((await metricsOf(managed))['delayed/refused'], 10);
  assert.equal(((await managed.get('/delayed')).body.data as []).length, 0);
});

test('more messages than may wait are refused', async () => {
  await using managed = await startWith({ settings: { 'delayed.max_messages': '2' } });
  await using writer = await Client.open(managed);
  const codes = [1, 2, 3].map(() => writer.publish('$delayed/3600/t'));
  assert.deepEqual(await Promise.all(codes), [0, 0, quotaExceeded]);
  const { body } = await managed.get('/delayed');
  const [first] = body.data as readonly { readonly id: number }[];
  assert.equal((await managed.delete(`/delayed/${first?.id}`)).body.code, 0);
  assert.equal(await writer.publish('$delayed/3600/t'), 0);
});

test('what waits is listed in its order, a page at a time, and can be taken back', async () => {
  await using managed = await startWith({ workers: 2 });
  await using writer = await Client.open(managed, { clientId: 'writer', username: 'ann' });
  await writer.publish('$delayed/3000/c', 'three');
  await writer.publish('$delayed/1000/a', '1');
  await writer.publish('$delayed/2000/b', '2', { qos: 2, retain: true });
  const all = (await managed.get('/delayed')).body;
  const rows = all.data as readonly Record<string, unknown>[];
  assert.deepEqual(
    rows.map(({ id, topic, qos, retain, payload_bytes: bytes }) => [id, topic, qos, retain, bytes]),
    [
      [2, 'a', 1, false, 1],
      [3, 'b', 2, true, 1],
      [1, 'c', 1, false, 5],
    ],
  );
  assert.equal(rows[0]?.['username'], 'ann');
  assert.match(String(rows[0]?.['publish_at']), /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
  const second = (await managed.get('/delayed?_page=2&_limit=2')).body;
  assert.deepEqual(second.meta, { page: 2, limit: 2, count: 3 });
  assert.equal((second.data as readonly { topic: string }[])[0]?.topic, 'c');

  const { stdout, code } = await managed.ctl('delayed', 'del', '3');
  assert.deepEqual([stdout.trim(), code], ['ok', 0]);
  assert.equal((await managed.delete('/delayed/3')).status, 404);
  assert.equal((await managed.delete('/delayed/x')).body.code, 108);
  const listed = await managed.ctl('delayed', 'list');
  assert.match(
    listed.stdout,
    /^Delayed\(2, topic=a, qos=1, publish_at=\S+, client_id=writer, payload_bytes=1\)\nDelayed\(1, topic=c, /,
  );
});

test('a client under a mountpoint stays there, its will too', async () => {
  await using managed = await startWith({
    settings: { 'zone.external.mountpoint': 'room/%c/' },
  });
  await using writer = await Client.open(managed, { clientId: 'c1' });
  await writer.mqtt.subscribeAsync('#', { qos: 1 });
  assert.equal(await writer.publish('$delayed/0/t'), 0);
  assert.equal(await writer.publish('$delayed/x/t'), topicNameInvalid);
  assert.deepEqual(await writer.topics(1), ['t']);
  const will = { topic: '$delayed/0/t', payload: Buffer.from('gone'), qos: 1 as const };
  const dying = await Client.open(managed, { clientId: 'c2', will });
  dying.mqtt.stream.destroy();
  const due = async (): Promise<boolean> => (await metricsOf(managed))['delayed/published'] === 2;
  const signal = AbortSignal.timeout(10_000);
  while (!(await due())) signal.throwIfAborted();
});

test('a will that is refused when it is due is told in the log, and gone', async () => {
  await using managed = await startWith({ workers: 2 });
  const will = { topic: '$delayed/x/t', payload: Buffer.from('gone'), qos: 1 as const };
  const dying = await Client.open(managed, { will });
  dying.mqtt.stream.destroy();
  const told = (): boolean => managed.logged.some((line) => line.includes('"will.refused"'));
  const signal = AbortSignal.timeout(10_000);
  while (!told()) {
    signal.throwIfAborted();
    await new Promise((resolve) => setImmediate(resolve));
  }
});

test('messages wait while the plugin is unloaded or read anew, and are published once', async () => {
  await using managed = await startWith({ workers: 2 });
  await using reader = await Client.open(managed);
  await reader.mqtt.subscribeAsync('#', { qos: 1 });
  await using writer = await Client.open(managed);
  await writer.publish('$delayed/0/first');
  assert.equal((await managed.ctl('plugins', 'unload', 'broker_delayed_publish')).code, 0);
  assert.equal((await managed.get('/delayed')).status, 404);
  assert.equal((await managed.ctl('plugins', 'load', 'broker_delayed_publish')).code, 0);
  await writer.publish('$delayed/1/second');
  assert.equal((await managed.ctl('plugins', 'reload', 'broker_delayed_publish')).code, 0);
  await writer.publish('$delayed/2/third');
  assert.deepEqual(await reader.topics(3), ['first', 'second', 'third']);
  // A message is forgotten when it has been published, not before.
  await eventually(async () => ((await managed.get('/delayed')).body.data as []).length === 0);
});
