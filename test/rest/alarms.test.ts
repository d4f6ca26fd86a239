// Alarms through the API and under $SYS/, over a restart.

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'node:test';
import { type Managed, startManaged } from '#test/managed';
import { RawClient } from '#test/raw-client';

const name = 'broker@127.0.0.1';
const time = /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/;

interface Item {
  readonly id: string;
  readonly desc: string | { readonly timestamp: string };
  readonly clear_at?: string;
}
type OfNodes = readonly { readonly node: string; readonly alarms: readonly Item[] }[];

async function itemsAt(managed: Managed, path: string): Promise<readonly Item[]> {
  const { status, body } = await managed.get(path);
  assert.deepEqual([status, body.code], [200, 0], path);
  const data = body.data as OfNodes | readonly Item[];
  const [first] = data;
  if (first === undefined || !('alarms' in first)) return data as readonly Item[];
  assert.deepEqual(
    (data as OfNodes).map(({ node }) => node),
    [name],
  );
  return first.alarms;
}

async function readerOf(managed: Managed, filter: string): Promise<RawClient> {
  const reader = await RawClient.open(managed.mqttPort);
  await reader.connect({ clientId: 'reader' });
  await reader.subscribe(filter);
  return reader;
}

for (const workers of [0, 2]) {
  test(`alarms are listed while they are present and afterwards, ${workers} workers`, async () => {
    await using managed = await startManaged({ workers, settings: { allow_anonymous: 'true' } });
    const { alarms } = managed.node;
    await using reader = await readerOf(managed, `$SYS/brokers/${name}/alarms/+`);
    assert.deepEqual(await itemsAt(managed, '/alarms/present'), []);
    alarms.raise('cpu_high_watermark', { text: '82.6' });
    alarms.raise('store', { error: 'no space left', worker: 0 });
    const [{ sinceMs } = { sinceMs: 0 }] = alarms.present().slice(1);
    for (const path of [
      '/alarms',
      '/alarms/present',
      `/alarms/${name}`,
      `/alarms/present/${name}`,
    ]) {
      const [plain, structured] = await itemsAt(managed, path);
      assert.deepEqual(plain, { id: 'cpu_high_watermark', desc: '82.6' }, path);
      const { timestamp = '', ...desc } = (structured?.desc ?? {}) as { timestamp?: string };
      assert.match(timestamp, time);
      assert.deepEqual(desc, {
        severity: 'critical',
        title: 'The store cannot be written',
        summary: 'error: no space left, worker: 0',
      });
    }
    const { stdout } = await managed.ctl('alarms', 'list');
    assert.match(
      stdout,
      /^Alarm\(cpu_high_watermark, desc=82\.6\)\nAlarm\(store, severity=critical, title=The store .*\)\n?$/,
    );
    alarms.clear('cpu_high_watermark');
    const past = await managed.ctl('alarms', 'history');
    assert.match(
      past.stdout,
      /^Alarm\(cpu_high_watermark, desc=82\.6, clear_at=[-\d]+ [:\d]+\)\n?$/,
    );
    for (const path of ['/alarms/history', `/alarms/history/${name}`]) {
      const [item, ...others] = await itemsAt(managed, path);
      assert.deepEqual([item?.id, item?.desc, others], ['cpu_high_watermark', '82.6', []]);
      assert.match(item?.clear_at ?? '', time);
    }
    const told = [await reader.receive(), await reader.receive(), await reader.receive()];
    const topics = told.map(({ topic }) => topic.split('/').at(-1));
    const payloads = told.map(({ payload }) => JSON.parse(payload.toString()) as unknown);
    assert.deepEqual(topics, ['alert', 'alert', 'clear']);
    assert.deepEqual(payloads, [
      { id: 'cpu_high_watermark', desc: '82.6' },
      {
        id: 'store',
        desc: {
          severity: 'critical',
          title: 'The store cannot be written',
          summary: 'error: no space left, worker: 0',
          timestamp: sinceMs,
        },
      },
      { id: 'cpu_high_watermark' },
    ]);
  });
}

test('alarms of a node that is not there are not found', async () => {
  await using managed = await startManaged();
  for (const path of ['/alarms/x@y', '/alarms/present/x@y', '/alarms/history/x@y']) {
    const { status, body } = await managed.get(path);
    assert.deepEqual([status, body.code], [404, 404], path);
  }
});

for (const workers of [0, 2]) {
  test(`the history of alarms survives, and what was present is cleared, ${workers} workers`, async () => {
    const dir = mkdtempSync(join(tmpdir(), 'broker-alarms-'));
    try {
      await using first = await startManaged({ workers, dir });
      const { alarms } = first.node;
      alarms.raise('over', { text: '1' });
      alarms.clear('over');
      alarms.raise('over', { text: '2' });
      alarms.clear('over');
      alarms.raise('present', { text: 'still' });
      await first.node.records.flushed();
      await first[Symbol.asyncDispose]();
      const restartedAtMs = Date.now();
      await using second = await startManaged({ workers, dir });
      assert.deepEqual(await itemsAt(second, '/alarms/present'), []);
      const history = await itemsAt(second, '/alarms/history');
      assert.deepEqual(
        history.map(({ id, desc }) => [id, desc]),
        [
          ['over', '2'],
          ['present', 'still'],
        ],
      );
      const [, present] = second.node.alarms.history();
      assert.ok((present?.untilMs ?? 0) >= restartedAtMs);
      second.node.alarms.raise('present', { text: 'again' });
      assert.deepEqual(await itemsAt(second, '/alarms'), [{ id: 'present', desc: 'again' }]);
    } finally {
      rmSync(dir, { recursive: true, force: true });
    }
  });
}
