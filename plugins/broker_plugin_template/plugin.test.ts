import assert from 'node:assert/strict';
import test from 'node:test';
import mqtt from 'mqtt';
import { type Managed, startManaged } from '#test/managed';
import { eventually } from '#test/watch';

interface Shown {
  readonly greeting: string;
  readonly clients_met: number;
  readonly hooks: Readonly<Record<string, number>>;
}

async function shown(managed: Managed): Promise<Shown> {
  return (await managed.get('/plugin_template')).body.data as Shown;
}

const loaded = 'broker_management,broker_retainer,broker_plugin_template';

for (const workers of [0, 2]) {
  test(`the template sees what happens and changes nothing, with ${workers} workers`, async () => {
    const open = { allow_anonymous: 'true', acl_nomatch: 'allow' };
    await using managed = await startManaged({
      workers,
      settings: { 'plugins.loaded': loaded, ...open },
    });
    const client = await mqtt.connectAsync({ port: managed.mqttPort, reconnectPeriod: 0 });
    const { promise, resolve } = Promise.withResolvers<string>();
    client.on('message', (topic, payload) => resolve(`${topic} ${payload.toString()}`));
    await client.subscribeAsync('t/#', { qos: 1 });
    await client.publishAsync('t/1', 'as it was', { qos: 1 });
    assert.equal(await promise, 't/1 as it was');
    await client.endAsync();
    const hooks = [
      ...['client.authenticate', 'client.check_acl', 'client.connected', 'session.created'],
      ...['client.subscribe', 'session.subscribed', 'message.publish', 'message.deliver'],
      ...['message.acked', 'client.disconnected', 'session.terminated'],
    ];
    await eventually(async () => {
      const { hooks: seen, clients_met: met } = await shown(managed);
      return met === 1 && hooks.every((hook) => (seen[hook] ?? 0) > 0);
    });
    const counted = managed.whole.plugins
      .metrics()
      .find(({ name }) => name === 'template.hooks')?.value;
    const { hooks: seen } = await shown(managed);
    assert.equal(
      Object.values(seen).reduce((sum, count) => sum + count, 0),
      counted,
    );
  });

  test(`the template opens no door, with ${workers} workers`, async () => {
    await using managed = await startManaged({
      workers,
      settings: { 'plugins.loaded': loaded, allow_anonymous: 'false' },
    });
    await assert.rejects(mqtt.connectAsync({ port: managed.mqttPort, reconnectPeriod: 0 }));
    await eventually(async () => ((await shown(managed)).hooks['client.authenticate'] ?? 0) > 0);
    assert.equal((await shown(managed)).clients_met, 0);
  });

  test(`the greeting comes to every worker, with ${workers} workers`, async () => {
    const open = { allow_anonymous: 'true', acl_nomatch: 'allow' };
    const said = { 'template.greeting': 'Moin', 'log.level': 'debug' };
    const settings = { 'plugins.loaded': loaded, ...open, ...said };
    await using managed = await startManaged({ workers, settings });
    assert.equal((await shown(managed)).greeting, 'Moin');
    assert.equal(
      (await managed.ctl('template', 'greet', 'Servus')).stdout,
      'The greeting is Servus\n',
    );
    assert.equal((await shown(managed)).greeting, 'Servus');
    const client = await mqtt.connectAsync({ port: managed.mqttPort, reconnectPeriod: 0 });
    await eventually(async () => {
      const lines = managed.logged.filter((line) => line.includes('template.greeting'));
      return lines.some((line) => line.includes('Servus'));
    });
    assert.ok(!managed.logged.some((line) => line.includes('"Moin"')));
    await client.endAsync();
  });
}
