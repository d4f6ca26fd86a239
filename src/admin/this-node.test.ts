import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { NodeSettings } from '#config/settings';
import { checkNode } from './this-node.ts';

const settings = { node: { name: 'broker@127.0.0.1' } as NodeSettings };

test('this node passes the check by its full name', () => {
  assert.doesNotThrow(() => checkNode(settings, 'broker@127.0.0.1'));
});

test('any other node is not found, with the name that there is', () => {
  assert.throws(() => checkNode(settings, 'broker@10.0.0.1'), {
    name: 'OperatingError',
    status: 404,
    message: 'Cannot find node "broker@10.0.0.1": there is only "broker@127.0.0.1"',
  });
});
