import assert from 'node:assert/strict';
import test from 'node:test';
import { startBroker } from '#test/broker';
import { encodePublish } from '#wire/encode-publish';
import { histogramPlaces, Probe, readHistograms, sampledReads } from './histograms.ts';

function publishOf(payloadBytes: number): Buffer {
  const packet = { topic: 't', payload: Buffer.alloc(payloadBytes), properties: {} };
  const flags = { type: 'publish', qos: 0, dup: false, retain: false, packetId: 0 } as const;
  return encodePublish({ ...packet, ...flags }, 4);
}

function probeAt(times: number[]): { probe: Probe; read: () => ReturnType<typeof readHistograms> } {
  const counts = new Float64Array(histogramPlaces);
  const probe = new Probe(counts, () => times.shift() ?? 0);
  return { probe, read: () => readHistograms((place) => counts[place] ?? 0) };
}

test('sizes of whole PUBLISH packets are counted, other packets and torn ones are not', () => {
  const { probe, read } = probeAt([1]);
  const torn = publishOf(5000).subarray(0, 100);
  const bytes = Buffer.concat([publishOf(10), Buffer.from([0xc0, 0]), publishOf(200), torn]);
  probe.begin();
  probe.handled(bytes, 0, bytes.length, false, true);
  const [sizes, turns] = read();
  assert.equal(
    sizes?.counts.reduce((sum, count) => sum + count, 0),
    2,
  );
  assert.equal(sizes?.sum, publishOf(10).length + publishOf(200).length);
  assert.equal(sizes?.counts[0], 1);
  assert.equal(
    turns?.counts.reduce((sum, count) => sum + count, 0),
    0,
  );
});

test('a turn is timed from the read to the writing of outboxes, and one above all bounds is counted', () => {
  const { probe, read } = probeAt([1000, 1002, 5000, 9000]);
  const bytes = publishOf(1);
  for (let i = 0; i < 2; i++) {
    probe.begin();
    probe.handled(bytes, 0, bytes.length, true, false);
    assert.equal(probe.isWaiting, true);
    probe.flushed();
  }
  const [, turns] = read();
  assert.equal(turns?.counts[turns.bounds.indexOf(0.002_5)], 1);
  assert.equal(turns?.counts.at(-1), 1);
  assert.equal(turns?.sum, 4.002);
});

test('a broker counts one read in so many', async () => {
  await using broker = await startBroker({ workers: 0 });
  const taker = await broker.connect();
  await taker.subscribe('t');
  const writer = await broker.connect();
  const reads = 3 * sampledReads;
  for (let i = 0; i < reads; i++) {
    await writer.publish('t', 'x');
    await taker.receive();
  }
  const [sizes] = broker.broker.core.metrics.histograms();
  const seen = sizes?.counts.reduce((sum, count) => sum + count, 0) ?? 0;
  assert.ok(seen >= 1 && seen <= 4, `${seen} of ${reads}`);
});
