import assert from 'node:assert/strict';
import test from 'node:test';
import { connectFrame, FrameWalker, packetIdAt, publishFrame, subscribeFrame } from './frames.ts';

test('a walker finds every frame however the stream is cut', () => {
  const seed = Date.now() % 100_000;
  const random = lehmer(seed);
  const frames = [
    Buffer.of(0xd0, 0),
    connectFrame('c'.repeat(200), 300),
    Buffer.of(0x40, 2, 0, 7),
    publishFrame('bench/a', 1, 513, 3),
    Buffer.concat([Buffer.of(0x30, 0x80, 0x80, 0x01), Buffer.alloc(16_384, 1)]),
    Buffer.of(0xd0, 0),
  ];
  const stream = Buffer.concat([...frames, ...frames, ...frames]);
  const reused = Buffer.alloc(stream.length);
  for (let round = 0; round < 20; round++) {
    const found: string[] = [];
    const walker = new FrameWalker();
    const sink = {
      frame(bytes: Buffer, header: number, bodyAt: number, end: number): void {
        found.push(`${header}:${bytes.toString('hex', bodyAt, end)}`);
      },
    };
    const mostBytes = round % 2 === 0 ? 4 : 9000;
    for (let at = 0; at < stream.length; ) {
      const end = Math.min(stream.length, at + 1 + Math.floor(random() * mostBytes));
      stream.copy(reused, 0, at, end);
      reused.fill(0xff, end - at, end - at + 8);
      walker.walk(reused, end - at, sink);
      at = end;
    }
    const expected = frames.map((bytes) => `${bytes[0]}:${body(bytes).toString('hex')}`);
    assert.deepEqual(found, [...expected, ...expected, ...expected], `seed ${seed}`);
  }
});

test('frames are the bytes that MQTT 3.1.1 prescribes', () => {
  assert.equal(connectFrame('ab', 300).toString('hex'), '100e00044d5154540402012c00026162');
  assert.equal(subscribeFrame('a/#', 1).toString('hex'), '82080001' + '0003612f23' + '01');
  const frame = publishFrame('a/b', 1, 0x0102, 0x0304);
  assert.equal(frame.toString('hex', 0, 9), '32470003612f620102');
  assert.equal(frame.readUInt16BE(packetIdAt(frame, 2)), 0x0102);
  assert.equal(frame.readUInt16LE(frame.length - 64), 0x0304);
});

function body(frame: Buffer): Buffer {
  let at = 1;
  while ((frame[at] ?? 0) >= 0x80) at++;
  return frame.subarray(at + 1);
}

function lehmer(seed: number): () => number {
  let state = seed + 1;
  return () => {
    state = (state * 48_271) % 2_147_483_647;
    return state / 2_147_483_647;
  };
}
