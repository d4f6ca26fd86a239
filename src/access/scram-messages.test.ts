import assert from 'node:assert/strict';
import test from 'node:test';
import { ScramError, saslPrep } from './scram-messages.ts';

test('saslPrep brings strings that look the same to the same form', () => {
  assert.equal(saslPrep('I\u00adX'), 'IX');
  assert.equal(saslPrep('user'), 'user');
  assert.equal(saslPrep('\u00aa'), 'a');
  assert.equal(saslPrep('\u2168'), 'IX');
  assert.equal(saslPrep('a\u3000b'), 'a b');
  for (const bad of ['\u0007', '', '\ud800', '\ue000', 'a\u2028b', 'a\u0080b']) {
    assert.throws(() => saslPrep(bad), ScramError);
  }
});
