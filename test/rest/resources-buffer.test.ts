import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'node:test';
import type { Managed } from '#test/managed';
import { Sink, type Told } from './resources-fixture.ts';
import { connect, type RuleRow, startRuled, until } from './rules-fixture.ts';

const rawsql = 'SELECT payload.x AS x FROM "t/#"';

async function created(managed: Managed, path: string, body: object): Promise<string> {
  const answer = await managed.post(path, body);
  assert.equal(answer.body.code, 0, answer.text);
  return (answer.body.data as { id: string }).id;
}

async function publish(managed: Managed, from: number, count: number): Promise<void> {
  const client = await connect(managed, `c${from}`);
  for (let x = from; x < from + count; x++) {
    await client.publishAsync('t/1', `{"x":${x}}`, { qos: 1 });
  }
  await client.endAsync();
}

function succeeded(managed: Managed, rule: string, wanted: number): Promise<true> {
  return until(async () => {
    const row = (await managed.get(`/rules/${rule}`)).body.data as RuleRow;
    return row.actions[0]?.metrics[0]?.success === wanted ? true : undefined;
  });
}

const numbers = (told: readonly Told[]): number[] =>
  [...new Set(told.map(({ body }) => (JSON.parse(body) as { x: number }).x))].sort((a, b) => a - b);

for (const workers of [0, 2]) {
  test(`events on disk reach a server that was away, over a restart, with ${workers} workers`, async () => {
    const dir = mkdtempSync(join(tmpdir(), 'broker-buffer-'));
    const buffers = join(dir, 'data', 'broker_rule_engine', 'buffers');
    await using sink = await Sink.open();
    try {
      await sink.down();
      let resource: string;
      let rule: string;
      {
        await using managed = await startRuled(workers, dir);
        const config = { url: `http://127.0.0.1:${sink.port}/told`, buffer: 'disk' };
        resource = await created(managed, '/resources', { type: 'web_hook', config });
        const actions = [{ name: 'data_to_webserver', params: { $resource: resource } }];
        rule = await created(managed, '/rules', { rawsql, actions });
        await publish(managed, 0, 30);
        await succeeded(managed, rule, 30);
      }
      assert.deepEqual(sink.told, []);
      await using managed = await startRuled(workers, dir);
      await publish(managed, 30, 10);
      await succeeded(managed, rule, 10);
      await sink.up();
      await sink.until((told) => numbers(told).length === 40);
      assert.deepEqual(
        numbers(sink.told),
        Array.from({ length: 40 }, (_, x) => x),
      );
      assert.deepEqual(readdirSync(buffers), [encodeURIComponent(resource)]);
      // What is given back to memory is sent all the same.
      await sink.down();
      await publish(managed, 40, 5);
      await succeeded(managed, rule, 15);
      const change = { config: { url: sink.url, buffer: 'memory' } };
      assert.equal((await managed.put(`/resources/${resource}`, change)).body.code, 0);
      await sink.up();
      await sink.until((told) => numbers(told).length === 45);
      await managed.delete(`/rules/${rule}`);
      assert.deepEqual((await managed.delete(`/resources/${resource}`)).body, { code: 0 });
      assert.equal(existsSync(join(buffers, encodeURIComponent(resource))), false);
    } finally {
      rmSync(dir, { recursive: true, force: true });
    }
  });
}

test('an event on disk that a server refuses is gone, and those behind it arrive', async () => {
  await using sink = await Sink.open();
  sink.manner = ({ body }) => (body.includes('"x":1}') ? 400 : 200);
  await using managed = await startRuled(0);
  const config = { url: sink.url, buffer: 'disk', pool_size: 1 };
  const $resource = await created(managed, '/resources', { type: 'web_hook', config });
  const actions = [{ name: 'data_to_webserver', params: { $resource } }];
  const rule = await created(managed, '/rules', { rawsql, actions });
  await publish(managed, 0, 4);
  await succeeded(managed, rule, 4);
  await sink.until((told) => told.length === 4);
  assert.deepEqual(numbers(sink.told), [0, 1, 2, 3]);
});
