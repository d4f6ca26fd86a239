// Plugins and configs on the console where something is really switched: the other lines are golden.

import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';
import { type Managed, startManaged } from '#test/managed';

async function said(managed: Managed, line: string): Promise<[string, number]> {
  const { stdout, stderr, code } = await managed.ctl(...line.split(' '));
  assert.equal(stderr, '', line);
  return [stdout, code];
}

test('plugins load and unload print their lines', async () => {
  await using managed = await startManaged({
    settings: { 'dashboard.listener.http': '127.0.0.1:0' },
  });
  const [list] = await said(managed, 'plugins list');
  assert.match(
    list,
    /^Plugin\(broker_dashboard, version=v0\.0\.0, description=Broker Dashboard, active=true\)\n/m,
  );
  assert.deepEqual(await said(managed, 'plugins unload broker_dashboard'), [
    'Plugin broker_dashboard unloaded successfully.\n',
    0,
  ]);
  assert.deepEqual(await said(managed, 'plugins unload broker_dashboard'), [
    'unload plugin error: not_started\n',
    1,
  ]);
  assert.deepEqual(await said(managed, 'plugins load broker_dashboard'), [
    'Start apps: [broker_dashboard]\nPlugin broker_dashboard loaded successfully.\n',
    0,
  ]);
  assert.deepEqual(await said(managed, 'plugins reload nobody'), [
    'Reload plugin error: plugin_not_exist\n',
    1,
  ]);
});

test('a reload of changed or broken files says what is in the way', async () => {
  await using managed = await startManaged({ conf: 'retainer.max_payload_size = 2MB\n' });
  const set = 'configs set broker_retainer retainer.max_payload_size 3MB';
  assert.deepEqual(await said(managed, set), [
    'retainer.max_payload_size is set, effective after restart\n',
    0,
  ]);
  assert.deepEqual(await said(managed, 'plugins reload broker_retainer'), [
    'Reload plugin error: Cannot reload broker_retainer: retainer.max_payload_size changed, which needs a restart of the broker\n',
    1,
  ]);
  const [list] = await said(managed, 'configs list broker_retainer');
  assert.match(
    list,
    /^retainer\.max_payload_size = 2MB {2}# \S*broker\.conf:1, 3MB after restart$/m,
  );
  writeFileSync(join(managed.dir, 'broker.conf'), 'retainer.max_payload_size = much\n');
  const [broken, code] = await said(managed, 'plugins reload broker_retainer');
  assert.match(broken, /^Reload plugin error: parse_config_file_failed: .*broker\.conf:1: /);
  assert.equal(code, 1);
});
