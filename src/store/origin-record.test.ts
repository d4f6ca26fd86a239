import assert from 'node:assert/strict';
import test from 'node:test';
import { Message, type Publisher } from '#core/message';
import { messageBytes, writeMessage } from './message-record.ts';
import { originRecord, readOriginated } from './origin-record.ts';
import { publisher } from './retained-fixture.ts';
import { StoreDamaged } from './store-damaged.ts';

/** Behind three bytes of somebody else's. */
function written(from: Publisher): Buffer {
  const message = new Message('t', Buffer.from('payload'), 1, true, undefined, from, 5);
  const origin = originRecord(from);
  const bytes = Buffer.alloc(3 + origin.length + messageBytes(message));
  bytes.set(origin, 3);
  writeMessage(message, bytes, 3 + origin.length);
  return bytes;
}

test('what the rights of a publisher are asked with comes back with its message', () => {
  const cases: readonly Publisher[] = [
    publisher,
    { ...publisher, zone: 'external', mountpoint: '' },
    { ...publisher, zone: 'ü', mountpoint: 'm/ü/' },
    { ...publisher, zone: 'z', mountpoint: 'm/', askedTopic: 'm/before' },
  ];
  for (const from of cases) {
    const { from: read, payload } = readOriginated(written(from), 3);
    assert.deepEqual([read, payload.toString()], [from, 'payload']);
  }
});

test('of a superuser nothing is kept that nobody asks for', () => {
  const root = { ...publisher, zone: 'z', mountpoint: 'm/', isSuperuser: true };
  assert.equal(originRecord(root).length, 0);
  assert.deepEqual(readOriginated(written(root), 3).from, publisher);
});

test('an origin that is cut off is damage', () => {
  const bytes = written({ ...publisher, zone: 'zone', mountpoint: 'm/', askedTopic: 'm/t' });
  for (let end = 4; end < bytes.length; end++) {
    assert.throws(() => readOriginated(bytes.subarray(0, end), 3), StoreDamaged, `${end} bytes`);
  }
});
