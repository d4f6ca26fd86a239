import assert from 'node:assert/strict';
import test, { type TestContext } from 'node:test';
import fc from 'fast-check';
import { type FrameSink, Framer } from './framer.ts';
import { ProtocolError } from './protocol-error.ts';
import { Reason } from './reason-codes.ts';
import { varintSize, writeVarint } from './varint.ts';

const given = process.env['FUZZ_SEED'];
const seed: number = given === undefined ? (Math.random() * 0x7fff_ffff) | 0 : Number(given);

function effort(t: TestContext, numRuns: number): { seed: number; numRuns: number } {
  t.diagnostic(`FUZZ_SEED=${seed}`);
  return { seed, numRuns };
}

/** Keeps copies of frames; answers false for those that `stopsAt` names by number. */
class Collector implements FrameSink {
  readonly frames: string[] = [];
  readonly bodies: string[] = [];
  readonly stopsAt: ReadonlySet<number>;

  constructor(stopsAt: Iterable<number> = []) {
    this.stopsAt = new Set(stopsAt);
  }

  frame(bytes: Buffer, start: number, body: number, end: number): boolean {
    this.frames.push(bytes.toString('hex', start, end));
    this.bodies.push(bytes.toString('hex', body, end));
    return !this.stopsAt.has(this.frames.length - 1);
  }
}

function frameOf(header: number, body: Uint8Array): Buffer {
  const head = Buffer.alloc(1 + varintSize(body.length));
  head[0] = header;
  writeVarint(head, 1, body.length);
  return Buffer.concat([head, body]);
}

/** Cuts at the given places and pushes piece by piece, each from a buffer that is poisoned behind. */
function pushCut(framer: Framer, sink: FrameSink, stream: Buffer, cuts: readonly number[]): void {
  const places = [...cuts.map((cut) => cut % (stream.length + 1)), 0, stream.length];
  places.sort((a, b) => a - b);
  for (let i = 1; i < places.length; i++) {
    const chunk = Buffer.from(stream.subarray(places[i - 1], places[i]));
    const around = Buffer.concat([Buffer.from([0xff]), chunk, Buffer.from([0xff])]);
    framer.push(sink, around, 1, 1 + chunk.length);
    around.fill(0xee);
  }
}

const frames: fc.Arbitrary<Buffer[]> = fc.array(
  fc
    .tuple(
      fc.integer({ min: 0, max: 255 }),
      fc.oneof(fc.nat(4), fc.nat(200), fc.constantFrom(126, 127, 128, 129, 300, 20_000)),
    )
    .map(([header, length]) => frameOf(header, Buffer.alloc(length, header ^ length))),
  { minLength: 1, maxLength: 12 },
);
const cuts = fc.array(fc.nat(50_000), { maxLength: 30 });
const hexOf = (all: readonly Buffer[]): string[] => all.map((frame) => frame.toString('hex'));

test('framer gives the same frames however the stream is cut', (t) => {
  const law = fc.property(frames, cuts, (all, places) => {
    const sink = new Collector();
    const framer = new Framer(1_000_000);
    framer.isMinimal = true;
    pushCut(framer, sink, Buffer.concat(all), places);
    assert.deepEqual(sink.frames, hexOf(all));
  });
  fc.assert(law, effort(t, 300));
});

test('framer gives the same frames to a sink that stops and is resumed at any time', (t) => {
  const stops = fc.array(fc.nat(11), { maxLength: 12 });
  const law = fc.property(frames, cuts, stops, (all, places, stopsAt) => {
    const sink = new Collector(stopsAt);
    const framer = new Framer(1_000_000);
    pushCut(framer, sink, Buffer.concat(all), places);
    for (let i = 0; i <= all.length; i++) framer.resume(sink);
    assert.deepEqual(sink.frames, hexOf(all));
  });
  fc.assert(law, effort(t, 300));
});

test('framer takes a stream one byte at a time', () => {
  const stream = Buffer.concat([
    frameOf(0x30, Buffer.alloc(130, 1)),
    frameOf(0xc0, Buffer.alloc(0)),
  ]);
  const sink = new Collector();
  const framer = new Framer(1000);
  for (let i = 0; i < stream.length; i++) framer.push(sink, stream, i, i + 1);
  assert.deepEqual(sink.bodies, ['01'.repeat(130), '']);
});

test('framer hands on whole frames in place, without a copy', () => {
  const stream = Buffer.concat([frameOf(0xc0, Buffer.alloc(0)), frameOf(0xd0, Buffer.alloc(0))]);
  const seen: Buffer[] = [];
  new Framer(100).push(
    {
      frame(bytes) {
        seen.push(bytes);
        return true;
      },
    },
    stream,
    0,
    stream.length,
  );
  assert.ok(seen.length === 2 && seen.every((bytes) => bytes === stream));
});

test('framer allocates for torn frames alone, however long the stream is', (t) => {
  const frame = frameOf(0x30, Buffer.alloc(77));
  const stream = Buffer.concat(Array.from({ length: 20_000 }, () => frame));
  const allocate = t.mock.method(Buffer, 'allocUnsafeSlow');
  const framer = new Framer(1_000_000);
  // A chunk that ends inside a frame must not make the next ones be copied.
  const chunkBytes = 65_536;
  let count = 0;
  const sink: FrameSink = { frame: () => ++count > 0 };
  for (let at = 0; at < stream.length; at += chunkBytes) {
    framer.push(sink, stream, at, Math.min(stream.length, at + chunkBytes));
  }
  assert.equal(count, 20_000);
  const sizes = allocate.mock.calls.map((call) => call.arguments[0]);
  const torn = Math.floor(stream.length / chunkBytes);
  assert.ok(sizes.length <= torn, `${sizes.length} allocations for ${torn} torn frames`);
  assert.ok(Math.max(0, ...sizes) <= 512, `an allocation of ${Math.max(...sizes)} bytes`);
});

test('framer keeps what comes while it is stopped and hands on nothing of it', () => {
  const sink = new Collector([0]);
  const framer = new Framer(100);
  const ping = Buffer.from([0xc0, 0x00]);
  framer.push(sink, ping, 0, 2);
  framer.push(sink, ping, 0, 2);
  framer.push(sink, ping, 0, 1);
  assert.equal(sink.frames.length, 1);
  framer.resume(sink);
  assert.equal(sink.frames.length, 2);
  framer.push(sink, ping, 1, 2);
  assert.equal(sink.frames.length, 3);
});

function failureOf(stream: readonly number[], maxBytes: number, isMinimal: boolean): number {
  const framer = new Framer(maxBytes);
  framer.isMinimal = isMinimal;
  try {
    framer.push(new Collector(), Buffer.from(stream), 0, stream.length);
  } catch (error) {
    assert.ok(error instanceof ProtocolError);
    return error.reasonCode;
  }
  return 0;
}

test('framer refuses a length over the limit as soon as it is known', () => {
  // 268 435 455 bytes announced, none of them there.
  assert.equal(failureOf([0x30, 0xff, 0xff, 0xff, 0x7f], 1024, true), Reason.packetTooLarge);
  assert.equal(failureOf([0x30, 0x80, 0x08], 1026, true), Reason.packetTooLarge);
});

test('framer counts the header into the limit', () => {
  const exact = frameOf(0x30, Buffer.alloc(98));
  const framer = new Framer(100);
  const sink = new Collector();
  framer.push(sink, exact, 0, exact.length);
  assert.equal(sink.frames.length, 1);
  assert.equal(failureOf([0x30, 99], 100, true), Reason.packetTooLarge);
});

test('framer refuses a length of five bytes, also when the fifth has not come', () => {
  assert.equal(failureOf([0x30, 0x80, 0x80, 0x80, 0x80, 0x01], 1e9, false), Reason.malformedPacket);
  assert.equal(failureOf([0x30, 0xff, 0xff, 0xff, 0xff], 1e9, false), Reason.malformedPacket);
  assert.equal(failureOf([0x30, 0xff, 0xff, 0xff], 1e9, false), 0);
});

test('framer refuses a length of more bytes than it needs only when it must be minimal', () => {
  for (const padded of [
    [0xc0, 0x80, 0x00],
    [0xc0, 0x81, 0x80, 0x00, 0x00],
  ]) {
    assert.equal(failureOf(padded, 1000, true), Reason.malformedPacket);
    assert.equal(failureOf(padded, 1000, false), 0);
  }
  const sink = new Collector();
  new Framer(100).push(sink, Buffer.from([0xc0, 0x81, 0x80, 0x00, 0xab]), 0, 5);
  assert.deepEqual(sink.bodies, ['ab']);
});
