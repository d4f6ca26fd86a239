import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import test from 'node:test';
import { numberAt, payloadBytes, publishFrame } from './frames.ts';
import { SessionInbox } from './session-inbox.ts';

/** What the inbox is sent, and what it writes back. */
function exchange(
  inbox: SessionInbox,
  ...messages: readonly [number: number, id: number][]
): string {
  const written: Buffer[] = [];
  const receiver = inbox.over({
    write: (bytes: Buffer) => written.push(bytes),
  } as unknown as Socket);
  for (const [number, id] of messages) {
    const frame = publishFrame('bench/hall/00042/temp', 1, id, 0);
    frame.writeUInt32LE(number, frame.length - payloadBytes + numberAt);
    receiver.frame(frame, frame[0] ?? 0, 2, frame.length);
  }
  receiver.readDone?.();
  return Buffer.concat(written).toString('hex');
}

test('an inbox acknowledges every message of a read at once, by its packet id', () => {
  assert.equal(exchange(new SessionInbox(), [0, 7], [1, 0x1234]), '4002000740021234');
});

test('an inbox tells what is missing of the first messages, whatever came twice or later', () => {
  const inbox = new SessionInbox();
  exchange(inbox, [0, 1], [2, 2], [2, 3]);
  exchange(inbox, [5_000_000, 1]);
  assert.deepEqual([inbox.received, inbox.distinct], [4, 3]);
  assert.deepEqual([inbox.missingOf(1), inbox.missingOf(3), inbox.missingOf(4)], [0, 1, 2]);
  assert.equal(inbox.has(5_000_000), true);
});
