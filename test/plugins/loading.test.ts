// Plugins of a user in a whole node: found, loaded, unloaded, and loaded again by the next start.

import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';
import type { Managed } from '#test/managed';
import { UserPlugins } from '#test/user-plugins';

async function asked(managed: Managed, plugin: string, verb: string): Promise<unknown[]> {
  const { status, body } = await managed.put(`/plugins/${plugin}/${verb}`);
  return body.message === undefined ? [status, body.code] : [status, body.code, body.message];
}

const listOf = (managed: Managed): string =>
  readFileSync(join(managed.dir, 'data', 'loaded_plugins'), 'utf8');

const counting = (name: string): Parameters<UserPlugins['plugin']>[1] => ({
  fields: `metrics: { '${name}.seen': 'Seen.' },`,
  worker: `ctx.hooks.on('client.connected', () => ctx.count('${name}.seen'));`,
  control: 'return { word: 1 };',
  operations: `[defineOperation({ name: 'show_${name}', descr: 'Show', tag: 'Test',
    http: { method: 'GET', path: '/${name}' }, cli: { words: '${name} show', args: [], print: () => 'here' },
    params: noParams, result: Type.Integer(), run: () => service.word })]`,
});

for (const workers of [0, 2]) {
  test(`a plugin is loaded and unloaded with everything it has, with ${workers} workers`, async () => {
    using user = new UserPlugins();
    user.plugin('mine', counting('mine'));
    await using managed = await user.start({ workers });
    const faces = async (): Promise<unknown[]> => [
      (await managed.get('/mine')).status,
      (await managed.ctl('mine', 'show')).code,
      managed.whole.plugins.metrics().some(({ name }) => name === 'mine.seen'),
    ];
    assert.deepEqual(await faces(), [404, 1, false]);
    assert.deepEqual(await asked(managed, 'mine', 'unload'), [200, 102, 'not_started']);
    assert.deepEqual(await asked(managed, 'mine', 'load'), [200, 0]);
    assert.deepEqual(await faces(), [200, 0, true]);
    assert.deepEqual(await asked(managed, 'mine', 'load'), [200, 102, 'already_started']);
    assert.match(listOf(managed), /^\{mine, true\}\.$/m);
    assert.deepEqual(await asked(managed, 'mine', 'unload'), [200, 0]);
    assert.deepEqual(await faces(), [404, 1, false]);
    assert.doesNotMatch(listOf(managed), /mine/);
    assert.deepEqual(await asked(managed, 'mine', 'reload'), [200, 0]);
    assert.deepEqual(await faces(), [200, 0, true]);
  });

  test(`what was loaded runs after a restart, in the same order, with ${workers} workers`, async () => {
    using user = new UserPlugins();
    for (const name of ['zebra', 'ant']) {
      user.plugin(name, { worker: `ctx.hooks.on('client.check_acl', () => 'ignore');` });
    }
    const dir = join(user.dir, 'node');
    {
      await using managed = await user.start({ workers, dir });
      for (const name of ['zebra', 'ant']) await asked(managed, name, 'load');
      assert.deepEqual(await asked(managed, 'zebra', 'reload'), [200, 0]);
    }
    await using managed = await user.start({ workers, dir });
    assert.match(listOf(managed), /\{zebra, true\}\.\n\{ant, true\}\.\n$/);
    const { answers } = await managed.node.workers.everywhere('heldByPlugins', []);
    assert.equal(answers.length, Math.max(1, workers));
    for (const [, held] of answers) {
      const own = Object.keys(held).filter((name) => name === 'zebra' || name === 'ant');
      assert.deepEqual(own, ['zebra', 'ant']);
    }
  });
}

test('a folder that comes while the node runs can be loaded, with its keys', async () => {
  using user = new UserPlugins();
  await using managed = await user.start({ conf: '' });
  assert.equal((await managed.put('/plugins/late/load')).status, 404);
  user.plugin('late', {
    fields: `config: { keys: [word], read: (values) => ({ word: values.get(word) }) },`,
    control: 'return ctx.settings;',
    operations: `[defineOperation({ name: 'late', descr: 'Show', tag: 'Test', http: { method: 'GET', path: '/late' },
      params: noParams, result: Type.String(), run: () => service.word })]`,
  });
  const plugin = readFileSync(join(user.dir, 'late', 'plugin.ts'), 'utf8');
  user.write('late', {
    'plugin.ts': `import { key, text } from '#sdk';
      const word = key<string>('late.word', text(), 'none', { text: 'A word.' });\n${plugin}`,
  });
  assert.deepEqual(await asked(managed, 'late', 'load'), [200, 0]);
  assert.equal((await managed.get('/late')).body.data, 'none');
  const { stdout } = await managed.ctl('configs', 'list', 'late');
  assert.equal(stdout, 'late.word = none  # default\n');
  writeFileSync(join(managed.dir, 'broker.conf'), 'late.word = later\n');
  assert.deepEqual(await asked(managed, 'late', 'reload'), [200, 0]);
  assert.equal((await managed.get('/late')).body.data, 'later');
});

test('a plugin is loaded with what its file says now', async () => {
  using user = new UserPlugins();
  await using managed = await user.start({ conf: 'reloader.interval = 30s\n' });
  const shown = async (): Promise<string> =>
    (await managed.ctl('configs', 'list', 'broker_reloader')).stdout;
  assert.match(await shown(), /^reloader.interval = 30s {2}# \S*broker.conf:1$/m);
  writeFileSync(join(managed.dir, 'broker.conf'), 'reloader.interval = often\n');
  const refused = await managed.put('/plugins/broker_reloader/load');
  assert.equal(refused.body.code, 102);
  assert.match(refused.body.message ?? '', /^parse_config_file_failed: .*broker.conf:1: /);
  writeFileSync(join(managed.dir, 'broker.conf'), 'reloader.interval = 20s\n');
  assert.deepEqual(await asked(managed, 'broker_reloader', 'load'), [200, 0]);
  assert.match(await shown(), /^reloader.interval = 20s {2}# \S*broker.conf:1$/m);
});

test('a folder that cannot be read is listed with the reason, and can be loaded when it is mended', async () => {
  using user = new UserPlugins();
  user.write('broken', { 'plugin.ts': "throw new Error('not today');" });
  await using managed = await user.start();
  const { stdout } = await managed.ctl('plugins', 'list');
  assert.match(
    stdout,
    /^Plugin\(broken, .* description=Cannot be read: not today, active=false\)$/m,
  );
  const refused = 'Cannot read broken: not today';
  assert.deepEqual(await asked(managed, 'broken', 'load'), [200, 102, refused]);
  user.plugin('broken', counting('broken'));
  assert.deepEqual(await asked(managed, 'broken', 'load'), [200, 0]);
  assert.equal((await managed.get('/broken')).status, 200);
});

test('CVE-2025-52136: a plugin is one of the folders, and never a path or a file that somebody sends', async () => {
  using user = new UserPlugins();
  user.plugin('inner', {});
  user.write('outside', { 'plugin.ts': 'globalThis.wasRun = true;' });
  await using managed = await user.start({ settings: { 'plugins.dir': join(user.dir, 'inner') } });
  const names = [
    '../outside',
    '..',
    '.',
    '%2e%2e',
    `${user.dir}/outside`,
    'broker_recon/../x',
    'a\0b',
  ];
  for (const name of names) {
    for (const verb of ['load', 'unload', 'reload']) {
      const { status } = await managed.put(`/plugins/${encodeURIComponent(name)}/${verb}`);
      assert.equal(status, 404, name);
      const { stdout } = await managed.ctl('plugins', verb, name);
      assert.match(stdout, /error: (?:not_found|plugin_not_exist)$/m, name);
    }
    const path = `/nodes/broker@127.0.0.1/plugin_configs/${encodeURIComponent(name)}`;
    assert.equal((await managed.get(path)).status, 404, name);
  }
  assert.equal((globalThis as { wasRun?: boolean }).wasRun, undefined);
  const writing = managed.parts.catalogue
    .all()
    .filter(({ name, http }) => /plugin/.test(name + http?.path) && http !== undefined)
    .filter(({ http }) => http?.method === 'POST' || http?.path.includes('install'));
  assert.deepEqual(writing, [], 'there is no way to send a plugin');
});

test('a bad line of the list keeps the node from starting, and says where', async () => {
  using user = new UserPlugins();
  const dir = join(user.dir, 'node');
  await (await user.start({ dir }))[Symbol.asyncDispose]();
  const file = join(dir, 'data', 'loaded_plugins');
  writeFileSync(file, '{broker_retainer, true}.\n{broker_recon true}.\n');
  await assert.rejects(user.start({ dir }), {
    message: `Cannot read ${file}:2: found "{broker_recon true}.", expected {<plugin>, true}.`,
  });
});
