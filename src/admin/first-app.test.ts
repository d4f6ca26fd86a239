import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'node:test';
import { systemClock } from '#base/clock';
import { loadSettings } from '#config/load';
import { DurableStore } from '#store/durable-store';
import { MemoryEngine } from '#store/memory-engine';
import { Apps } from './apps.ts';
import { FailedTries } from './failed-tries.ts';
import { ensureFirstApp } from './first-app.ts';

const address = '127.0.0.1';

function begin(sets: readonly string[] = []) {
  const dataDir = mkdtempSync(join(tmpdir(), 'broker-first-app-'));
  const records = new DurableStore(new MemoryEngine(), { clock: systemClock });
  const tries = new FailedTries(systemClock);
  const apps = new Apps({ records, clock: systemClock, tries, defaultSecret: undefined });
  const start = (more: readonly string[] = []) =>
    ensureFirstApp(
      apps,
      records,
      loadSettings({ dataDir, sets: ['management.listener.http=8080', ...sets, ...more] }),
    );
  return { apps, start, [Symbol.dispose]: () => rmSync(dataDir, { recursive: true }) };
}

test('the first start makes an application with a secret that its owner alone may read', async () => {
  using set = begin();
  const made = await set.start();
  assert.equal(made?.id, 'admin');
  assert.equal(await set.apps.verify('admin', made?.secret ?? '', address), true);
  assert.equal(readFileSync(made?.file ?? '', 'utf8'), `admin:${made?.secret}\n`);
  assert.equal(statSync(made?.file ?? '').mode & 0o777, 0o600);
});

test('the next start makes none, also when the first one was removed', async () => {
  using set = begin();
  await set.start();
  await set.apps.remove('admin');
  assert.equal(await set.start(), undefined);
  assert.deepEqual(set.apps.list(), []);
});

test('a secret of the configuration holds at every start, and is written nowhere', async () => {
  using set = begin(['management.default_application.id=ours']);
  for (const secret of ['first-secret', 'second-secret']) {
    assert.equal(await set.start([`management.default_application.secret=${secret}`]), undefined);
    assert.equal(await set.apps.verify('ours', secret, address), true);
  }
  assert.equal(await set.apps.verify('ours', 'first-secret', address), false);
});

test('without a port of management none is made', async () => {
  using set = begin();
  assert.equal(await set.start(['management.listener.http=off']), undefined);
  assert.deepEqual(set.apps.list(), []);
});
