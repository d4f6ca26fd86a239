import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import { entryBytes, HeldBytes, type Keepable, messageBytes } from './held-bytes.ts';

function message(payloadBytes: number, topic = 'a/b'): Keepable {
  return { keepers: 0, payloadBytes, topic };
}

test('a message that one session keeps counts with topic, payload and what is around them', () => {
  const held = new HeldBytes();
  const kept = message(1000);
  held.keep(kept);
  assert.equal(held.messages, 1000 + 3 + messageBytes + entryBytes);
  assert.equal(held.total, held.messages);
  held.letGo(kept);
  assert.equal(held.total, 0);
});

test('a message that a thousand sessions keep counts once, and a thousand entries', () => {
  const held = new HeldBytes();
  const kept = message(1_000_000);
  for (let i = 0; i < 1000; i++) held.keep(kept);
  assert.equal(held.total, 1_000_003 + messageBytes + 1000 * entryBytes);
  for (let i = 0; i < 999; i++) held.letGo(kept);
  assert.equal(held.total, 1_000_003 + messageBytes + entryBytes);
  held.letGo(kept);
  assert.equal(held.total, 0);
});

test('a block that several outboxes hold counts once, until the last lets it go', () => {
  const held = new HeldBytes();
  const block = new ArrayBuffer(4096);
  for (let i = 0; i < 3; i++) held.hold(block);
  assert.equal(held.outboxes, 4096);
  for (let i = 0; i < 2; i++) held.release(block);
  assert.equal(held.outboxes, 4096);
  held.release(block);
  assert.equal(held.outboxes, 0);
});

test('a block that nobody holds cannot be released below nothing', () => {
  const held = new HeldBytes();
  held.release(new ArrayBuffer(10));
  assert.equal(held.total, 0);
});

test('held bytes are the sum over what is held, in any order of holding and letting go', () => {
  const step = fc.record({ subject: fc.nat(9), isMore: fc.boolean() });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
      const held = new HeldBytes();
      const messages = Array.from({ length: 5 }, (_, i) => message(i * 100, 't'.repeat(i)));
      const blocks = Array.from({ length: 5 }, (_, i) => new ArrayBuffer(i * 64));
      const counts = Array.from({ length: 10 }, () => 0);
      for (const { subject, isMore } of steps) {
        const count = counts[subject] ?? 0;
        if (!isMore && count === 0) continue;
        counts[subject] = count + (isMore ? 1 : -1);
        const one = messages[subject];
        const block = blocks[subject - 5];
        if (one !== undefined) held[isMore ? 'keep' : 'letGo'](one);
        if (block !== undefined) held[isMore ? 'hold' : 'release'](block);
      }
      const ofMessages = messages.reduce((sum, { payloadBytes, topic }, i) => {
        const count = counts[i] ?? 0;
        const own = count > 0 ? messageBytes + payloadBytes + topic.length : 0;
        return sum + own + count * entryBytes;
      }, 0);
      const ofBlocks = blocks.reduce(
        (sum, { byteLength }, i) => sum + ((counts[i + 5] ?? 0) > 0 ? byteLength : 0),
        0,
      );
      assert.deepEqual([held.messages, held.outboxes], [ofMessages, ofBlocks]);
    }),
  );
});
