// The configuration over HTTP: shown without secrets, set by key, kept over a restart.

import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'node:test';
import { connectAsync } from 'mqtt';
import { loadConfig } from '#config/load';
import { type Managed, startManaged } from '#test/managed';

const name = 'broker@127.0.0.1';

interface Item {
  readonly key: string;
  readonly value: string;
  readonly origin: string;
  readonly pending?: string;
}

async function item(managed: Managed, key: string): Promise<Item | undefined> {
  const { body } = await managed.get(`/nodes/${name}/configs`);
  return (body.data as Item[]).find((one) => one.key === key);
}

const conf = `
log.level = warning
retainer.max_payload_size = 2MB
management.application.default_secret = keepthisquiet
`;

test('configs tell every key with value, kind and application, and no secret', async () => {
  await using managed = await startManaged({ conf });
  const { body, text } = await managed.get('/configs/');
  const [own] = body.data as { node: string; config: Item[] }[];
  assert.equal(own?.node, name);
  const { origin, ...level } = {
    origin: '',
    ...own?.config.find(({ key }) => key === 'retainer.max_payload_size'),
  };
  assert.match(origin, /broker\.conf:3$/);
  assert.deepEqual(level, {
    key: 'retainer.max_payload_size',
    value: '2MB',
    datatpye: 'bytesize',
    app: 'broker_retainer',
  });
  assert.doesNotMatch(text, /keepthisquiet|"public"/);
  const secret = own?.config.find(({ key }) => key.endsWith('default_secret'));
  assert.equal(secret?.value, '******');
});

for (const workers of [0, 2]) {
  test(`log.level takes effect at once in all threads (${workers} workers)`, async () => {
    const settings = { allow_anonymous: 'true' };
    await using managed = await startManaged({ workers, conf, settings });
    const put = async (value: string): Promise<unknown> =>
      (await managed.put('/configs/broker', { key: 'log.level', value })).body;
    const connectedLines = (): number =>
      managed.logged.filter((line) => line.includes('"event":"client.connected"')).length;
    const connect = async (): Promise<void> => {
      const url = `mqtt://127.0.0.1:${managed.mqttPort}`;
      const client = await connectAsync(url, { reconnectPeriod: 0 });
      await client.endAsync();
    };
    const now = { code: 0, data: { effective: 'now' } };

    assert.deepEqual(await put('error'), now);
    assert.equal(managed.parts.log.level, 'error');
    assert.equal((await item(managed, 'log.level'))?.value, 'error');
    assert.equal((await item(managed, 'log.level'))?.pending, undefined);
    await connect();
    assert.equal(connectedLines(), 0);

    assert.deepEqual(await put('debug'), now);
    await connect();
    // The line of a worker comes by itself; each question gives it a turn.
    const deadline = AbortSignal.timeout(10_000);
    while (connectedLines() === 0) {
      assert.ok(!deadline.aborted, 'no line of a worker came');
      await item(managed, 'log.level');
    }
  });
}

test('what is set survives a restart, and what is taken away does not', async (t) => {
  const dir = mkdtempSync(join(tmpdir(), 'broker-configs-'));
  t.after(() => rmSync(dir, { recursive: true }));
  const body = { key: 'retainer.max_payload_size', value: '3MB' };
  {
    await using managed = await startManaged({ dir, conf });
    const answer = await managed.put('/configs/broker_retainer', body);
    assert.deepEqual(answer.body, { code: 0, data: { effective: 'after restart' } });
    const found = await item(managed, body.key);
    assert.deepEqual([found?.value, found?.pending], ['2MB', '3MB']);
    assert.match(found?.origin ?? '', /broker\.conf:3$/);
    assert.equal(managed.parts.settings.retainer.maxPayloadBytes, 2 * 1024 ** 2);
    assert.match(
      readFileSync(join(dir, 'data', 'overrides.conf'), 'utf8'),
      /^## .*\n(## .*\n)+\nretainer\.max_payload_size = 3MB\n$/,
    );
  }
  {
    await using managed = await startManaged({ dir, conf });
    assert.equal(managed.parts.settings.retainer.maxPayloadBytes, 3 * 1024 ** 2);
    const answer = await managed.delete(`/configs/broker_retainer?key=${body.key}`);
    assert.deepEqual(answer.body, { code: 0, data: { effective: 'after restart' } });
  }
  const { effective } = loadConfig({
    configFile: join(dir, 'broker.conf'),
    dataDir: join(dir, 'data'),
  });
  const left = effective.find(({ key }) => key === body.key);
  assert.deepEqual([left?.text, left?.source], ['2MB', 'file']);
});

test('what the files could not say is refused with the words of the loader', async () => {
  await using managed = await startManaged({ conf });
  const put = async (app: string, body: unknown): Promise<[number, number, string | undefined]> => {
    const answer = await managed.put(`/configs/${app}`, body);
    return [answer.status, answer.body.code, answer.body.message];
  };
  assert.deepEqual(await put('broker', { key: 'log.levle', value: 'x' }), [
    200,
    102,
    'Cannot use key "log.levle": unknown key, did you mean "log.level"?',
  ]);
  assert.deepEqual(await put('broker', { key: 'node.max_clients', value: 0 }), [
    200,
    102,
    'Cannot use node.max_clients = "0": expected a whole number, 1 or more',
  ]);
  assert.deepEqual((await put('broker', { key: 'log.level' })).slice(0, 2), [200, 107]);
  assert.deepEqual((await put('broker', { key: 'log.level', value: {} })).slice(0, 2), [200, 108]);
  assert.deepEqual((await put('broker_none', { key: 'a', value: 'b' })).slice(0, 2), [404, 404]);
  assert.ok(!existsSync(join(managed.dir, 'data', 'overrides.conf')));
});

interface PluginItem {
  readonly key: string;
  readonly value: string;
  readonly desc: string;
  readonly required: boolean;
}

test('the keys of a plugin are shown, changed all at once, and sent back as they were', async () => {
  await using managed = await startManaged({ conf });
  const path = (plugin: string): string => `/nodes/${name}/plugin_configs/${plugin}`;
  const rows = async (plugin: string): Promise<PluginItem[]> =>
    (await managed.get(path(plugin))).body.data as PluginItem[];

  const [first, ...unset] = await rows('broker_retainer');
  assert.deepEqual(
    [first?.key, first?.value, first?.required],
    ['retainer.max_payload_size', '2MB', true],
  );
  assert.match(first?.desc ?? '', /^Largest payload that is kept/);
  assert.ok(unset.length > 0);
  assert.ok(unset.every(({ value, required }) => value === '' && !required));

  const management = await rows('broker_management');
  const secret = management.find(({ key }) => key.endsWith('default_secret'));
  assert.equal(secret?.value, '******');
  const asShown = Object.fromEntries(management.map(({ key, value }) => [key, value]));
  const same = await managed.put(path('broker_management'), asShown);
  assert.deepEqual(same.body, { code: 0, data: { effective: 'now' } });
  const overrides = join(managed.dir, 'data', 'overrides.conf');
  assert.ok(!existsSync(overrides), 'nothing was changed');

  const sent = { 'retainer.max_payload_size': '4MB', 'retainer.expiry_interval': '1h' };
  assert.deepEqual((await managed.put(path('broker_retainer'), sent)).body.code, 0);
  const changed = await rows('broker_retainer');
  assert.deepEqual(
    changed.filter(({ required }) => required).map(({ key, value }) => [key, value]),
    [
      ['retainer.max_payload_size', '4MB'],
      ['retainer.expiry_interval', '1h'],
    ],
  );
  const back = { 'retainer.expiry_interval': '', 'retainer.max_payload_size': '4MB' };
  assert.deepEqual((await managed.put(path('broker_retainer'), back)).body.code, 0);
  assert.doesNotMatch(readFileSync(overrides, 'utf8'), /expiry_interval/);

  const bad = await managed.put(path('broker_retainer'), { 'retainer.expiry_interval': 'soon' });
  assert.equal(bad.body.code, 102);
  assert.match(bad.body.message ?? '', /^Cannot use retainer\.expiry_interval = "soon": expected/);
  const { status, body } = await managed.get(path('broker_none'));
  assert.deepEqual([status, body.code], [404, 404]);
});
