import assert from 'node:assert/strict';
import test from 'node:test';
import { ConfigError } from '#config/config-error';
import { UserPlugins } from '#test/user-plugins';
import { loadPluginsConfig } from './load-config.ts';

const withRead = (read: string): string => `import { definePlugin, key, int } from '#sdk';
  const size = key<number>('mine.size', int(1), '3', { text: 'A size.' });
  export default definePlugin<any>({ name: 'mine', description: 'A test', config: { keys: [size], read: (values) => ${read} } });`;

function load(user: UserPlugins, ...sets: readonly string[]) {
  return loadPluginsConfig({ sets: [`plugins.dir=${user.dir}`, ...sets] });
}

test('the keys of a plugin are keys, and what its reader makes of them are its settings', async () => {
  using user = new UserPlugins();
  user.write('mine', { 'plugin.ts': withRead('({ twice: 2 * values.get(size) })') });
  assert.deepEqual((await load(user)).settings.plugins.get('mine'), { twice: 6 });
  const { settings, keys } = await load(user, 'mine.size=7');
  assert.deepEqual(settings.plugins.get('mine'), { twice: 14 });
  assert.equal(keys.find('mine.size')?.key.pattern, 'mine.size');
  const wrong = /Cannot use mine\.size = "0": expected a whole number, 1 or more/;
  await assert.rejects(load(user, 'mine.size=0'), (error) => says(error, wrong));
});

test('a reader that throws is a problem of the plugin, and no fault of the broker', async () => {
  using user = new UserPlugins();
  user.write('mine', { 'plugin.ts': withRead('values.nothing()') });
  const wrong = /Cannot read the settings of plugin mine: values\.nothing is not a function/;
  await assert.rejects(load(user), (error) => says(error, wrong));
});

test('what a reader objects to is said with the key', async () => {
  using user = new UserPlugins();
  user.write('mine', {
    'plugin.ts': withRead(`values.problem('mine.size', 'Cannot use mine.size: it is odd')`),
  });
  await assert.rejects(load(user), (error) => says(error, /^Cannot use mine\.size: it is odd$/));
});

test('a plugin whose code is broken has no keys, and keeps the others from nothing', async () => {
  using user = new UserPlugins();
  user.write('broken', { 'plugin.ts': 'export default (' });
  user.write('mine', { 'plugin.ts': withRead('values.get(size)') });
  const { settings, keys } = await load(user);
  assert.equal(settings.plugins.get('mine'), 3);
  assert.deepEqual([...keys.broken], ['broken']);
});

test('a plugin that has a key of another cannot be read, and does not change what that key is', async () => {
  using user = new UserPlugins();
  const declaring = (
    name: string,
    pattern: string,
  ): string => `import { definePlugin, key, text } from '#sdk';
    const one = key('${pattern}', text(), 'x', { text: 'A key.' });
    export default definePlugin({ name: '${name}', description: 'A test', config: { keys: [one], read: () => 1 } });`;
  user.write('a_copy', { 'plugin.ts': declaring('a_copy', 'template.max_clients') });
  user.write('b_first', { 'plugin.ts': declaring('b_first', 'mine.size') });
  user.write('c_core', { 'plugin.ts': declaring('c_core', 'allow_anonymous') });
  user.write('mine', { 'plugin.ts': withRead('values.get(size)') });
  const { plugins, keys } = await load(user);
  const faults = plugins.flatMap(({ name, fault }) => (fault === undefined ? [] : [[name, fault]]));
  const taken = (pattern: string, owner: string): string =>
    `Cannot use its key "${pattern}": it is a key of ${owner}, expected another name`;
  assert.deepEqual(faults, [
    ['a_copy', taken('template.max_clients', 'broker_plugin_template')],
    ['c_core', taken('allow_anonymous', 'broker')],
    ['mine', taken('mine.size', 'b_first')],
  ]);
  await assert.rejects(load(user, 'template.max_clients=x'), ConfigError);
  assert.deepEqual([...keys.broken], ['a_copy', 'c_core', 'mine']);
});

test('keys that are put again take the place of the former ones, and can be taken back', async () => {
  using user = new UserPlugins();
  user.write('mine', { 'plugin.ts': withRead('values.get(size)') });
  const { keys } = await load(user);
  const before = keys.all.length;
  const takeBack = keys.put('mine', undefined);
  assert.deepEqual([keys.find('mine.size'), keys.all.length], [undefined, before - 1]);
  takeBack();
  assert.deepEqual([keys.find('mine.size') === undefined, keys.all.length], [false, before]);
});

function says(error: unknown, text: RegExp): boolean {
  assert.ok(error instanceof ConfigError, String(error));
  assert.ok(
    error.problems.some((problem) => text.test(problem.text)),
    JSON.stringify(error.problems),
  );
  return true;
}
