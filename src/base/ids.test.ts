import assert from 'node:assert/strict';
import test from 'node:test';
import { MessageIds, randomClientId, randomHex } from './ids.ts';

test('randomClientId gives 22 base-62 characters, another each time', () => {
  const ids = new Set<string>();
  for (let i = 0; i < 1000; i += 1) {
    const id = randomClientId();
    assert.match(id, /^[0-9A-Za-z]{22}$/);
    ids.add(id);
  }
  assert.equal(ids.size, 1000);
});

test('randomClientId uses the whole alphabet', () => {
  const seen = new Set<string>();
  for (let i = 0; i < 1000; i += 1) for (const character of randomClientId()) seen.add(character);
  assert.equal(seen.size, 62);
});

test('randomHex gives two digits for each byte', () => {
  assert.match(randomHex(6), /^[0-9a-f]{12}$/);
  assert.notEqual(randomHex(16), randomHex(16));
});

test('MessageIds writes time, origin and counter', () => {
  const ids = new MessageIds(() => 0x018b_cfe5_6800, '3fa29c41d07e');
  assert.equal(ids.next(), '018bcfe568003fa29c41d07e00000000');
  assert.equal(ids.next(), '018bcfe568003fa29c41d07e00000001');
});

test('MessageIds are unique and ascending while the clock stands, moves and goes back', () => {
  let nowMs = 1_700_000_000_000;
  const ids = new MessageIds(() => nowMs);
  let last = '';
  for (const stepMs of [0, 0, 1, 0, 250, -5000, 0, 0.5, 4999, 1, 0, 16 ** 9, 0]) {
    nowMs += stepMs;
    for (let i = 0; i < 300; i += 1) {
      const id = ids.next();
      assert.equal(id.length, 32);
      assert.ok(id > last, `${id} follows ${last}`);
      last = id;
    }
  }
});

test('MessageIds of two threads differ at the same moment', () => {
  assert.notEqual(new MessageIds(() => 1).next(), new MessageIds(() => 1).next());
});
