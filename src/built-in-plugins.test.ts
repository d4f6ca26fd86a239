import assert from 'node:assert/strict';
import test from 'node:test';
import { loadSettings } from '#config/load';
import type { BuiltIn } from '#host/built-in';
import { builtInPlugins, type BuiltInParts } from './built-in-plugins.ts';

function dashboardOf(doors: object, listener = '127.0.0.1:0'): BuiltIn {
  const parts = {
    settings: loadSettings({ sets: [`dashboard.listener.http=${listener}`] }),
    services: { users: { hasShippedPassword: true } },
    doors,
  } as unknown as BuiltInParts;
  const found = builtInPlugins(parts).find(({ name }) => name === 'broker_dashboard');
  assert.ok(found);
  return found;
}

test('a dashboard without a listener says why it cannot start', () => {
  assert.match(
    dashboardOf({}, 'off').obstacle?.() ?? '',
    /Cannot start broker_dashboard: it has no listener/,
  );
  assert.equal(dashboardOf({}).obstacle?.(), undefined);
});

test('a load of the dashboard waits until the port that is closing is closed', async () => {
  const closed = Promise.withResolvers<void>();
  const done: string[] = [];
  const dashboard = dashboardOf({
    open: async (owner: string, options: object) =>
      void done.push(`open ${owner} ${JSON.stringify(options)}`),
    close: async () => {
      await closed.promise;
      done.push('closed');
    },
  });
  await dashboard.stop?.();
  const opened = dashboard.start?.();
  closed.resolve();
  await opened;
  assert.deepEqual(done, ['closed', 'open dashboard {"shutIn":true}']);
});
