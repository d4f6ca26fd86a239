import assert from 'node:assert/strict';
import { mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';
import { UserPlugins } from '#test/user-plugins';
import { codeStamp, loadPluginCode } from './code.ts';
import { discoverPlugins, findFolder, shippedPlugins } from './discover.ts';

async function foundIn(dir: string) {
  const found = await discoverPlugins(dir);
  return found.filter(({ folder }) => folder.startsWith(dir));
}

test('folders with a plugin.ts are found, those that cannot be read with the reason', async () => {
  using user = new UserPlugins();
  user.plugin('good', {});
  user.write('broken', { 'plugin.ts': 'export default {' });
  user.write('empty', { 'plugin.ts': 'export const x = 1;' });
  user.write('throws', { 'plugin.ts': "throw new Error('not today');" });
  user.write('half', {
    'plugin.ts': "export default { name: 'half', description: '', config: { keys: 'x' } };",
  });
  user.write('other_name', { 'plugin.ts': "export default { name: 'good', description: '' };" });
  user.write('no_plugin', { 'index.ts': '' });
  user.write('Big-Name', { 'plugin.ts': "export default { name: 'Big-Name', description: '' };" });
  const found = await foundIn(user.dir);
  assert.deepEqual(
    found.map(({ name, definition }) => [name, definition?.name]),
    [
      ['broken', undefined],
      ['empty', undefined],
      ['good', 'good'],
      ['half', undefined],
      ['other_name', undefined],
      ['throws', undefined],
    ],
  );
  const faults = new Map(found.map(({ name, fault }) => [name, fault ?? '']));
  assert.match(faults.get('broken') ?? '', /./);
  assert.match(faults.get('empty') ?? '', /expected "export default definePlugin/);
  assert.match(faults.get('half') ?? '', /Cannot use config of .*expected \{ keys: /);
  assert.match(faults.get('other_name') ?? '', /"good": its folder is "other_name"/);
  assert.match(faults.get('throws') ?? '', /not today/);
});

test('a name of the broker cannot be taken over from outside', async () => {
  using user = new UserPlugins();
  user.plugin('broker_recon', {});
  const found = (await discoverPlugins(user.dir)).find(({ name }) => name === 'broker_recon');
  assert.equal(found?.folder, join(shippedPlugins, 'broker_recon'));
  assert.equal(findFolder('broker_recon', user.dir), found?.folder);
});

test('a directory of plugins that is not there has none', async () => {
  assert.deepEqual(await foundIn('/nowhere/at/all'), []);
});

test('names are no paths', () => {
  using user = new UserPlugins();
  user.plugin('good', {});
  mkdirSync(join(user.dir, 'sub'));
  symlinkSync(join(user.dir, 'good'), join(user.dir, 'linked'));
  assert.equal(findFolder('good', user.dir), join(user.dir, 'good'));
  assert.equal(findFolder('linked', user.dir), join(user.dir, 'linked'));
  for (const name of [
    '../good',
    'sub/../good',
    './good',
    'good/',
    '/etc',
    '..',
    '.',
    '',
    'good\0',
  ]) {
    assert.equal(findFolder(name, join(user.dir)), undefined, name);
  }
});

test('a change of any code of a folder is seen, and what is gone has no stamp', () => {
  using user = new UserPlugins();
  const folder = user.plugin('p', { worker: '' });
  const first = codeStamp(folder);
  assert.equal(codeStamp(folder), first);
  user.write('p', { 'notes.md': 'not code' });
  assert.equal(codeStamp(folder), first);
  user.write('p', { 'deep/part.ts': 'export {};' });
  const second = codeStamp(folder);
  assert.notEqual(second, first);
  user.write('p', { 'deep/part.ts': 'export {};' });
  assert.notEqual(codeStamp(folder), second);
  user.remove('p');
  assert.equal(codeStamp(folder), '');
});

test('code that is read anew is new with all of its folder, and the old stays as it is', async () => {
  using user = new UserPlugins();
  const write = (word: string): string =>
    user.write('p', {
      'plugin.ts': `import { word } from './word.ts'; import { definePlugin } from '#sdk';
        export default definePlugin({ name: 'p', description: word });`,
      'word.ts': `export { word } from './deep/word.ts';`,
      'deep/word.ts': `export const word = '${word}';`,
    });
  const folder = write('one');
  const first = await loadPluginCode(folder, 0);
  write('two');
  assert.equal(await loadPluginCode(folder, 0), first);
  const second = await loadPluginCode(folder, 1_000_001);
  write('three');
  const third = await loadPluginCode(folder, 1_000_002);
  assert.deepEqual(
    [first, second, third].map(({ description }) => description),
    ['one', 'two', 'three'],
  );
  assert.equal(await loadPluginCode(folder, 1_000_001), second);
});
