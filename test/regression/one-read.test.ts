// What happens when one read of the broker brings good and bad together: the good is delivered, the bad
// ends its own connection, and no other client ever sees bytes that are not its own.

import assert from 'node:assert/strict';
import test from 'node:test';
import { startBroker } from '#test/broker';
import { publishFrame } from './publish-frame.ts';

for (const [what, bad] of [
  ['a topic that is none', publishFrame('a/#')],
  ['a length of five bytes', Buffer.from([0x30, 0xff, 0xff, 0xff, 0xff, 0x01])],
] as const) {
  test(`QoS 0 messages in front of ${what} arrive as they were sent`, async () => {
    await using broker = await startBroker();
    const subscriber = await broker.connect();
    await subscriber.subscribe('t');
    const writer = await broker.connect();
    writer.send(Buffer.concat([publishFrame('t', 'the good message'), bad]));
    await writer.expectClosed();
    const other = await broker.connect();
    await other.publish('private/x', 'a secret of somebody else');
    assert.deepEqual(await subscriber.receivePayloads(1), ['the good message']);
    await subscriber.expectNothing();
  });
}

test('a length of more bytes than it needs is read from a 3.1.1 client and not handed on', async () => {
  await using broker = await startBroker();
  const subscriber = await broker.connect({ version: 4 });
  await subscriber.subscribe('t');
  const writer = await broker.connect({ version: 4 });
  writer.send(Buffer.from([0x30, 0x86, 0x80, 0x00, 0, 1, 0x74, 0x61, 0x62, 0x63]));
  assert.deepEqual([...(await subscriber.nextBytes())], [0x30, 6, 0, 1, 0x74, 0x61, 0x62, 0x63]);
});

test('a large packet behind many small ones in the same turn arrives whole', async () => {
  await using broker = await startBroker();
  const subscriber = await broker.connect();
  await subscriber.subscribe('t', { properties: { subscriptionIds: [7] } });
  const writer = await broker.connect();
  const small = Array.from({ length: 430 }, (_, i) => publishFrame('t', `${i}`));
  writer.send(Buffer.concat([...small, publishFrame('t', Buffer.alloc(62_000, 'b'))]));
  const received = await subscriber.receivePayloads(431);
  assert.equal(received.at(-1), 'b'.repeat(62_000));
});
