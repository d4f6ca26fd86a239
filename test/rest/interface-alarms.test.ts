// Alarms of every kind as the interface has them: present ones by node, and in the history exactly
// `id`, `desc` and `clear_at`, each a text.

import assert from 'node:assert/strict';
import test from 'node:test';
import { startManaged } from '#test/managed';
import { assertShape, pastAlarm } from './interface-shapes.ts';

const node = 'broker@127.0.0.1';

for (const workers of [0, 2]) {
  test(`the history has texts alone, whatever the alarm was (${workers} workers)`, async () => {
    await using managed = await startManaged({ workers });
    const { alarms } = managed.node;
    alarms.raise('cpu_high_watermark', { text: '82.6' });
    alarms.raise('store', { error: 'no space left', worker: 0 });
    alarms.raise('overload', {});
    const names = ['cpu_high_watermark', 'store', 'overload'];
    for (const name of names) alarms.clear(name);
    const { body } = await managed.get(`/alarms/history/${node}/`);
    const items = body.data as readonly { readonly id: string; readonly desc: string }[];
    for (const item of items) assertShape(item, pastAlarm);
    assert.deepEqual(
      items.map(({ id, desc }) => [id, desc]),
      [
        ['cpu_high_watermark', '82.6'],
        ['store', 'The store cannot be written: error: no space left, worker: 0'],
        ['overload', 'The broker is overloaded'],
      ],
    );
    const { body: all } = await managed.get('/alarms/history/');
    assert.deepEqual(all, { code: 0, data: [{ node, alarms: items }] });
    for (const path of ['/alarms/', '/alarms/present/']) {
      assert.deepEqual((await managed.get(path)).body, { code: 0, data: [{ node, alarms: [] }] });
      assert.deepEqual((await managed.get(`${path}${node}`)).body, { code: 0, data: [] });
    }
    const { stdout } = await managed.ctl('alarms', 'history');
    const lines = stdout.trimEnd().split('\n');
    assert.equal(lines.length, 3);
    for (const [i, line] of lines.entries()) {
      const { id, desc } = items[i] ?? { id: '', desc: '' };
      assert.ok(line.startsWith(`Alarm(${id}, desc=${desc}, clear_at=`), line);
    }
  });
}
