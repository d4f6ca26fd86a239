import assert from 'node:assert/strict';
import test from 'node:test';
import { OperatingError } from './failures.ts';
import { type ChangedKeys, PluginList } from './plugin-list.ts';

class Dashboard {
  isActive = true;
  readonly done: string[] = [];
  portTaken = false;
  async start(): Promise<void> {
    if (this.portTaken) throw new Error('Cannot listen on 18083: it is taken');
    this.done.push('start');
    this.isActive = true;
  }
  async stop(): Promise<void> {
    this.done.push('stop');
    this.isActive = false;
  }
}

function listOf(dashboard: Dashboard | undefined, changed: ChangedKeys = () => []): PluginList {
  return new PluginList({ version: '1.2.3', dashboard }, changed);
}

const failure = (code: number, message: RegExp) => (error: unknown) =>
  error instanceof OperatingError && error.code === code && message.test(error.message);

test('plugins are listed by name, each with what it is', () => {
  const rows = listOf(new Dashboard()).rows();
  assert.deepEqual(
    rows.map(({ name, active, version, type }) => [name, active, version, type]),
    [
      ['broker_dashboard', true, 'v1.2.3', 'feature'],
      ['broker_management', true, 'v1.2.3', 'feature'],
      ['broker_retainer', true, 'v1.2.3', 'feature'],
    ],
  );
});

test('a plugin that runs cannot be loaded, and one that does not cannot be unloaded', async () => {
  const dashboard = new Dashboard();
  const plugins = listOf(dashboard);
  await assert.rejects(plugins.load('broker_dashboard'), failure(102, /^already_started$/));
  await plugins.unload('broker_dashboard');
  assert.equal(plugins.rows()[0]?.active, false);
  await assert.rejects(plugins.unload('broker_dashboard'), failure(102, /^not_started$/));
  await plugins.load('broker_dashboard');
  assert.deepEqual(dashboard.done, ['stop', 'start']);
});

test('what always runs cannot be unloaded', async () => {
  const plugins = listOf(undefined);
  for (const name of ['broker_management', 'broker_retainer']) {
    await assert.rejects(plugins.unload(name), failure(102, /can not be unloaded/));
    await assert.rejects(plugins.load(name), failure(102, /^already_started$/));
  }
});

test('an unknown plugin is not found', async () => {
  const plugins = listOf(undefined);
  for (const verb of ['load', 'unload', 'reload'] as const) {
    await assert.rejects(plugins[verb]('broker_none'), failure(404, /Cannot find plugin/));
    await assert.rejects(plugins[verb]('toString'), failure(404, /Cannot find plugin/));
  }
});

test('a dashboard without a listener is inactive and says why it cannot start', async () => {
  const plugins = listOf(undefined);
  assert.equal(plugins.rows()[0]?.active, false);
  await assert.rejects(plugins.load('broker_dashboard'), failure(102, /it has no listener/));
});

test('a port that was taken meanwhile is the answer to a load', async () => {
  const dashboard = new Dashboard();
  const plugins = listOf(dashboard);
  await plugins.unload('broker_dashboard');
  dashboard.portTaken = true;
  await assert.rejects(plugins.load('broker_dashboard'), failure(102, /it is taken/));
  assert.equal(plugins.rows()[0]?.active, false);
});

test('a load waits until the port that is closing is closed', async () => {
  const dashboard = new Dashboard();
  const closed = Promise.withResolvers<void>();
  dashboard.stop = async () => {
    dashboard.isActive = false;
    await closed.promise;
    dashboard.done.push('closed');
  };
  const plugins = listOf(dashboard);
  await plugins.unload('broker_dashboard');
  const loaded = plugins.load('broker_dashboard');
  closed.resolve();
  await loaded;
  assert.deepEqual(dashboard.done, ['closed', 'start']);
});

test('a reload starts what does not run, and refuses values that need a restart', async () => {
  const dashboard = new Dashboard();
  let changed: string[] = [];
  const plugins = listOf(dashboard, () => changed);
  await plugins.reload('broker_retainer');
  await plugins.reload('broker_dashboard');
  assert.deepEqual(dashboard.done, []);
  await plugins.unload('broker_dashboard');
  await plugins.reload('broker_dashboard');
  assert.deepEqual(dashboard.done, ['stop', 'start']);
  changed = ['retainer.max_payload_size'];
  await assert.rejects(
    plugins.reload('broker_retainer'),
    failure(102, /retainer\.max_payload_size changed, which needs a restart/),
  );
});
