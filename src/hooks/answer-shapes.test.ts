import assert from 'node:assert/strict';
import test from 'node:test';
import { checkedAnswer } from './answer-shapes.ts';
import type { AskedHook } from './table.ts';

const good: Readonly<Record<AskedHook, readonly unknown[]>> = {
  'tls_handshake.psk_lookup': [Buffer.from('key')],
  'client.check_ban': ['banned'],
  'client.authenticate': [
    { allow: true },
    { allow: true, isSuperuser: true, mountpoint: 'a/' },
    { allow: false, reasonCode: 0x87, text: 'no' },
  ],
  'client.enhanced_auth': [{ continue: true }, { allow: true }, { allow: false, reasonCode: 0x8c }],
  'client.check_acl': ['allow', 'deny', 'unavailable'],
  'message.check_retained': ['allow', 'deny'],
};

const wrong: readonly unknown[] = [
  undefined,
  null,
  true,
  false,
  '',
  'yes',
  {},
  { allow: 'true' },
  { allow: 1 },
  { allow: false },
  { allow: false, reasonCode: 0 },
  { allow: false, reasonCode: 256 },
  { allow: false, reasonCode: 'no' },
  { allow: true, isSuperuser: 'false' },
  { allow: true, mountpoint: 1 },
  { continue: 'true' },
];

test('answers to asked hooks pass in every form that they may have', () => {
  for (const [hook, answers] of Object.entries(good)) {
    for (const answer of ['ignore', ...answers]) {
      assert.equal(checkedAnswer(hook as AskedHook, answer), answer);
    }
  }
});

test('answers of another form are refused for every asked hook', () => {
  for (const hook of Object.keys(good) as AskedHook[]) {
    for (const answer of wrong) {
      assert.throws(
        () => checkedAnswer(hook, answer),
        TypeError,
        `${hook} ${JSON.stringify(answer)}`,
      );
    }
  }
});
