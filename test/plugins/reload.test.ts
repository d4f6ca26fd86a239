// Plugins that are read anew while clients are connected: by command, by a change of their keys, and by the
// reloader. Laws: no moment without the guard of a door; what cannot be taken up leaves what runs.

import assert from 'node:assert/strict';
import test from 'node:test';
import type { Managed, ManagedOptions } from '#test/managed';
import { RawClient } from '#test/raw-client';
import { UserPlugins } from '#test/user-plugins';
import { eventually } from '#test/watch';

const notAuthorized = 0x87;

function start(user: UserPlugins, loaded: string, options: ManagedOptions = {}): Promise<Managed> {
  return user.start({ ...options, settings: { 'plugins.loaded': loaded, ...options.settings } });
}

/** Adds its word to what is published on `ask`. */
const echo = (word: string): string =>
  `ctx.hooks.on('message.publish', ({ topic, payload }) =>
     topic === 'ask' ? { payload: Buffer.from(payload + ' ${word}') } : undefined);`;

async function echoed(client: RawClient): Promise<string> {
  await client.publish('ask', 'says', { qos: 1 });
  return (await client.receive()).payload.toString();
}

async function asker(managed: Managed): Promise<RawClient> {
  const client = await RawClient.open(managed.mqttPort);
  await client.connect({ clientId: 'asker' });
  await client.subscribe(['ask']);
  return client;
}

for (const workers of [0, 2]) {
  test(`a client that stays connected meets the new code, with ${workers} workers`, async () => {
    using user = new UserPlugins();
    const write = (word: string): string =>
      user.plugin('mine', { worker: echo(word), fields: `metrics: { 'mine.x': 'X.' },` });
    write('one');
    const expectedErrors = ['plugin.failed'];
    await using managed = await start(user, 'mine', { workers, expectedErrors });
    await using client = await asker(managed);
    assert.equal(await echoed(client), 'says one');
    write('two');
    assert.equal(await echoed(client), 'says one');
    assert.equal((await managed.ctl('plugins', 'reload', 'mine')).code, 0);
    assert.equal(await echoed(client), 'says two');
    user.write('mine', { 'worker.ts': 'export default (' });
    const { stdout, code } = await managed.ctl('plugins', 'reload', 'mine');
    assert.match(stdout, /^Reload plugin error: Cannot start mine: /);
    assert.equal(code, 1);
    assert.equal(await echoed(client), 'says two');
  });

  test(`the reloader takes up changed code, and leaves what runs when it is broken, with ${workers} workers`, async () => {
    using user = new UserPlugins();
    user.plugin('mine', { worker: echo('one') });
    const settings = { 'reloader.interval': '100ms' };
    const expectedErrors = ['plugin.failed'];
    const loaded = 'broker_reloader,mine';
    await using managed = await start(user, loaded, { workers, settings, expectedErrors });
    await using client = await asker(managed);
    assert.equal(await echoed(client), 'says one');
    const events = (event: string): number =>
      managed.logged.filter((line) => line.includes(event)).length;
    user.plugin('mine', { worker: echo('two') });
    await eventually(() => events('reloader.reloaded') === 1);
    assert.equal(await echoed(client), 'says two');
    user.plugin('mine', { worker: `throw new Error('not ready');` });
    await eventually(() => events('reloader.failed') === 1);
    const reason = managed.logged.find((line) => line.includes('reloader.failed'));
    assert.match(reason ?? '', /Cannot start mine: not ready/);
    assert.equal(await echoed(client), 'says two');
    user.plugin('mine', { worker: echo('three') });
    await eventually(() => events('reloader.reloaded') === 2);
    assert.equal(await echoed(client), 'says three');
    assert.equal(events('reloader.failed'), 1, 'broken code is tried once');
  });

  test(`an auth plugin guards its door while it is read anew, with ${workers} workers`, async () => {
    using user = new UserPlugins();
    const write = (delayMs: number): string =>
      user.plugin('guard', {
        fields: `type: 'auth',`,
        worker: `await new Promise((done) => setTimeout(done, ${delayMs}));
          ctx.hooks.on('client.authenticate', async ({ clientId }) =>
            clientId === 'friend' ? { allow: true } : { allow: false, reasonCode: 0x87, text: 'no' });`,
      });
    write(0);
    await using managed = await start(user, 'guard', { workers });
    let isOver = false;
    let tries = 0;
    const strangers = async (): Promise<void> => {
      while (!isOver) {
        await using client = await RawClient.open(managed.mqttPort);
        const { reasonCode } = await client.connect({ clientId: `stranger ${tries++}` });
        assert.equal(reasonCode, notAuthorized);
      }
    };
    const trying = [strangers(), strangers(), strangers()];
    const before = tries;
    for (let i = 1; i <= 5; i++) {
      write(i);
      assert.equal((await managed.put('/plugins/guard/reload')).body.code, 0);
    }
    isOver = true;
    await Promise.all(trying);
    assert.ok(tries > before + 3, `${tries}`);
  });

  test(`keys that are set for a running plugin hold at once, with ${workers} workers`, async () => {
    using user = new UserPlugins();
    await using managed = await start(user, 'broker_plugin_template', { workers, conf: '' });
    const path = '/nodes/broker@127.0.0.1/plugin_configs/broker_plugin_template';
    const greeting = async (): Promise<unknown> =>
      ((await managed.get('/plugin_template')).body.data as { greeting: string }).greeting;
    const now = { code: 0, data: { effective: 'now' } };
    assert.equal(await greeting(), 'Hello');
    assert.deepEqual((await managed.put(path, { 'template.greeting': 'Moin' })).body, now);
    assert.equal(await greeting(), 'Moin');
    const { stdout } = await managed.ctl(
      ...['configs', 'set', 'broker_plugin_template', 'template.greeting', 'Servus'],
    );
    assert.equal(stdout, 'template.greeting is set, effective now\n');
    assert.equal(await greeting(), 'Servus');
    assert.equal((await managed.put(path, { 'template.max_clients': 'many' })).body.code, 102);
    assert.equal(await greeting(), 'Servus');
    await managed.put('/plugins/broker_plugin_template/unload');
    assert.deepEqual((await managed.put(path, { 'template.greeting': 'Hi' })).body, now);
    await managed.put('/plugins/broker_plugin_template/load');
    assert.equal(await greeting(), 'Hi');
  });
}

test('keys with which a plugin cannot start are not kept', async () => {
  using user = new UserPlugins();
  user.write('picky', {
    'plugin.ts': `import { definePlugin, key, text } from '#sdk';
      const word = key<string>('picky.word', text(), 'good', { text: 'A word.' });
      export default definePlugin<any, any>({ name: 'picky', description: 'A test',
        config: { keys: [word], read: (values) => ({ word: values.get(word) }) },
        control: () => import('./control.ts') });`,
    'control.ts': `export default (ctx: any) => { if (ctx.settings.word === 'bad') throw new Error('no such word'); };`,
  });
  await using managed = await start(user, 'picky', { conf: '' });
  const set = async (word: string): Promise<unknown[]> => {
    const { body } = await managed.put('/configs/picky', { key: 'picky.word', value: word });
    return [body.code, body.message];
  };
  assert.deepEqual(await set('fine'), [0, undefined]);
  assert.deepEqual(await set('bad'), [102, 'Cannot start picky: no such word']);
  const { stdout } = await managed.ctl('configs', 'list', 'picky');
  assert.match(stdout, /^picky\.word = fine {2}# \S*overrides\.conf\n$/);
});

test('a plugin that is read anew has the keys of its new code', async () => {
  using user = new UserPlugins();
  const write = (keys: readonly string[]): string =>
    user.write('growing', {
      'plugin.ts': `import { definePlugin, key, text } from '#sdk';
        const keys = ${JSON.stringify(keys)}.map((name) => key<string>('growing.' + name, text(), name, { text: 'A word.' }));
        export default definePlugin<any, any>({ name: 'growing', description: 'A test',
          config: { keys, read: (values) => keys.map((one) => values.get(one)) },
          control: () => import('./control.ts'), operations: () => import('./operations.ts') });`,
      'control.ts': `export default (ctx: any) => { if (ctx.settings.length > 2) throw new Error('too many'); return ctx.settings; };`,
      'operations.ts': `import { defineOperation, noParams, Type } from '#sdk/operations';
        export default (service: any) => [defineOperation({ name: 'growing', descr: 'Show', tag: 'Test',
          http: { method: 'GET', path: '/growing' }, params: noParams, run: () => service })];`,
    });
  const listed = async (): Promise<string[]> =>
    [...(await managed.ctl('configs', 'list', 'growing')).stdout.matchAll(/^growing\.(\w+)/gm)].map(
      ([, name = '']) => name,
    );
  write(['one']);
  await using managed = await start(user, 'growing', { conf: '' });
  assert.deepEqual([(await managed.get('/growing')).body.data, await listed()], [['one'], ['one']]);
  write(['one', 'two']);
  await managed.put('/plugins/growing/reload');
  const both = ['one', 'two'];
  assert.deepEqual([(await managed.get('/growing')).body.data, await listed()], [both, both]);
  write(['one', 'two', 'three']);
  const { body } = await managed.put('/plugins/growing/reload');
  assert.equal(body.message, 'Cannot start growing: too many');
  assert.deepEqual([(await managed.get('/growing')).body.data, await listed()], [both, both]);
});

test('what a plugin has counted is still there when it was read anew', async () => {
  using user = new UserPlugins();
  const write = (metrics: string): string =>
    user.plugin('counter', {
      fields: `metrics: { ${metrics} },`,
      control: `ctx.count('counter.starts');`,
    });
  write(`'counter.starts': 'Starts.'`);
  await using managed = await start(user, 'counter');
  const starts = (): number | undefined =>
    managed.whole.plugins.metrics().find(({ name }) => name === 'counter.starts')?.value;
  assert.equal(starts(), 1);
  await managed.put('/plugins/counter/reload');
  assert.equal(starts(), 2);
  write(`'counter.starts': 'Starts.', 'counter.more': 'More.'`);
  await managed.put('/plugins/counter/reload');
  assert.equal(starts(), 1);
});
