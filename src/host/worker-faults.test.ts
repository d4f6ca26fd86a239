// A worker that cannot be told what is to run: what the plugin holds in the control thread ends all the same.

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'node:test';
import { VirtualClock } from '#base/clock';
import { createLog } from '#base/log';
import { KeyTable } from '#config/key-table';
import { loadSettings } from '#config/load';
import { readPlugin } from '#plugin/discover';
import { Catalogue } from '#admin/catalogue';
import { UserPlugins } from '#test/user-plugins';
import type { HostParts } from './host-parts.ts';
import { PluginHost } from './plugin-host.ts';

test('a control part ends when its plugin is unloaded or fails, also where a worker cannot be told', async (t) => {
  using user = new UserPlugins();
  const dir = mkdtempSync(join(tmpdir(), 'broker-host-'));
  t.after(() => rmSync(dir, { recursive: true, force: true }));
  const ended = { count: 0 };
  (globalThis as { ended?: object }).ended = ended;
  const folder = user.plugin('held', { control: 'ctx.defer(() => globalThis.ended.count++);' });
  let isDeaf = false;
  const parts: Partial<HostParts> = {
    found: [await readPlugin(folder, 'held', 0)],
    builtIn: [],
    catalogue: new Catalogue(),
    keys: new KeyTable(),
    settings: loadSettings({ sets: [`node.data_dir=${dir}`, 'plugins.loaded=held'] }),
    clock: new VirtualClock(),
    log: createLog('emergency', []),
    version: '1.2.3',
    alarms: { raise: () => undefined, clear: () => undefined },
    integration: { leave: async () => undefined } as unknown as HostParts['integration'],
    workers: {
      onQuestion: () => undefined,
      uphold: async () => {
        if (isDeaf) throw new Error('no answer');
        return [];
      },
    } as unknown as HostParts['workers'],
  };
  const host = new PluginHost(parts as HostParts);
  await host.start();
  isDeaf = true;
  await assert.rejects(host.reload('held'), /no answer/);
  assert.deepEqual([ended.count, host.isActive('held')], [1, true], 'the new one');
  await assert.rejects(host.unload('held'), /no answer/);
  assert.deepEqual([ended.count, host.isActive('held')], [2, false], 'the old one');
});
