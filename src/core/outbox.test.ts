import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import { setImmediate as turn } from 'node:timers/promises';
import { Metric, Metrics } from './metrics.ts';
import { Flusher, smallSlabBytes } from './flusher.ts';
import { copyBytes, Outbox, sharedPieceBytesMin } from './outbox.ts';
import type { PeerInfo, Transport } from './ports.ts';

/** Keeps copies of what is written; with `isSlow` it holds on to the memory until told otherwise. */
class FakeTransport implements Transport {
  readonly peer: PeerInfo = {
    address: '127.0.0.1',
    port: 1,
    localAddress: '127.0.0.1',
    localPort: 2,
  };
  readonly counters = { receivedBytes: 0, receivedReads: 0, sentBytes: 0, sentWrites: 0 };
  readonly writes: string[] = [];
  /** The very memory of each write, to see what happens to it later. */
  readonly held: Uint8Array[] = [];
  readonly isPaused: boolean = false;
  isSlow = false;
  isEnded = false;

  write(bytes: Uint8Array): boolean {
    return this.writeAll([bytes]);
  }
  writeAll(pieces: readonly Uint8Array[]): boolean {
    assert.equal(this.isEnded, false, 'nothing is written after the end');
    this.writes.push(Buffer.concat(pieces).toString('latin1'));
    this.held.push(...pieces);
    return !this.isSlow;
  }
  pause(): void {}
  resume(): void {}
  end(): void {
    this.isEnded = true;
  }
  destroy(): void {}
}

function bench(
  bytesMax = 100_000,
  flusher = new Flusher(),
): {
  transport: FakeTransport;
  /** How often the owner was told that there is room again. */
  room: () => number;
  outbox: Outbox;
  flusher: Flusher;
  metrics: Metrics;
} {
  const transport = new FakeTransport();
  const metrics = new Metrics();
  let told = 0;
  const onFault = (error: unknown): never => {
    throw error;
  };
  const owner = { onRoom: () => void told++, onFault };
  const outbox = new Outbox(transport, flusher, bytesMax, metrics, owner);
  return { transport, flusher, metrics, outbox, room: () => told };
}

const put = (outbox: Outbox, text: string): void => {
  const bytes = Buffer.from(text, 'latin1');
  outbox.copy(bytes, 0, bytes.length);
};

test('outbox writes once per turn, whatever came in it', async () => {
  const { transport, outbox, metrics } = bench();
  put(outbox, 'one ');
  put(outbox, 'two ');
  const at = outbox.reserve(2);
  outbox.slab?.write('ok', at, 'latin1');
  assert.deepEqual(transport.writes, []);
  assert.equal(outbox.bytes, 10);
  await turn();
  assert.deepEqual(transport.writes, ['one two ok']);
  assert.equal(outbox.bytes, 0);
  assert.equal(metrics.counts[Metric.bytesSent], 10);
  await turn();
  assert.equal(transport.writes.length, 1);
  put(outbox, 'next');
  await turn();
  assert.deepEqual(transport.writes, ['one two ok', 'next']);
});

test('outboxes of one flusher are written in the order in which they were touched', async () => {
  const flusher = new Flusher();
  const order: string[] = [];
  const outboxes = ['a', 'b', 'c'].map((name) => {
    const transport = new FakeTransport();
    transport.write = () => order.push(name) > 0;
    return new Outbox(transport, flusher, 1000, new Metrics(), {
      onRoom: () => undefined,
      onFault: () => undefined,
    });
  });
  for (const i of [2, 0, 1, 2]) put(outboxes[i] as Outbox, 'x');
  await turn();
  assert.deepEqual(order, ['c', 'a', 'b']);
});

test('outbox keeps nothing of what it copies', async () => {
  const { transport, outbox } = bench();
  const bytes = Buffer.from('precious');
  outbox.copy(bytes, 0, bytes.length);
  bytes.fill(0);
  await turn();
  assert.deepEqual(transport.writes, ['precious']);
});

test('outbox keeps the order of copies, shared pieces and more than one slab', async () => {
  const { transport, outbox } = bench(1_000_000);
  const texts = Array.from({ length: 40 }, (_, i) => `${i}`.padEnd(i % 4 === 0 ? 20_000 : 1500));
  for (const [i, text] of texts.entries()) {
    if (i % 5 === 0) outbox.share(Buffer.from(text));
    else put(outbox, text);
  }
  outbox.share(Buffer.alloc(0));
  await turn();
  assert.equal(transport.writes.length, 1);
  assert.equal(transport.writes[0], texts.join(''));
});

test('outbox shares memory without a copy', async () => {
  const [a, b] = [bench(), bench()];
  const piece = Buffer.alloc(sharedPieceBytesMin, 0x61);
  a.outbox.share(piece);
  b.outbox.share(piece);
  await turn();
  assert.deepEqual(
    [a.transport.held[0], b.transport.held[0]].map((held) => held === piece),
    [true, true],
  );
});

test('outbox has room up to its bound, and for one message of any size when empty', async () => {
  const { transport, outbox } = bench(100);
  transport.isSlow = true;
  assert.equal(outbox.hasRoom(1000), true);
  put(outbox, 'x'.repeat(60));
  assert.equal(outbox.hasRoom(40), true);
  assert.equal(outbox.hasRoom(41), false);
  await turn();
  assert.equal(outbox.hasRoom(41), false, 'what the transport holds still counts');
  outbox.drained();
  assert.equal(outbox.hasRoom(1000), true);
});

test('outbox tells its owner once that there is room again, and only one who was refused', async () => {
  const { transport, outbox, room } = bench(10);
  put(outbox, 'x'.repeat(10));
  await turn();
  assert.equal(room(), 0);
  put(outbox, 'x'.repeat(10));
  assert.equal(outbox.hasRoom(1), false);
  assert.equal(outbox.hasRoom(1), false);
  await turn();
  assert.equal(room(), 1, 'taken at once');
  transport.isSlow = true;
  put(outbox, 'x'.repeat(10));
  assert.equal(outbox.hasRoom(1), false);
  await turn();
  assert.equal(room(), 1);
  outbox.drained();
  assert.equal(room(), 2, 'taken later');
});

test('outbox writes nothing while the transport holds memory, then all at once', async () => {
  const { transport, outbox } = bench();
  transport.isSlow = true;
  put(outbox, 'first');
  await turn();
  assert.equal(outbox.isFlowing, false);
  put(outbox, ' second');
  await turn();
  put(outbox, ' third');
  await turn();
  assert.deepEqual(transport.writes, ['first']);
  assert.equal(outbox.bytes, 18);
  outbox.drained();
  assert.deepEqual(transport.writes, ['first', ' second third']);
  transport.isSlow = false;
  outbox.drained();
  assert.equal(outbox.bytes, 0);
  assert.equal(outbox.isFlowing, true);
});

test('outbox does not reuse memory that the transport holds', async () => {
  const { transport, outbox } = bench();
  transport.isSlow = true;
  put(outbox, 'held');
  await turn();
  put(outbox, 'more');
  put(outbox, 'x'.repeat(20_000));
  assert.equal(Buffer.from(transport.held[0] as Uint8Array).toString(), 'held');
});

test('outbox uses memory again once the transport has taken its bytes, large and small', async () => {
  const { outbox } = bench(1_000_000);
  for (const length of [10, 12_000]) {
    put(outbox, 'x'.repeat(length / 2));
    put(outbox, 'x'.repeat(length / 2));
    const { slab } = outbox;
    assert.ok(slab !== null);
    await turn();
    put(outbox, 'x'.repeat(length / 2));
    put(outbox, 'x'.repeat(length / 2));
    assert.equal(outbox.slab, slab);
    await turn();
  }
});

test('outbox moves what a small slab holds along when it needs a large one', async () => {
  const { transport, outbox } = bench(1_000_000);
  const texts = Array.from({ length: 200 }, (_, i) => `${i} `.repeat((i % 37) + 1));
  for (const text of texts) put(outbox, text);
  await turn();
  assert.deepEqual(transport.writes, [texts.join('')]);
});

test('outbox that ends writes what is pending first', () => {
  const { transport, outbox } = bench();
  put(outbox, 'last words');
  outbox.end();
  assert.deepEqual(transport.writes, ['last words']);
  assert.equal(transport.isEnded, true);
  outbox.end();
  assert.equal(transport.writes.length, 1);
});

test('outbox that ends behind held bytes hands over the rest before the end', async () => {
  const { transport, outbox } = bench();
  transport.isSlow = true;
  put(outbox, 'held');
  await turn();
  put(outbox, ' rest');
  outbox.share(Buffer.from(' piece'));
  put(outbox, ' bye');
  outbox.end();
  assert.deepEqual(transport.writes, ['held', ' rest piece bye']);
  assert.equal(transport.isEnded, true);
  await turn();
  assert.equal(transport.writes.length, 2);
});

test('outbox whose transport is gone writes nothing more', async () => {
  const { transport, outbox } = bench();
  put(outbox, 'lost');
  outbox.close();
  await turn();
  assert.deepEqual(transport.writes, []);
  assert.equal(outbox.bytes, 0);
  outbox.end();
  assert.equal(transport.isEnded, false);
});

test('copyBytes copies exactly the range, short and long', () => {
  const source = Buffer.from(Array.from({ length: 200 }, (_, i) => i));
  for (const length of [0, 1, 31, 32, 33, 100]) {
    const target = Buffer.alloc(120, 0xff);
    copyBytes(source, 7, 7 + length, target, 5);
    const expected = Buffer.alloc(120, 0xff);
    expected.set(source.subarray(7, 7 + length), 5);
    assert.deepEqual(target, expected);
  }
});

test('an outbox writes the very bytes it was given, whatever their lengths', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(
        fc.record({
          length: fc.oneof(
            fc.integer({ min: 1, max: 300 }),
            fc.integer({ min: 4000, max: 66_000 }),
          ),
          way: fc.constantFrom('copy', 'share', 'turn'),
        }),
        { maxLength: 40 },
      ),
      async (steps) => {
        const written: Buffer[] = [];
        const transport = new FakeTransport();
        transport.write = (bytes) => written.push(Buffer.from(bytes)) > 0;
        transport.writeAll = (pieces) => written.push(Buffer.concat(pieces)) > 0;
        const outbox = new Outbox(transport, new Flusher(), 2 ** 30, new Metrics(), {
          onRoom: () => undefined,
          onFault: () => undefined,
        });
        const given: Buffer[] = [];
        for (const [i, { length, way }] of steps.entries()) {
          const bytes = Buffer.alloc(length, i + 1);
          given.push(bytes);
          if (way === 'share') outbox.share(bytes);
          else outbox.copy(bytes, 0, length);
          if (way === 'turn') await turn();
        }
        await turn();
        assert.ok(Buffer.concat(written).equals(Buffer.concat(given)));
      },
    ),
    { numRuns: 200 },
  );
});

test('outbox counts as held only what its client does not take, until it does', async () => {
  const { transport, outbox, flusher } = bench();
  const { held } = flusher.pressure;
  put(outbox, 'taken at once');
  await turn();
  assert.equal(held.outboxes, 0);
  transport.isSlow = true;
  put(outbox, 'lent');
  assert.equal(held.outboxes, 0);
  await turn();
  assert.equal(held.outboxes, smallSlabBytes);
  put(outbox, 'waits behind');
  await turn();
  assert.equal(held.outboxes, 2 * smallSlabBytes);
  put(outbox, 'waits in the same memory');
  await turn();
  assert.equal(held.outboxes, 2 * smallSlabBytes);
  outbox.drained();
  assert.equal(held.outboxes, smallSlabBytes, 'what waited is lent now');
  outbox.drained();
  assert.equal(held.outboxes, 0);
});

test('outboxes that share memory hold it once', async () => {
  const flusher = new Flusher();
  const { held } = flusher.pressure;
  const slow = Array.from({ length: 3 }, () => bench(100_000, flusher));
  const piece = Buffer.allocUnsafeSlow(50_000);
  for (const { outbox, transport } of slow) {
    transport.isSlow = true;
    outbox.share(piece.subarray(0, 20_000));
    outbox.share(piece.subarray(20_000));
  }
  await turn();
  assert.equal(held.outboxes, 50_000);
  slow[0]?.outbox.drained();
  slow[1]?.outbox.close();
  assert.equal(held.outboxes, 50_000);
  slow[2]?.outbox.drained();
  assert.equal(held.outboxes, 0);
});

for (const [what, finish] of [
  ['is closed', (outbox: Outbox): void => outbox.close()],
  [
    'ends and is closed',
    (outbox: Outbox): void => {
      outbox.end();
      outbox.close();
    },
  ],
] as const) {
  test(`outbox that ${what} while its client does not read holds nothing any more`, async () => {
    const { transport, outbox, flusher } = bench();
    transport.isSlow = true;
    put(outbox, 'lent');
    await turn();
    put(outbox, 'waits');
    await turn();
    assert.ok(flusher.pressure.held.outboxes > 0);
    finish(outbox);
    assert.equal(flusher.pressure.held.outboxes, 0);
  });
}

test('outbox that is held writes nothing until it is released, then all in order', async () => {
  const { transport, outbox } = bench();
  put(outbox, 'connack ');
  outbox.hold();
  await turn();
  put(outbox, 'message ');
  await turn();
  assert.deepEqual(transport.writes, []);
  assert.equal(outbox.isFlowing, false);
  outbox.release();
  assert.deepEqual(transport.writes, ['connack message ']);
  put(outbox, 'more');
  await turn();
  assert.deepEqual(transport.writes, ['connack message ', 'more']);
});

test('outbox that is held is bounded, and tells of room when it is released', async () => {
  const { outbox, room, flusher } = bench(10);
  outbox.hold();
  put(outbox, 'eight by');
  await turn();
  assert.equal(outbox.hasRoom(8), false);
  assert.notEqual(flusher.pressure.held.outboxes, 0);
  outbox.release();
  assert.equal(room(), 1);
  assert.equal(flusher.pressure.held.outboxes, 0);
});

test('outbox that ends while it is held says its last words', async () => {
  const { transport, outbox } = bench();
  put(outbox, 'connack ');
  outbox.hold();
  await turn();
  put(outbox, 'disconnect');
  outbox.end();
  assert.deepEqual(transport.writes, ['connack disconnect']);
  outbox.release();
  await turn();
  assert.deepEqual(transport.writes, ['connack disconnect']);
});

test('a transport that drains does not release an outbox that is held', async () => {
  const { transport, outbox } = bench();
  put(outbox, 'connack');
  outbox.hold();
  outbox.drained();
  await turn();
  assert.deepEqual(transport.writes, []);
  assert.equal(outbox.bytes, 7);
});
