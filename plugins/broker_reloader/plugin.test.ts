import assert from 'node:assert/strict';
import test from 'node:test';
import { startManaged } from '#test/managed';
import { Reloader } from './control.ts';

/** Plugins whose code is this, and which of it can be taken up. */
function reloaderWith(changed: Map<string, string>, broken: Set<string>) {
  const tried: string[] = [];
  const logged: string[] = [];
  const plugins = {
    changed: () => [...changed].map(([plugin, stamp]) => ({ plugin, stamp })),
    async reload(plugin: string): Promise<void> {
      const stamp = changed.get(plugin) ?? '';
      tried.push(`${plugin} ${stamp}`);
      if (broken.has(stamp)) throw new Error('not ready');
      changed.delete(plugin);
    },
  };
  const say = (event: string): void => void logged.push(event);
  const log = { info: say, warn: say } as never;
  return { reloader: new Reloader({ plugins, log }), tried, logged };
}

test('what has changed is taken up once', async () => {
  const { reloader, tried, logged } = reloaderWith(new Map([['a', '2']]), new Set());
  await reloader.look();
  await reloader.look();
  assert.deepEqual([tried, logged], [['a 2'], ['reloader.reloaded']]);
});

test('code that cannot be taken up is tried again when it has changed again, and keeps no other', async () => {
  const changed = new Map([
    ['a', 'bad'],
    ['b', '2'],
  ]);
  const { reloader, tried, logged } = reloaderWith(changed, new Set(['bad', 'worse']));
  await reloader.look();
  await reloader.look();
  assert.deepEqual(tried, ['a bad', 'b 2']);
  changed.set('a', 'worse');
  await reloader.look();
  changed.set('a', 'good');
  await reloader.look();
  changed.set('a', 'bad');
  await reloader.look();
  assert.deepEqual(tried.slice(2), ['a worse', 'a good', 'a bad']);
  assert.deepEqual(logged, [
    'reloader.failed',
    'reloader.reloaded',
    'reloader.failed',
    'reloader.reloaded',
    'reloader.failed',
  ]);
});

for (const workers of [0, 2]) {
  test(`reload prints its lines, with ${workers} workers`, async () => {
    const settings = { 'plugins.loaded': 'broker_reloader,broker_recon' };
    await using managed = await startManaged({ workers, settings });
    const said = async (...args: readonly string[]): Promise<unknown[]> => {
      const { stdout, code } = await managed.ctl(...args);
      return [stdout, code];
    };
    const done = (name: string): unknown[] => [`Reload module ${name} successfully.\n`, 0];
    const failed = (name: string, why: string): unknown[] => [
      `Failed to reload module ${name}: ${why}.\n`,
      1,
    ];
    assert.deepEqual(await said('reload', 'broker_recon'), done('broker_recon'));
    assert.deepEqual(await said('reload', 'broker_reloader'), done('broker_reloader'));
    assert.deepEqual(await said('reload', 'broker_reloader'), done('broker_reloader'));
    assert.deepEqual(await said('reload', 'nobody'), failed('nobody', 'not_found'));
    assert.deepEqual(await said('reload', '../x'), failed('../x', 'not_found'));
  });
}
