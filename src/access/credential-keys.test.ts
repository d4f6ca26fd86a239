import assert from 'node:assert/strict';
import test from 'node:test';
import { ConfigError } from '#config/config-error';
import { KeyTable } from '#config/key-table';
import { section } from '#config/keys';
import { loadConfig } from '#config/load';
import { credentialKeys, type CredentialSettings, readCredentials } from './credential-keys.ts';

const keys = credentialKeys('auth.user', 'username', 'ada');
const table = new KeyTable([
  {
    plugin: 'users',
    name: 'plugins/users.conf',
    title: 'Users',
    sections: [section('users', '', { ...keys })],
    read: (values) => readCredentials(values, keys),
  },
]);

function read(...sets: readonly string[]): CredentialSettings {
  const { settings } = loadConfig({ sets, keys: table });
  return settings.plugins.get('users') as CredentialSettings;
}

function faults(...sets: readonly string[]): string[] {
  try {
    read(...sets);
  } catch (error) {
    assert.ok(error instanceof ConfigError);
    return error.problems.map(({ key, text }) => `${key}: ${text}`);
  }
  return [];
}

test('without a line new passwords are kept by argon2id, and nobody is there', () => {
  assert.deepEqual(read(), { scheme: 'argon2id', presets: [] });
});

test('presets are read in the order of their numbers', () => {
  const settings = read(
    'auth.user.password_hash=sha256',
    'auth.user.10.username=cleo',
    'auth.user.10.password=c c',
    'auth.user.2.password=b=1',
    'auth.user.2.username=bob',
  );
  const presets = [
    ['bob', 'b=1'],
    ['cleo', 'c c'],
  ];
  assert.deepEqual(settings, { scheme: 'sha256', presets });
});

test('half a preset, a name twice and an unknown scheme are refused', () => {
  assert.deepEqual(faults('auth.user.1.username=ada'), [
    'auth.user.1.username: Cannot use auth.user.1.username alone: expected auth.user.1.password as well',
  ]);
  assert.deepEqual(faults('auth.user.1.password=x'), [
    'auth.user.1.password: Cannot use auth.user.1.password alone: expected auth.user.1.username as well',
  ]);
  const twice = [1, 2].flatMap((n) => [`auth.user.${n}.username=ada`, `auth.user.${n}.password=x`]);
  assert.deepEqual(faults(...twice), [
    'auth.user.2.username: Cannot add "ada": it is there already',
  ]);
  assert.equal(faults('auth.user.password_hash=sha3').length, 1);
  assert.equal(faults('auth.user.1.username=', 'auth.user.1.password=').length, 2);
});
