// Plugins over HTTP: listed, and the dashboard's port closed and opened by its name.

import assert from 'node:assert/strict';
import test from 'node:test';
import { startManaged } from '#test/managed';

const name = 'broker@127.0.0.1';
const dashboard = `/nodes/${name}/plugins/broker_dashboard`;

interface Plugin {
  readonly name: string;
  readonly active: boolean;
  readonly type: string;
}

test('plugins are listed for the node and for the cluster', async () => {
  await using managed = await startManaged({
    settings: { 'dashboard.listener.http': '127.0.0.1:0' },
  });
  const { body: own } = await managed.get(`/nodes/${name}/plugins`);
  const { body: all } = await managed.get('/plugins/');
  assert.deepEqual(all.data, [{ node: name, plugins: own.data }]);
  const rows = own.data as Plugin[];
  const names = rows.map((row) => row.name);
  assert.deepEqual(
    names,
    names.toSorted((one, other) => (one < other ? -1 : 1)),
  );
  const shipped = [...managed.parts.settings.pluginHost.loaded];
  assert.ok(shipped.includes('broker_recon') && shipped.includes('broker_management'));
  assert.deepEqual(
    rows.filter(({ active }) => active).map((row) => row.name),
    shipped.toSorted((one, other) => (one < other ? -1 : 1)),
  );
  assert.deepEqual(
    rows.find((row) => row.name === 'broker_dashboard'),
    {
      name: 'broker_dashboard',
      version: 'v0.0.0',
      description: 'Broker Dashboard',
      active: true,
      type: 'feature',
    },
  );
  assert.equal(rows.find((row) => row.name === 'broker_auth_username')?.type, 'auth');
});

test('the dashboard is unloaded and loaded by its name', async () => {
  await using managed = await startManaged({
    settings: { 'dashboard.listener.http': '127.0.0.1:0' },
  });
  const active = async (): Promise<boolean | undefined> => {
    const { body } = await managed.get(`/nodes/${name}/plugins`);
    return (body.data as Plugin[]).find((one) => one.name === 'broker_dashboard')?.active;
  };
  const port = managed.portOf('dashboard');
  assert.equal((await managed.get('@/livez', { port })).status, 200);
  assert.deepEqual((await managed.put(`${dashboard}/load`)).body, {
    code: 102,
    message: 'already_started',
  });
  assert.deepEqual((await managed.put(`${dashboard}/unload`)).body, { code: 0 });
  assert.equal(await active(), false);
  await assert.rejects(managed.get('@/livez', { port }), /ECONNREFUSED/);
  assert.deepEqual((await managed.put(`${dashboard}/unload`)).body, {
    code: 102,
    message: 'not_started',
  });
  assert.deepEqual((await managed.put(`${dashboard}/load`)).body, { code: 0 });
  assert.equal(await active(), true);
  const opened = managed.portOf('dashboard');
  assert.equal((await managed.get('@/livez', { port: opened })).status, 200);
});

test('who unloads the dashboard over its own port gets his answer', async () => {
  await using managed = await startManaged({
    settings: { 'dashboard.listener.http': '127.0.0.1:0' },
  });
  const port = managed.portOf('dashboard');
  const { login, password } = { login: 'admin', password: 'public' };
  const options = { port, auth: `${login}:${password}` };
  const { body } = await managed.put(`${dashboard}/unload`, undefined, options);
  assert.deepEqual(body, { code: 0 });
  await assert.rejects(managed.get('@/livez', { port }), /ECONNREFUSED/);
});

test('what always runs cannot be unloaded, and what is unknown is not found', async () => {
  await using managed = await startManaged();
  const { status, body } = await managed.put('/plugins/broker_management/unload');
  assert.deepEqual([status, body.code], [200, 102]);
  assert.equal(body.message, 'Plugin broker_management can not be unloaded');
  for (const plugin of ['broker_management', 'broker_retainer']) {
    assert.deepEqual((await managed.put(`/plugins/${plugin}/reload`)).body, { code: 0 });
  }
  for (const verb of ['load', 'unload', 'reload']) {
    const none = await managed.put(`/nodes/${name}/plugins/broker_none/${verb}`);
    assert.deepEqual([none.status, none.body.code], [404, 404]);
  }
});
