// Laws: what is written into a batch is read from it, equal and in order, whatever else is in it; what
// is read is borrowed from its memory.

import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import type { QoS } from '#wire/packet';
import { bareRouter } from '#core/session-fixture';
import type { MemberName } from '#core/peers-port';
import { Flag, LinkBatch } from './link-batch.ts';
import {
  frameOf,
  messageOf,
  type Published,
  published,
  type Seen,
  seenOf,
  SeeingSink,
  sender,
} from './link-fixture.ts';
import { LinkReader } from './link-reader.ts';

const given = process.env['FUZZ_SEED'];
const seed: number = given === undefined ? (Math.random() * 0x7fff_ffff) | 0 : Number(given);
const via = 3;

type Record =
  | {
      readonly kind: 'run';
      readonly one: Published;
      readonly count: number;
      readonly isV5: boolean;
    }
  | {
      readonly kind: 'message';
      readonly one: Published;
      readonly flags: number;
      readonly member: MemberName | undefined;
    }
  | { readonly kind: 'word'; readonly word: unknown };

function write(batch: LinkBatch, record: Record): void {
  if (record.kind === 'word') {
    batch.word(record.word);
  } else if (record.kind === 'message') {
    batch.message(messageOf(record.one), record.flags, record.member);
  } else {
    const { one, count, isV5 } = record;
    const frames = framesOf(record);
    const bytes = Buffer.concat([Buffer.from('before'), frames, Buffer.from('behind')]);
    const run = { bytes, start: 6, end: 6 + frames.length, count, piece: null };
    batch.run(run, Buffer.from(one.topic), isV5, one.from);
  }
}

function framesOf({ one, count, isV5 }: Record & { kind: 'run' }): Buffer {
  return Buffer.concat(Array<Buffer>(count).fill(frameOf({ ...one, qos: 0 }, isV5)));
}

function expected(record: Record): Seen {
  if (record.kind === 'word') return { kind: 'word', word: record.word };
  if (record.kind === 'run') {
    const { one, count, isV5 } = record;
    const { topic, from } = one;
    return { kind: 'run', topic, frames: framesOf(record), count, isV5, from };
  }
  const { one, member } = record;
  const { version, properties, passage, ...rest } = one;
  const flags =
    record.flags |
    (version === 4 ? 0 : Flag.isV5) |
    (one.id === undefined ? 0 : Flag.hasId) |
    (passage === undefined ? 0 : Flag.hasPassage) |
    (one.mayBeHad ? Flag.mayBeHad : 0) |
    (member === undefined ? 0 : Flag.isDirected);
  // Without a name there is nothing that it could be known by.
  const mayBeHad = one.mayBeHad && passage !== undefined;
  const message = { ...rest, passage, mayBeHad, via, properties: version === 4 ? {} : properties };
  return { kind: 'message', message, routed: one.topic, flags, member };
}

const name = fc.oneof(
  fc.constantFrom('a', 'sensor/1', 'größe', '温度/室', '🌡', 'x'.repeat(400)),
  fc.string({ minLength: 1, maxLength: 20 }).filter((text) => !/[+#\0$]/.test(text)),
);
const payload = fc.oneof(
  fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes)),
  fc.constantFrom(0, 1, 16_383, 70_000, 200_000).map((bytes) => Buffer.alloc(bytes, 'p')),
);
const publisher = fc
  .record({
    clientId: name,
    username: fc.option(fc.constantFrom('', 'user', 'ユーザー'), { nil: undefined }),
    address: fc.constantFrom('127.0.0.1', '2001:db8::1'),
    port: fc.integer({ min: 0, max: 65_535 }),
    hops: fc.integer({ min: 0, max: 127 }),
  })
  // As it is read: those that no rule has published do not say so.
  .map(({ hops, ...from }) => (hops === 0 ? from : { ...from, hops }));
const properties = fc.oneof(
  fc.constant({}),
  fc.record(
    {
      messageExpirySeconds: fc.integer({ min: 0, max: 0xffff_ffff }),
      contentType: name,
      correlationData: fc.uint8Array({ maxLength: 20 }).map((bytes) => Buffer.from(bytes)),
      userProperties: fc.array(fc.tuple(name, name), { minLength: 1, maxLength: 3 }),
    },
    { requiredKeys: [], noNullPrototype: true },
  ),
);
const member = fc.record({ group: name, filter: name, clientId: name }, { noNullPrototype: true });
const one: fc.Arbitrary<Published> = fc.record({
  topic: name,
  payload,
  qos: fc.constantFrom<QoS>(0, 1, 2),
  retain: fc.boolean(),
  properties,
  version: fc.constantFrom<0 | 4 | 5>(0, 4, 5),
  // Few, so that they are interleaved and come again.
  from: fc.integer({ min: 0, max: 2 }).chain((i) => fc.constant(publishers[i] ?? sender)),
  timestampMs: fc.integer({ min: 0, max: 2 ** 48 - 1 }),
  id: fc.option(fc.constant('0005F1A2B3C4'), { nil: undefined }),
  passage: fc.option(
    fc.record(
      {
        sessionNo: fc.integer({ min: 1, max: 2 ** 48 - 1 }),
        packetId: fc.integer({ min: 1, max: 65_535 }),
      },
      { noNullPrototype: true },
    ),
    { nil: undefined },
  ),
  mayBeHad: fc.boolean(),
});
const publishers = fc.sample(publisher, { seed, numRuns: 3 });
const record: fc.Arbitrary<Record> = fc.oneof(
  fc.record({
    kind: fc.constant('run' as const),
    one: one.map((run) => ({ ...run, properties: {} })),
    count: fc.integer({ min: 1, max: 3 }),
    isV5: fc.boolean(),
  }),
  fc.record({
    kind: fc.constant('message' as const),
    one,
    flags: fc.constantFrom(0, Flag.isAwaited, Flag.isHandedOn | Flag.isAwaited),
    member: fc.option(member, { nil: undefined }),
  }),
  fc.record({ kind: fc.constant('word' as const), word: fc.jsonValue() }),
);

test(`batches are read as they were written, in order (seed ${seed})`, () => {
  const reader = new LinkReader(bareRouter(), via);
  const spares: ArrayBuffer[] = [];
  fc.assert(
    fc.property(fc.array(record, { maxLength: 12 }), (records) => {
      const batch = new LinkBatch(spares.pop());
      for (const one of records) write(batch, one);
      const sink = new SeeingSink();
      reader.read(batch.bytes, batch.length, sink);
      assert.deepEqual(sink.seen, jsonSafe(records.map(expected)));
      spares.push(batch.bytes.buffer as ArrayBuffer);
    }),
    { seed, numRuns: 100 },
  );
});

/** JSON does not know -0. */
function jsonSafe(all: readonly Seen[]): Seen[] {
  return all.map((seen) =>
    seen.kind === 'word' ? { kind: 'word', word: JSON.parse(JSON.stringify(seen.word)) } : seen,
  );
}

test('a message that was read is gone with the memory of its batch unless it was owned', () => {
  const batch = new LinkBatch();
  for (const text of ['lost', 'kept']) {
    batch.message(messageOf(published('t', { payload: Buffer.from(text), qos: 1 })), 0, undefined);
  }
  const sink = new SeeingSink();
  sink.onMessage = (message) => {
    if (message.payload.toString() === 'kept') message.own();
    sink.messages.push(message);
  };
  new LinkReader(bareRouter(), via).read(batch.bytes, batch.length, sink);
  batch.bytes.fill('?');
  assert.deepEqual(
    sink.messages.map((message) => message.payload.toString()),
    ['????', 'kept'],
  );
});

test('a batch that is read twice says the same twice', () => {
  const batch = new LinkBatch();
  const records: Record[] = [
    { kind: 'word', word: ['hello'] },
    { kind: 'message', one: published('größe', { qos: 2 }), flags: 0, member: undefined },
    { kind: 'run', one: published('t'), count: 2, isV5: false },
  ];
  for (const one of records) write(batch, one);
  const sink = new SeeingSink();
  const reader = new LinkReader(bareRouter(), via);
  reader.read(batch.bytes, batch.length, sink);
  reader.read(batch.bytes, batch.length, sink);
  assert.deepEqual(sink.seen, [...records, ...records].map(expected));
});

test('a batch in memory that was used before says nothing of what was there', () => {
  const first = new LinkBatch();
  for (let i = 0; i < 100; i++) first.word(['interest', `old/${i}`, 1]);
  const memory = first.bytes.buffer as ArrayBuffer;
  const second = new LinkBatch(memory);
  assert.equal(second.length, 0);
  second.word(['hello']);
  assert.equal(second.bytes.buffer, memory);
  const sink = new SeeingSink();
  new LinkReader(bareRouter(), via).read(second.bytes, second.length, sink);
  assert.deepEqual(sink.seen, [{ kind: 'word', word: ['hello'] }]);
});

test("the flags and the packet id of a frame that goes over a link are nobody's", () => {
  const batch = new LinkBatch();
  const message = messageOf(published('t', { qos: 1, version: 5 }));
  batch.message(message, 0, undefined);
  const sink = new SeeingSink();
  new LinkReader(bareRouter(), via).read(batch.bytes, batch.length, sink);
  const frame = { bytes: Buffer.alloc(0), start: 0, end: 0, idAt: 0 };
  (sink.messages[0] as (typeof sink.messages)[0]).frameFor(true, true, frame);
  assert.equal(frame.bytes[frame.start], 0x32, 'not a duplicate');
  assert.deepEqual([...frame.bytes.subarray(frame.idAt, frame.idAt + 2)], [0, 77]);
});

test('what comes with the next message of a publisher is said of the same object', () => {
  const batch = new LinkBatch();
  const other = { ...sender, clientId: 'other' };
  const from = [sender, sender, other, { ...sender }];
  for (const one of from) batch.message(messageOf(published('t', { from: one })), 0, undefined);
  const sink = new SeeingSink();
  new LinkReader(bareRouter(), via).read(batch.bytes, batch.length, sink);
  const [a, b, c, d] = sink.messages.map((message) => message.from);
  assert.equal(a, b);
  assert.equal(a, d);
  assert.notEqual(a, c);
  assert.deepEqual(c, other);
  assert.equal(seenOf(sink.messages[2] as (typeof sink.messages)[0]).from.clientId, 'other');
});

test('a name that ends as another begins is not taken for it', () => {
  const batch = new LinkBatch();
  const twins = [
    { ...sender, clientId: 'ab', username: undefined, address: 'c' },
    { ...sender, clientId: 'a', username: 'b', address: 'c' },
    { ...sender, clientId: 'ab', username: '', address: 'c' },
    { ...sender, clientId: 'ab', username: 'c', address: '' },
  ];
  for (const from of twins) batch.message(messageOf(published('t', { from })), 0, undefined);
  const sink = new SeeingSink();
  new LinkReader(bareRouter(), via).read(batch.bytes, batch.length, sink);
  assert.deepEqual(
    sink.messages.map((message) => message.from),
    twins,
  );
});

test('a kind of record that does not exist is a broken promise', () => {
  const batch = new LinkBatch();
  batch.word(['hello']);
  batch.bytes[0] = 9;
  const reader = new LinkReader(bareRouter(), via);
  assert.throws(() => reader.read(batch.bytes, batch.length, new SeeingSink()), /runs, messages/);
});
