import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'node:test';
import type { Managed } from '#test/managed';
import { type Manner, Sink } from './resources-fixture.ts';
import { connect, type RuleRow, startRuled, until } from './rules-fixture.ts';

async function created(managed: Managed, path: string, body: object): Promise<{ id: string }> {
  const answer = await managed.post(path, body);
  assert.equal(answer.body.code, 0, answer.text);
  return answer.body.data as { id: string };
}

async function counted(
  managed: Managed,
  id: string,
  wanted: readonly [success: number, failed: number],
): Promise<void> {
  await until(async () => {
    const rule = (await managed.get(`/rules/${id}`)).body.data as RuleRow;
    const [metrics] = rule.actions[0]?.metrics ?? [];
    const { success, failed } = metrics ?? { success: 0, failed: 0 };
    assert.ok(success <= wanted[0] && failed <= wanted[1], `${success} and ${failed}`);
    return success === wanted[0] && failed === wanted[1] ? true : undefined;
  });
}

const sql = 'SELECT payload.x AS x, client_id FROM "t/#"';

for (const workers of [0, 2]) {
  test(`a web server is told what a rule selects, with ${workers} workers`, async () => {
    await using sink = await Sink.open();
    await using managed = await startRuled(workers);
    const { id } = await created(managed, '/resources', {
      type: 'web_hook',
      config: { url: sink.url, headers: { 'X-Own': 'a' } },
    });
    assert.match(id, /^resource:[0-9a-f]{8}$/);
    const action = { name: 'data_to_webserver', params: { $resource: id } };
    const rule = await created(managed, '/rules', { rawsql: sql, actions: [action] });
    const client = await connect(managed, 'c1');
    for (let x = 0; x < 50; x++) await client.publishAsync(`t/${x}`, `{"x":${x}}`, { qos: 1 });
    await counted(managed, rule.id, [50, 0]);
    const seen = sink.told.map(({ body }) => (JSON.parse(body) as { x: number }).x);
    assert.deepEqual(
      seen.toSorted((a, b) => a - b),
      Array.from({ length: 50 }, (_, x) => x),
    );
    const [first] = sink.told;
    assert.deepEqual(
      [first?.method, first?.path, first?.headers['x-own'], first?.headers['content-type']],
      ['POST', '/told', 'a', 'application/json'],
    );
    await client.endAsync();
  });

  test(`what a server refuses is a failure and has its fallback run, with ${workers} workers`, async () => {
    await using sink = await Sink.open();
    await using managed = await startRuled(workers);
    sink.manner = ({ path }) => (path.endsWith('/bad') ? 400 : 201);
    const { id: $resource } = await created(managed, '/resources', {
      type: 'web_hook',
      config: { url: sink.url },
    });
    const fallbacks = [
      { name: 'data_to_webserver', params: { $resource, path: 'good', payload_tmpl: '${x}!' } },
    ];
    const action = { name: 'data_to_webserver', params: { $resource, path: 'bad' }, fallbacks };
    const rule = await created(managed, '/rules', { rawsql: sql, actions: [action] });
    const client = await connect(managed, 'c1');
    await client.publishAsync('t/1', '{"x":7}', { qos: 1 });
    await sink.until((told) => told.some(({ body }) => body === '7!'));
    await counted(managed, rule.id, [0, 1]);
    await until(async () => {
      const shown = (await managed.get(`/rules/${rule.id}`)).body.data as RuleRow;
      return shown.actions[0]?.fallbacks?.[0]?.metrics[0]?.success === 1 ? true : undefined;
    });
    assert.deepEqual(
      sink.told.map(({ path }) => path),
      ['/told/bad', '/told/good'],
    );
    await client.endAsync();
  });
}

for (const manner of ['garbage', 'reset', 'silent', 503, 500, 429] as readonly Manner[]) {
  test(`an event reaches a server that first answers ${manner}`, async () => {
    await using sink = await Sink.open();
    await using managed = await startRuled(0);
    let tries = 0;
    sink.manner = () => (++tries <= 2 ? manner : 200);
    const { id: $resource } = await created(managed, '/resources', {
      type: 'web_hook',
      config: { url: sink.url, request_timeout: 0.3 },
    });
    const action = { name: 'data_to_webserver', params: { $resource } };
    const rule = await created(managed, '/rules', { rawsql: sql, actions: [action] });
    const client = await connect(managed, 'c1');
    await client.publishAsync('t/1', '{"x":1}', { qos: 1 });
    await counted(managed, rule.id, [1, 0]);
    assert.equal(sink.told.length, 3);
    await client.endAsync();
  });
}

test('a publisher does not wait for a server that never answers, and its rule fails in time', async () => {
  await using sink = await Sink.open();
  await using managed = await startRuled(2);
  sink.manner = 'silent';
  const { id: $resource } = await created(managed, '/resources', {
    type: 'web_hook',
    config: { url: sink.url, request_timeout: 1, retry_seconds: 0, queue_size: 3, pool_size: 1 },
  });
  const action = { name: 'data_to_webserver', params: { $resource } };
  const rule = await created(managed, '/rules', { rawsql: sql, actions: [action] });
  const client = await connect(managed, 'c1');
  for (let x = 0; x < 10; x++) await client.publishAsync('t/1', `{"x":${x}}`, { qos: 1 });
  await counted(managed, rule.id, [0, 10]);
  assert.ok(sink.told.length <= 3, `${sink.told.length}`);
  await client.endAsync();
});

test('events wait for a server that is down, and it is an alarm until it is back', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'broker-resources-'));
  await using sink = await Sink.open();
  try {
    await using managed = await startRuled(2, dir);
    const { id: $resource } = await created(managed, '/resources', {
      type: 'web_hook',
      config: { url: sink.url },
    });
    const alive = async (): Promise<unknown> =>
      (await managed.get(`/resource_status/${$resource}`)).body.data;
    const alarms = async (): Promise<readonly string[]> =>
      ((await managed.get('/alarms/present')).body.data as { alarms: { id: string }[] }[]).flatMap(
        (node) => node.alarms.map(({ id }) => id),
      );
    assert.deepEqual(await alive(), { is_alive: true });
    const action = { name: 'data_to_webserver', params: { $resource } };
    const rule = await created(managed, '/rules', { rawsql: sql, actions: [action] });
    await sink.down();
    assert.deepEqual(await alive(), { is_alive: false });
    assert.ok((await alarms()).includes(`resource_down/${$resource}`));
    const client = await connect(managed, 'c1');
    for (let x = 0; x < 20; x++) await client.publishAsync('t/1', `{"x":${x}}`, { qos: 1 });
    await sink.up();
    await counted(managed, rule.id, [20, 0]);
    assert.deepEqual(await alive(), { is_alive: true });
    assert.deepEqual(await alarms(), []);
    await client.endAsync();
    await managed[Symbol.asyncDispose]();
    await using again = await startRuled(2, dir);
    const next = await connect(again, 'c2');
    await next.publishAsync('t/1', '{"x":99}', { qos: 1 });
    await sink.until((told) => told.some(({ body }) => body.includes('"x":99')));
    await next.endAsync();
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
});

test('counts are exact under load with a server that fails now and then', async () => {
  await using sink = await Sink.open();
  await using managed = await startRuled(2);
  let asked = 0;
  const manners: readonly Manner[] = [200, 503, 200, 'reset', 404, 200, 200];
  sink.manner = () => manners[asked++ % manners.length] ?? 200;
  const { id: $resource } = await created(managed, '/resources', {
    type: 'web_hook',
    config: { url: sink.url, pool_size: 8 },
  });
  const action = { name: 'data_to_webserver', params: { $resource } };
  const rule = await created(managed, '/rules', { rawsql: sql, actions: [action] });
  const clients = await Promise.all([0, 1, 2, 3].map((c) => connect(managed, `c${c}`)));
  await Promise.all(
    clients.flatMap((client, c) =>
      Array.from({ length: 100 }, (_, i) =>
        client.publishAsync('t/1', `{"x":${c * 100 + i}}`, { qos: 1 }),
      ),
    ),
  );
  const totals = await until(async () => {
    const row = (await managed.get(`/rules/${rule.id}`)).body.data as RuleRow;
    const { success, failed } = row.actions[0]?.metrics[0] ?? { success: 0, failed: 0 };
    return success + failed === 400 ? { success, failed } : undefined;
  });
  const refused = Math.floor(asked / 7) + (asked % 7 >= 5 ? 1 : 0);
  assert.deepEqual(totals, { success: 400 - refused, failed: refused });
  const seen = new Set(sink.told.map(({ body }) => (JSON.parse(body) as { x: number }).x));
  assert.equal(seen.size, 400);
  await Promise.all(clients.map((client) => client.endAsync()));
});
