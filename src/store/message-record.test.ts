import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import { encodePublish } from '#wire/encode-publish';
import type { Properties, PublishPacket, QoS } from '#wire/packet';
import { PacketReader } from '#wire/packet-reader';
import { type PublishParts, scanPublish } from '#wire/publish-scan';
import { type FrameRef, Message, type Publisher } from '#core/message';
import { messageBytes, readMessage, writeMessage } from './message-record.ts';
import { StoreDamaged } from './store-damaged.ts';

const given = process.env['FUZZ_SEED'];
const seed: number = given === undefined ? (Math.random() * 0x7fff_ffff) | 0 : Number(given);

const publisher: Publisher = { clientId: 'p', username: undefined, address: '::1', port: 1883 };

/** A message in the middle of a read buffer, as it comes from a client. */
function received(packet: PublishPacket, isV5: boolean, from: Publisher, ms: number): Message {
  const frame = encodePublish(packet, isV5 ? 5 : 4);
  const start = 7;
  const bytes = Buffer.concat([Buffer.alloc(start, 0xaa), frame, Buffer.alloc(50, 0xbb)]);
  const end = start + frame.length;
  const reader = new PacketReader(bytes, start + 1, end);
  reader.varint();
  const parts = {} as PublishParts;
  scanPublish(parts, frame[0] as number, bytes, reader.at, end, isV5);
  const hasProperties = parts.propertiesStart < parts.propertiesEnd;
  return Message.borrowed(
    packet.topic,
    frame[0] as number,
    hasProperties ? packet.properties : undefined,
    from,
    ms,
    bytes,
    start,
    packet.qos === 0 ? 0 : parts.topicEnd,
    parts.payloadStart,
    end,
    isV5,
    true,
  );
}

function made(packet: PublishPacket, from: Publisher, ms: number): Message {
  const { topic, payload, qos, retain, properties } = packet;
  const given = Object.keys(properties).length === 0 ? undefined : properties;
  return new Message(topic, payload, qos, retain, given, from, ms);
}

function recordOf(message: Message): Buffer {
  const record = Buffer.alloc(messageBytes(message) + 5, 0xcc);
  assert.equal(writeMessage(message, record, 3), record.length - 2);
  assert.equal(
    record.toString('latin1', 0, 3) + record.toString('latin1', record.length - 2),
    'ÌÌÌÌÌ',
  );
  return record.subarray(3, -2);
}

/** As it is sent: the writer patches flags and packet id. */
function frameOf(message: Message, isV5: boolean, hasId: boolean): string {
  const ref: FrameRef = { bytes: Buffer.alloc(0), start: 0, end: 0, idAt: 0 };
  message.frameFor(isV5, hasId, ref);
  const frame = Buffer.from(ref.bytes.subarray(ref.start, ref.end));
  frame[0] = hasId ? 0x32 : 0x30;
  if (hasId) frame.writeUInt16BE(0x1234, ref.idAt - ref.start);
  return frame.toString('latin1');
}

function assertSame(found: Message, wanted: Message): void {
  const fields = (message: Message): unknown => {
    const { topic, qos, retain, properties, from, timestampMs, expiresAtMs, givenId } = message;
    const payload = message.payload.toString('latin1');
    return { topic, qos, retain, properties, from, timestampMs, expiresAtMs, givenId, payload };
  };
  assert.deepEqual(fields(found), fields(wanted));
  for (const isV5 of [false, true]) {
    for (const hasId of [false, true]) {
      const [one, two] = [frameOf(found, isV5, hasId), frameOf(wanted, isV5, hasId)];
      assert.ok(one === two, `the same bytes go to clients (MQTT 5: ${isV5}, id: ${hasId})`);
    }
  }
}

const texts = fc.string({ unit: 'grapheme', maxLength: 20 }).filter((text) => !text.includes('\0'));
const names = fc.oneof(texts, fc.constantFrom('', 'n'.repeat(300), 'ü'.repeat(40)));

const properties: fc.Arbitrary<Properties> = fc.record(
  {
    payloadFormat: fc.constantFrom(0, 1),
    messageExpirySeconds: fc.integer({ min: 0, max: 2 ** 32 - 1 }),
    contentType: texts,
    responseTopic: texts,
    correlationData: fc.uint8Array({ maxLength: 30 }).map((bytes) => Buffer.from(bytes)),
    userProperties: fc.array(fc.tuple(texts, texts), { minLength: 1, maxLength: 4 }),
  },
  { requiredKeys: [], noNullPrototype: true },
);

const packets: fc.Arbitrary<PublishPacket> = fc.record({
  type: fc.constant('publish'),
  topic: fc.oneof(
    texts.filter((text) => text !== '' && !/[#+]/.test(text)),
    fc.constantFrom('a/b', '/', 'ä/€/\u{1f600}', 't/'.repeat(3000)),
  ),
  payload: fc.oneof(
    fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes)),
    fc.constantFrom(Buffer.alloc(0), Buffer.alloc(300_000, 'payload')),
  ),
  qos: fc.constantFrom<QoS>(0, 1, 2),
  dup: fc.boolean(),
  retain: fc.boolean(),
  packetId: fc.constant(77),
  properties,
});

const publishers: fc.Arbitrary<Publisher> = fc.record(
  {
    clientId: names,
    username: fc.option(names, { nil: undefined }),
    address: fc.constantFrom('127.0.0.1', '::1', ''),
    port: fc.integer({ min: 0, max: 0xffff }),
    hops: fc.integer({ min: 1, max: 15 }),
  },
  { requiredKeys: ['clientId', 'username', 'address', 'port'], noNullPrototype: true },
);

test('any message comes back from its record as it was, and is sent as the same bytes', (t) => {
  t.diagnostic(`FUZZ_SEED=${seed}`);
  const times = fc.oneof(fc.constantFrom(0, 2 ** 48 - 1), fc.integer({ min: 0, max: 2 ** 41 }));
  const forms = fc.constantFrom('v3', 'v5', 'made');
  const law = fc.property(
    packets,
    publishers,
    times,
    forms,
    fc.boolean(),
    (packet, from, ms, form, hasId) => {
      const message =
        form === 'made' ? made(packet, from, ms) : received(packet, form === 'v5', from, ms);
      if (hasId) assert.equal(message.id.length, 32);
      const record = Buffer.from(recordOf(message));
      assertSame(readMessage(record), message);
      const inside = Buffer.concat([Buffer.alloc(6), record]);
      assertSame(readMessage(inside, 6), message);
      assert.deepEqual(recordOf(readMessage(record)), record, 'stored again it is the same');
    },
  );
  fc.assert(law, { seed, numRuns: 300 });
});

const plain: PublishPacket = {
  type: 'publish',
  topic: 'a/b',
  payload: Buffer.from('payload'),
  qos: 1,
  dup: false,
  retain: true,
  packetId: 9,
  properties: { messageExpirySeconds: 60, contentType: 'text' },
};

test('a message is stored in the frame it came in', () => {
  for (const isV5 of [false, true]) {
    const record = recordOf(received(plain, isV5, publisher, 5));
    assert.ok(record.includes(encodePublish(plain, isV5 ? 5 : 4)));
  }
});

test('a stored message is sent to clients of its layout from the record itself', () => {
  const record = recordOf(received(plain, false, publisher, 5));
  const ref: FrameRef = { bytes: Buffer.alloc(0), start: 0, end: 0, idAt: 0 };
  const message = readMessage(record);
  message.frameFor(false, true, ref);
  assert.equal(ref.bytes, record);
  message.own();
  assert.equal(message.payload.buffer, record.buffer, 'it has memory of its own already');
});

test('no username and an empty one are two things', () => {
  for (const username of [undefined, '']) {
    const from = { ...publisher, username };
    assert.equal(readMessage(recordOf(made(plain, from, 0))).username, username);
  }
});

test('messages of several publishers keep theirs', () => {
  const two = [publisher, { ...publisher, clientId: 'other', username: 'u', port: 2 }];
  const written = [0, 1, 0, 1].map((i) => recordOf(made(plain, two[i] as Publisher, 0)));
  const read = written.map((record) => readMessage(record).from);
  assert.deepEqual(read, [two[0], two[1], two[0], two[1]]);
});

test('a name that is no MQTT string does not make a message unreadable', () => {
  const from = { ...publisher, username: 'CN=\0' };
  assert.equal(readMessage(recordOf(made(plain, from, 0))).username, 'CN=\0');
});

test('bytes that are no record of a message are damage', () => {
  const record = Buffer.from(recordOf(received(plain, true, { ...publisher, username: 'u' }, 5)));
  const frameAt = record.indexOf(encodePublish(plain, 5));
  const spoiled = (at: number, byte: number): Buffer => {
    const bytes = Buffer.from(record);
    bytes[at] = byte;
    return bytes;
  };
  const noTopic = recordOf(made({ ...plain, topic: '' }, publisher, 5));
  const bad: [string, Buffer][] = [
    ['nothing', Buffer.alloc(0)],
    ['zeros', Buffer.alloc(100)],
    ['another format', spoiled(0, 2)],
    ['unknown flags', spoiled(1, 0x80)],
    ['a name that is too long', spoiled(8, 0xff)],
    ['another packet', spoiled(frameAt, 0x40)],
    ['QoS 3', spoiled(frameAt, 0x36)],
    ['a frame of another length', spoiled(frameAt + 1, 3)],
    ['a topic beyond the end', spoiled(frameAt + 2, 0xff)],
    ['no topic', noTopic],
    ['a topic with U+0000', spoiled(frameAt + 4, 0)],
    ['something behind the frame', Buffer.concat([record, Buffer.alloc(1)])],
  ];
  for (const [what, bytes] of bad) {
    assert.throws(() => readMessage(bytes), StoreDamaged, what);
  }
  for (let end = 0; end < record.length; end++) {
    assert.throws(() => readMessage(record.subarray(0, end)), StoreDamaged, `${end} bytes of it`);
  }
  assert.equal(readMessage(record).topic, 'a/b');
});

test('random bytes are damage or a message, and never another error', (t) => {
  t.diagnostic(`FUZZ_SEED=${seed}`);
  const record = Buffer.from(recordOf(received(plain, true, publisher, 5)));
  const change = fc.tuple(fc.nat({ max: record.length - 1 }), fc.nat({ max: 255 }));
  const law = fc.property(fc.array(change, { maxLength: 6 }), (changes) => {
    const bytes = Buffer.from(record);
    for (const [at, byte] of changes) bytes[at] = byte;
    try {
      readMessage(bytes);
    } catch (error) {
      assert.ok(error instanceof StoreDamaged, String(error));
    }
  });
  fc.assert(law, { seed, numRuns: 2000 });
});
