import assert from 'node:assert/strict';
import test from 'node:test';
import { fillLevels } from './client-levels.ts';

const fill = (filter: string, clientId: string, username?: string): string | undefined =>
  fillLevels(filter.split('/'), { clientId, username });

test('%c and %u are filled in where they are a whole level', () => {
  assert.equal(fill('a/%c/%u/#', 'c', 'u'), 'a/c/u/#');
  assert.equal(fill('a-%c/%cc/x', 'c'), 'a-%c/%cc/x');
  assert.equal(fill('%c/%u', '%u', '%c'), '%u/%c', 'what was put in is not looked at again');
  assert.equal(fill('a/%u', 'c'), undefined);
});

test('CVE-2017-7650: what is no plain text of one level is not filled in', () => {
  for (const name of ['+', '#', 'a/b', 'a+', '/']) {
    assert.equal(fill('a/%c', name), undefined, name);
    assert.equal(fill('a/%u', 'c', name), undefined, name);
  }
  assert.equal(fill('%c/#', '$SYS'), undefined);
  assert.equal(fill('a/%c', '$SYS'), 'a/$SYS');
});
