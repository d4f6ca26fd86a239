// The contract of core/ports Transport, kept by every kind of listener.

import assert from 'node:assert/strict';
import test from 'node:test';
import { VirtualClock } from '#base/clock';
import { collect, connectClient, kinds, stopReading } from './client-fixture.ts';
import { echo, listenerSettings, TriedListener, until } from './listener-fixture.ts';

/** Far more than the kernel buffers of both sides hold. */
const tooMuch = 24 * 1024 * 1024;

/** Bytes without a short period, so that a lost, doubled or swapped piece shows. */
function patterned(length: number): Buffer {
  const words = new Uint32Array(Math.ceil(length / 4));
  for (let i = 0; i < words.length; i++) words[i] = Math.imul(i + 1, 0x9e3779b1);
  return Buffer.from(words.buffer, 0, length);
}

for (const kind of kinds) {
  test(`${kind}: a megabyte in odd pieces comes back whole`, async () => {
    await using tried = await TriedListener.open(listenerSettings(kind), {}, echo);
    const client = await connectClient(kind, tried.port);
    const back = collect(client);
    const sent = patterned(1024 * 1024);
    for (let at = 0; at < sent.length; ) {
      const next = at + 1 + ((at * 7919) % 70_000);
      client.write(sent.subarray(at, next));
      at = next;
    }
    await until('the echo', () => back.count() >= sent.length);
    assert.deepEqual(back.bytes(), sent);
    const { counters } = (await tried.sink()).transport;
    assert.equal(counters.receivedBytes, sent.length);
    assert.equal(counters.sentBytes, sent.length);
    assert.ok(counters.receivedReads > 0 && counters.sentWrites > 0);
    client.destroy();
  });

  test(`${kind}: nothing is received while paused and nothing is lost`, async () => {
    let paused = false;
    await using tried = await TriedListener.open(listenerSettings(kind), {}, (sink) => {
      sink.onReceive = () => {
        assert.equal(paused, false, 'received while paused');
        paused = true;
        sink.transport.pause();
        setImmediate(() => {
          paused = false;
          sink.transport.resume();
        });
      };
    });
    const client = await connectClient(kind, tried.port);
    const sent = patterned(300_000);
    for (let at = 0; at < sent.length; at += 1000) client.write(sent.subarray(at, at + 1000));
    const sink = await tried.sink();
    await until(
      'all bytes',
      () => sink.bytes.length >= sent.length || sink.closedFor !== undefined,
    );
    assert.deepEqual(sink.bytes, sent);
    client.destroy();
  });

  test(`${kind}: a write to a peer that does not read is kept until drained`, async () => {
    await using tried = await TriedListener.open(listenerSettings(kind));
    const client = await connectClient(kind, tried.port);
    stopReading(client);
    const sink = await tried.sink();
    const big = patterned(tooMuch);
    const expected = Buffer.from(big);
    assert.equal(sink.transport.write(big), false);
    assert.equal(sink.drains, 0);
    const got = collect(client);
    client.resume();
    await until('drained', () => sink.drains === 1);
    big.fill(0); // ours again
    await until('all bytes', () => got.count() === tooMuch);
    assert.ok(got.bytes().equals(expected));
    client.destroy();
  });

  test(`${kind}: memory may be reused as soon as a write or its drained says so`, async () => {
    await using tried = await TriedListener.open(listenerSettings(kind));
    const client = await connectClient(kind, tried.port);
    const got = collect(client);
    const sink = await tried.sink();
    const reused = Buffer.alloc(3000);
    const expected: Buffer[] = [];
    for (let i = 0; i < 100; i++) {
      reused.fill(i);
      expected.push(Buffer.from(reused));
      const drains = sink.drains;
      const pieces = [reused.subarray(0, 1000), reused.subarray(1000)];
      const gone = i % 2 === 0 ? sink.transport.write(reused) : sink.transport.writeAll(pieces);
      if (!gone) await until('drained', () => sink.drains === drains + 1);
    }
    await until('all bytes', () => got.count() === 300_000);
    assert.ok(got.bytes().equals(Buffer.concat(expected)));
    client.destroy();
  });

  test(`${kind}: pieces written together arrive in order`, async () => {
    await using tried = await TriedListener.open(listenerSettings(kind));
    const client = await connectClient(kind, tried.port);
    const got = collect(client);
    const sink = await tried.sink();
    const pieces = ['one ', 'two ', 'three'].map((text) => Buffer.from(text));
    if (!sink.transport.writeAll(pieces)) await until('drained', () => sink.drains === 1);
    assert.equal(sink.transport.counters.sentWrites, 1);
    await until('all bytes', () => got.bytes().toString() === 'one two three');
    client.destroy();
  });

  test(`${kind}: end sends what was written, then closes`, async () => {
    await using tried = await TriedListener.open(listenerSettings(kind));
    const client = await connectClient(kind, tried.port);
    const got = collect(client);
    const sink = await tried.sink();
    sink.transport.write(Buffer.from('goodbye'));
    sink.transport.end();
    assert.equal(sink.transport.write(Buffer.from('too late')), true);
    await until('the end', () => sink.closedFor !== undefined && got.ended());
    assert.equal(got.bytes().toString(), 'goodbye');
    assert.equal(sink.closedFor, 'closed');
  });

  test(`${kind}: end while paused still sees the peer go`, async () => {
    await using tried = await TriedListener.open(listenerSettings(kind));
    const client = await connectClient(kind, tried.port);
    collect(client);
    const sink = await tried.sink();
    sink.transport.pause();
    client.write('unread');
    sink.transport.end();
    await until('the end', () => sink.closedFor !== undefined);
    assert.equal(sink.bytes.length, 0);
  });

  test(`${kind}: end gives up on a peer that does not read after the send timeout`, async () => {
    await using tried = await TriedListener.open(listenerSettings(kind, { sendTimeoutMs: 60 }));
    const client = await connectClient(kind, tried.port);
    stopReading(client);
    const sink = await tried.sink();
    sink.transport.write(Buffer.alloc(tooMuch));
    sink.transport.end();
    await until('the end', () => sink.closedFor !== undefined);
    assert.equal(sink.closedFor, 'closed');
    client.destroy();
  });

  test(`${kind}: a write that stays pending ends the connection with send_timeout`, async () => {
    await using tried = await TriedListener.open(listenerSettings(kind, { sendTimeoutMs: 60 }));
    const client = await connectClient(kind, tried.port);
    stopReading(client);
    const sink = await tried.sink();
    assert.equal(sink.transport.write(Buffer.alloc(tooMuch)), false);
    await until('the end', () => sink.closedFor !== undefined);
    assert.equal(sink.closedFor, 'send_timeout');
    assert.equal(sink.drains, 0);
    client.destroy();
  });

  test(`${kind}: destroy closes at once and is told once`, async () => {
    await using tried = await TriedListener.open(listenerSettings(kind));
    const client = await connectClient(kind, tried.port);
    const got = collect(client);
    const sink = await tried.sink();
    sink.transport.destroy();
    sink.transport.destroy();
    await until('both ends closed', () => sink.closedFor !== undefined && got.ended());
    sink.transport.destroy();
    sink.transport.end();
    sink.transport.pause();
    sink.transport.resume();
    assert.equal(sink.transport.write(Buffer.from('x')), true);
    assert.equal(sink.closedFor, 'closed');
    assert.equal(tried.listener.currentConnections, 0);
  });

  test(`${kind}: a peer that ends is closed`, async () => {
    await using tried = await TriedListener.open(listenerSettings(kind));
    const client = await connectClient(kind, tried.port);
    const got = collect(client);
    client.end('last words');
    const sink = await tried.sink();
    await until('both ends closed', () => sink.closedFor !== undefined && got.ended());
    assert.equal(sink.bytes.toString(), 'last words');
    assert.equal(sink.closedFor, 'closed');
  });

  test(`${kind}: a sink that throws loses its own connection and no other`, async () => {
    await using tried = await TriedListener.open(listenerSettings(kind), {}, (sink) => {
      sink.onReceive = (bytes) => {
        if (bytes.includes('bang')) throw new Error('bang');
        sink.transport.write(bytes);
      };
    });
    const bad = await connectClient(kind, tried.port);
    collect(bad);
    const badSink = await tried.sink(0);
    const good = await connectClient(kind, tried.port);
    const back = collect(good);
    bad.write('bang');
    await until('the end', () => badSink.closedFor !== undefined);
    assert.equal(badSink.closedFor, 'internal_error');
    assert.ok(tried.log.events.includes('connection.receive.threw'));
    good.write('still here');
    await until('the echo', () => back.bytes().toString() === 'still here');
    good.destroy();
  });

  test(`${kind}: a rate limit delays and loses nothing`, async () => {
    const clock = new VirtualClock();
    const rateLimit = { bytesPerSecond: 1000, burst: 1000 };
    const settings = listenerSettings(kind, { rateLimit });
    await using tried = await TriedListener.open(settings, { clock });
    const client = await connectClient(kind, tried.port);
    const other = await connectClient(kind, tried.port);
    const sink = await tried.sink(0);
    const otherSink = await tried.sink(1);
    client.write(Buffer.alloc(3000, 'a'));
    await until('the first part', () => sink.bytes.length === 3000);
    client.end('and the rest');
    other.write('meanwhile');
    await until('the other connection', () => otherSink.bytes.toString() === 'meanwhile');
    clock.advance(1999);
    assert.equal(sink.bytes.length, 3000);
    clock.advance(1);
    await until('the rest', () => sink.bytes.subarray(3000).toString() === 'and the rest');
    clock.advance(12);
    await until('the end', () => sink.closedFor !== undefined);
    assert.equal(sink.closedFor, 'closed');
    client.destroy();
    other.destroy();
  });

  test(`${kind}: what arrived before a peer's end is received though reading was paused`, async () => {
    await using tried = await TriedListener.open(listenerSettings(kind), {}, (sink) => {
      sink.onReceive = () => sink.transport.pause();
    });
    const client = await connectClient(kind, tried.port);
    client.write('one ');
    client.write('two ');
    client.end('three');
    const sink = await tried.sink();
    while (sink.closedFor === undefined) {
      sink.transport.resume();
      await new Promise((resolve) => setImmediate(resolve));
    }
    assert.equal(sink.bytes.toString(), 'one two three');
  });

  test(`${kind}: a refused transport is closed`, async () => {
    await using tried = await TriedListener.open(listenerSettings(kind), {
      accept: () => undefined,
    });
    const client = await connectClient(kind, tried.port);
    const got = collect(client);
    await until('the end', () => got.ended() && tried.listener.currentConnections === 0);
  });
}
