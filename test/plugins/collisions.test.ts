// Routes and commands that a plugin brings and that the broker has, or that no router takes. Law: the plugin
// does not start, and whoever starts it is told why; management and the rest of the node run.

import assert from 'node:assert/strict';
import test from 'node:test';
import { UserPlugins } from '#test/user-plugins';

const operation = (name: string, face: string): string =>
  `[defineOperation({ name: '${name}', descr: 'Show', tag: 'Test', ${face}, params: noParams, run: () => 1 })]`;
const get = (path: string): string => `http: { method: 'GET', path: '${path}' }`;

/** What collides, and what is said of it. */
const cases: readonly (readonly [string, string, RegExp])[] = [
  ['route', get('/nodes/:name'), /Cannot add "GET \/api\/v3\/nodes\/:" of route: it exists/],
  ['retained', get('/retained'), /Cannot add "GET \/api\/v3\/retained" of retained: it exists/],
  ['slash', get('/nodes/'), /Cannot add "GET \/nodes\/" of slash: expected a method of /],
  ['maybe', get('/nodes/:name?'), /Cannot add "GET \/nodes\/:name\?" of maybe: expected /],
  ['wild', get('/*'), /Cannot add "GET \/\*" of wild: expected /],
  [
    'command',
    `cli: { words: 'clients list', args: [], print: () => '' }`,
    /Cannot add "clients list" of command: it exists/,
  ],
];

for (const workers of [0, 2]) {
  test(`a plugin with a route or a command of the broker does not start, with ${workers} workers`, async () => {
    using user = new UserPlugins();
    for (const [name, face] of cases) {
      user.plugin(name, {
        worker: `ctx.hooks.on('client.connected', () => {});`,
        operations: operation(name, face),
      });
    }
    const names = cases.map(([name]) => name);
    await using managed = await user.start({
      workers,
      expectedErrors: ['plugin.start_failed'],
      settings: { 'plugins.loaded': ['broker_retainer', ...names].join(',') },
    });
    const alarms = (await managed.get('/alarms/present')).body.data as {
      readonly alarms: readonly { readonly id: string; readonly desc: string }[];
    }[];
    const texts = JSON.stringify(alarms).replaceAll('\\"', '"');
    for (const [name, , said] of cases) {
      assert.match(texts, said, name);
      assert.ok(!managed.whole.plugins.isActive(name), name);
      const { message = '' } = (await managed.put(`/plugins/${name}/load`)).body;
      assert.match(message, said, name);
    }
    assert.equal((await managed.get('/nodes')).status, 200);
    assert.equal((await managed.get('/retained')).status, 200);
    const { answers } = await managed.node.workers.everywhere('heldByPlugins', []);
    assert.deepEqual(
      answers.flatMap(([, held]) => Object.keys(held)).filter((owner) => names.includes(owner)),
      [],
    );
  });
}

test('an auth plugin with a route of the broker keeps the node from starting', async () => {
  using user = new UserPlugins();
  user.plugin('guard', {
    fields: `type: 'auth',`,
    operations: operation('guard', get('/nodes')),
  });
  await assert.rejects(
    user.start({ settings: { 'plugins.loaded': 'guard' } }),
    /Cannot start without plugin guard: Cannot add "GET \/api\/v3\/nodes" of guard: it exists/,
  );
});

test('a route of retained messages is not free while broker_retainer is unloaded', async () => {
  using user = new UserPlugins();
  user.plugin('own', { operations: operation('own', get('/retained')) });
  await using managed = await user.start({ settings: { 'plugins.loaded': 'broker_management' } });
  assert.match((await managed.put('/plugins/own/load')).body.message ?? '', /it exists/);
  assert.equal((await managed.put('/plugins/broker_retainer/load')).body.code, 0);
});
