// Memory that is not ours to keep, and memory that is kept for too little: views of the read buffer
// must not outlive the read, and a small message must not hold a large block.

import assert from 'node:assert/strict';
import test from 'node:test';
import { publisher } from '#core/session-fixture';
import { Message } from '#core/message';
import { startBroker, type TestBroker } from '#test/broker';
import { publishFrame } from './publish-frame.ts';

/** Fills the read buffers with something else. */
async function otherTraffic(broker: TestBroker): Promise<void> {
  const other = await broker.connect({
    username: 'somebody else',
    password: Buffer.alloc(2000, 'p'),
  });
  for (let i = 0; i < 5; i++) await other.publish('elsewhere', Buffer.alloc(3000, 'z'), { qos: 1 });
}

test('a will is published as it was written, whatever was read since its CONNECT', async () => {
  await using broker = await startBroker();
  const watcher = await broker.connect();
  await watcher.subscribe('will');
  const client = await broker.connect({
    clientId: 'mortal',
    will: {
      topic: 'will',
      payload: 'last words',
      properties: {
        correlationData: Buffer.from('precious correlation'),
        userProperties: [['name', 'value']],
      },
    },
  });
  await otherTraffic(broker);
  await broker.lose(client, 'mortal');
  const will = await watcher.receive();
  assert.equal(will.payload.toString(), 'last words');
  assert.equal(will.properties.correlationData?.toString(), 'precious correlation');
  assert.deepEqual(will.properties.userProperties, [['name', 'value']]);
});

test('queued and retained messages keep their binary properties, whatever was read since', async () => {
  await using broker = await startBroker();
  const durable = { clientId: 's', properties: { sessionExpirySeconds: 100 } };
  const absent = await broker.connect(durable);
  await absent.subscribe('queued', { qos: 1 });
  await broker.lose(absent, 's');
  const writer = await broker.connect();
  const properties = { correlationData: Buffer.from('precious correlation') };
  await writer.publish('queued', 'q', { qos: 1, properties });
  await writer.publish('retained', 'r', { qos: 1, retain: true, properties });
  await otherTraffic(broker);
  const back = await broker.connect({ ...durable, cleanStart: false });
  await back.subscribe('retained');
  const [queued, retained] = [await back.receive(), await back.receive()];
  for (const message of [queued, retained]) {
    assert.equal(message.properties.correlationData?.toString(), 'precious correlation');
  }
  assert.deepEqual([queued.payload.toString(), retained.payload.toString()], ['q', 'r']);
});

test('a message that waits for a slow client holds little more than its own bytes', async () => {
  await using broker = await startBroker();
  const slow = await broker.connect({ clientId: 'slow', properties: { receiveMaximum: 1 } });
  await slow.subscribe('t', { qos: 1 });
  const writer = await broker.connect();
  for (let i = 0; i < 5; i++) await writer.publish('t', 'x', { qos: 1 });
  const queue = broker.session('slow')?.out.queue;
  assert.equal(queue?.length, 4);
  for (let queued = queue.shift(); queued !== undefined; queued = queue.shift()) {
    assert.ok(queued.message.payload.buffer.byteLength < 200);
  }
});

test('a message in flight holds little more than its own bytes once its client has gone', async () => {
  await using broker = await startBroker();
  const client = await broker.connect({
    clientId: 's',
    properties: { sessionExpirySeconds: 100 },
  });
  await client.subscribe('t', { qos: 2 });
  const writer = await broker.connect();
  await writer.publish('t', 'x', { qos: 1 });
  await writer.publish('t', 'y', { qos: 2 });
  await broker.lose(client, 's');
  const entries = broker.session('s')?.out.window.inflight.inOrder() ?? [];
  assert.deepEqual(
    entries.map(({ message }) => message?.payload.toString()),
    ['x', 'y'],
  );
  for (const { message } of entries) {
    assert.ok((message?.payload.buffer.byteLength ?? Infinity) < 200);
  }
});

test('a retained message that is flushed is held by the store alone', async () => {
  await using broker = await startBroker();
  const writer = await broker.connect();
  await writer.publish('t', 'x', { qos: 1, retain: true });
  const read = (): Message[] => {
    const found: Message[] = [];
    broker.broker.core.retained.slice('t', '', 10, (message) => found.push(message) > 0);
    return found;
  };
  const [first, second] = [read(), read()];
  assert.deepEqual(
    [...first, ...second].map(({ payload }) => payload.toString()),
    ['x', 'x'],
  );
  assert.notEqual(first[0], second[0], 'each time it is read anew');
});

test('a compact message holds neither a small read buffer nor what a hook replaced', () => {
  const frame = publishFrame('t', 'hello world');
  const borrowed = (): Message => {
    // A read buffer hardly larger than the frame: its size must not pass for ownership.
    const bytes = Buffer.allocUnsafeSlow(frame.length);
    frame.copy(bytes);
    const payloadAt = frame.length - 11;
    const { length } = frame;
    return Message.borrowed(
      't',
      0x30,
      undefined,
      publisher,
      0,
      bytes,
      0,
      0,
      payloadAt,
      length,
      true,
      true,
    );
  };
  const inPlace = borrowed();
  const readBuffer = inPlace.payload.buffer;
  assert.notEqual(inPlace.compact().payload.buffer, readBuffer);
  const changed = borrowed().own().with({ qos: 1 }).compact();
  assert.ok(changed.payload.buffer.byteLength < 200);
  assert.equal(changed.payload.toString(), 'hello world');
});
