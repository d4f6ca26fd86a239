import assert from 'node:assert/strict';
import test from 'node:test';
import { Sink } from './resources-fixture.ts';
import { connect, startRuled } from './rules-fixture.ts';

for (const workers of [0, 2]) {
  test(`resources go with the rule engine and come back with it, with ${workers} workers`, async () => {
    await using sink = await Sink.open();
    await using managed = await startRuled(workers);
    const config = { url: sink.url };
    const made = await managed.post('/resources', { type: 'web_hook', name: 'a', config });
    assert.equal(made.body.code, 0, made.text);
    const actions = [{ name: 'data_to_webserver', params: { $resource: 'web_hook:a' } }];
    await managed.post('/rules', { rawsql: 'SELECT topic FROM "t/#"', actions });
    const client = await connect(managed, 'c1');
    const told = async (topic: string): Promise<void> => {
      await client.publishAsync(topic, 'x', { qos: 1 });
      await sink.until((all) => all.some(({ body }) => body.includes(`"${topic}"`)));
    };
    await told('t/1');
    const plugin = '/plugins/broker_rule_engine';
    assert.equal((await managed.put(`${plugin}/reload`)).body.code, 0);
    await told('t/2');
    assert.deepEqual((await managed.get('/resource_status/web_hook:a')).body.data, {
      is_alive: true,
    });
    assert.equal((await managed.put(`${plugin}/unload`)).body.code, 0);
    await client.publishAsync('t/3', 'x', { qos: 1 });
    const alive = await managed.node.integration.call('aliveResources', [], 10_000);
    assert.deepEqual(alive, []);
    assert.equal((await managed.put(`${plugin}/load`)).body.code, 0);
    await told('t/4');
    assert.equal(
      sink.told.some(({ body }) => body.includes('t/3')),
      false,
    );
    await client.endAsync();
  });
}
