import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import { decodePacket } from '#wire/decode';
import { encodePublish } from '#wire/encode-publish';
import type { Properties, PublishPacket, QoS } from '#wire/packet';
import { PacketReader } from '#wire/packet-reader';
import { type PublishParts, publishParts, scanPublish } from '#wire/publish-scan';
import { type FrameRef, Message } from './message.ts';
import { messageOn, publisher } from './session-fixture.ts';

const given = process.env['FUZZ_SEED'];
const seed: number = given === undefined ? (Math.random() * 0x7fff_ffff) | 0 : Number(given);

const layouts = [
  { isV5: false, hasId: false },
  { isV5: false, hasId: true },
  { isV5: true, hasId: false },
  { isV5: true, hasId: true },
];

function bodyOf(bytes: Buffer, start = 0, end = bytes.length): number {
  const reader = new PacketReader(bytes, start + 1, end);
  reader.varint();
  return reader.at;
}

/** A message that lies in the middle of a read buffer, as on-publish.ts makes it. */
function borrowed(
  packet: PublishPacket,
  isV5: boolean,
  isReusable = true,
): { message: Message; buffer: Buffer } {
  const frame = encodePublish(packet, isV5 ? 5 : 4);
  const start = 11;
  const buffer = Buffer.concat([Buffer.alloc(start, 0xaa), frame, Buffer.alloc(2000, 0xbb)]);
  const end = start + frame.length;
  const parts: PublishParts = publishParts();
  scanPublish(parts, frame[0] as number, buffer, bodyOf(buffer, start, end), end, isV5);
  const properties = isV5 ? packet.properties : undefined;
  const message = Message.borrowed(
    packet.topic,
    frame[0] as number,
    properties,
    publisher,
    1000,
    buffer,
    start,
    packet.qos === 0 ? 0 : parts.topicEnd,
    parts.payloadStart,
    end,
    isV5,
    isReusable,
  );
  return { message, buffer };
}

/** The frame of one layout, decoded. */
function frameOf(message: Message, isV5: boolean, hasId: boolean): PublishPacket {
  const ref: FrameRef = { bytes: Buffer.alloc(0), start: 0, end: 0, idAt: 0 };
  message.frameFor(isV5, hasId, ref);
  const { bytes, start, end, idAt } = ref;
  const body = bodyOf(bytes, start, end);
  // The writer patches flags and id before it sends: so do we.
  const patched = Buffer.from(bytes.subarray(start, end));
  patched[0] = hasId ? 0x32 : 0x30;
  if (hasId) patched.writeUInt16BE(0x1234, idAt - start);
  return decodePacket(
    patched[0] as number,
    patched,
    body - start,
    patched.length,
    isV5 ? 5 : 4,
  ) as PublishPacket;
}

function assertSays(message: Message, packet: PublishPacket, isV5: boolean): void {
  const properties: Properties = isV5 ? packet.properties : {};
  assert.equal(message.payload.toString('hex'), packet.payload.toString('hex'));
  assert.equal(message.payloadBytes, packet.payload.length);
  assert.deepEqual(
    [message.topic, message.qos, message.retain],
    [packet.topic, packet.qos, packet.retain],
  );
  for (const layout of layouts) {
    const frame = frameOf(message, layout.isV5, layout.hasId);
    assert.equal(frame.topic, packet.topic);
    assert.equal(frame.payload.toString('hex'), packet.payload.toString('hex'));
    assert.equal(frame.packetId, layout.hasId ? 0x1234 : 0);
    assert.deepEqual(frame.properties, layout.isV5 ? properties : {});
  }
}

const packets: fc.Arbitrary<PublishPacket> = fc
  .record({
    topic: fc.constantFrom('t', 'a/b/c', 'ä/ß/€', 'x'.repeat(150)),
    payload: fc.oneof(
      fc.uint8Array({ maxLength: 300 }),
      fc.constantFrom(8191, 8192, 9000, 70_000).map((length) => new Uint8Array(length).fill(7)),
    ),
    qos: fc.constantFrom<QoS>(0, 1, 2),
    retain: fc.boolean(),
    contentType: fc.constantFrom(undefined, 'text', 'y'.repeat(200)),
  })
  .map(({ topic, payload, qos, retain, contentType }) => ({
    type: 'publish',
    topic,
    payload: Buffer.from(payload),
    qos,
    dup: false,
    retain,
    packetId: qos === 0 ? 0 : 77,
    properties: contentType === undefined ? {} : { contentType },
  }));

test('a message says the same borrowed, owned and compact, in every layout', (t) => {
  t.diagnostic(`FUZZ_SEED=${seed}`);
  const ways: fc.Arbitrary<readonly ('own' | 'compact')[]> = fc.constantFrom(
    ['own'],
    ['compact'],
    ['own', 'compact'],
    ['compact', 'own'],
  );
  const law = fc.property(packets, fc.boolean(), fc.boolean(), ways, (packet, isV5, reuse, way) => {
    assertSays(borrowed(packet, isV5, reuse).message, packet, isV5);
    const { message, buffer } = borrowed(packet, isV5, reuse);
    for (const step of way) assert.equal(message[step](), message);
    buffer.fill(0xee);
    assertSays(message, packet, isV5);
    assertSays(message, packet, isV5);
  });
  fc.assert(law, { seed, numRuns: 150 });
});

const simple: PublishPacket = {
  type: 'publish',
  topic: 't',
  payload: Buffer.from('payload'),
  qos: 1,
  dup: false,
  retain: false,
  packetId: 5,
  properties: {},
};

test('messages owned one after another do not write over each other', () => {
  const all = Array.from({ length: 3000 }, (_, i) => {
    const packet = { ...simple, payload: Buffer.from(`payload ${i}`.padEnd(i % 100)) };
    const { message, buffer } = borrowed(packet, true);
    message.own();
    buffer.fill(0);
    return { message, packet };
  });
  for (const { message, packet } of all) {
    assert.equal(message.payload.toString(), packet.payload.toString());
  }
});

test('a compact message holds little more than its own bytes', () => {
  const { message } = borrowed(simple, false);
  assert.ok(message.own().payload.buffer.byteLength >= 16 * 1024, 'an arena block is shared');
  assert.ok(message.compact().payload.buffer.byteLength < 200);
});

test('a message hands on the frame it came in, without encoding', () => {
  const { message, buffer } = borrowed(simple, true);
  const ref: FrameRef = { bytes: Buffer.alloc(0), start: 0, end: 0, idAt: 0 };
  message.frameFor(true, true, ref);
  assert.equal(ref.bytes, buffer);
  assert.equal(buffer.readUInt16BE(ref.idAt), 5);
});

test('a message is encoded once per layout for all receivers', () => {
  const message = messageOn('t');
  const [one, two] = [0, 1].map(() => {
    const ref: FrameRef = { bytes: Buffer.alloc(0), start: 0, end: 0, idAt: 0 };
    message.frameFor(true, false, ref);
    return ref.bytes;
  });
  assert.equal(one, two);
});

test('a changed message keeps its identity and everything that was not changed', () => {
  const { message, buffer } = borrowed(
    { ...simple, retain: true, properties: { contentType: 'c' } },
    true,
  );
  const changed = message.with({ topic: 'other' });
  buffer.fill(0);
  assert.equal(changed.topic, 'other');
  assert.equal(changed.payload.toString(), 'payload');
  assert.deepEqual([changed.qos, changed.retain, changed.timestampMs], [1, true, 1000]);
  assert.deepEqual(changed.properties, { contentType: 'c' });
  assert.equal(frameOf(changed, true, true).topic, 'other');
  const { id } = messageOn('t');
  assert.notEqual(messageOn('t').id, id);
  const named = messageOn('t');
  const name = named.id;
  assert.equal(named.with({ qos: 2 }).id, name);
  assert.equal(named.id, name);
});

test('a message may be changed in payload, QoS, retain flag and properties', () => {
  const changed = messageOn('t').with({
    payload: Buffer.from('new'),
    qos: 2,
    retain: true,
    properties: { messageExpirySeconds: 5 },
  });
  assert.equal(changed.payload.toString(), 'new');
  assert.deepEqual([changed.qos, changed.retain, changed.expiresAtMs], [2, true, 5000]);
});

test('a message expires when its interval is over, and never without one', () => {
  const message = messageOn('t', { properties: { messageExpirySeconds: 2 }, timestampMs: 1000 });
  assert.equal(message.isExpired(2999), false);
  assert.equal(message.isExpired(3000), true);
  assert.equal(messageOn('t').isExpired(Number.MAX_VALUE), false);
});

test('a message names who published it', () => {
  const message = messageOn('t', { from: { ...publisher, clientId: 'me', username: 'u' } });
  assert.deepEqual([message.clientId, message.username], ['me', 'u']);
});
