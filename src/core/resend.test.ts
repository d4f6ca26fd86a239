import assert from 'node:assert/strict';
import test from 'node:test';
import { Inflight, Phase } from './inflight.ts';
import { Resend } from './resend.ts';
import { deliveryTo, FakeSubscriber, messageOn, wheel } from './session-fixture.ts';

interface Bench {
  readonly resend: Resend;
  readonly again: number[];
  readonly advance: (ms: number) => void;
  readonly send: () => number;
  readonly finish: (packetId: number) => void;
  readonly timers: () => number;
}

/** An inflight of so many messages that an earlier connection left behind. */
function bench(retryMs: number, backlogCount = 0): Bench {
  const { clock, timers } = wheel();
  const inflight = new Inflight();
  const again: number[] = [];
  const send = (): number => {
    const message = messageOn('t', { qos: 1 });
    const delivery = deliveryTo(new FakeSubscriber('s'));
    return inflight.add(message, delivery, Phase.awaitPuback, timers.nowMs);
  };
  for (let i = 0; i < backlogCount; i++) send();
  const resend = new Resend(inflight, inflight.inOrder(), timers, retryMs, (entry) => {
    entry.sentAtMs = timers.nowMs;
    again.push(entry.packetId);
  });
  return {
    resend,
    again,
    advance: (ms) => clock.advance(ms),
    send,
    finish: (packetId) => inflight.delete(packetId),
    timers: () => timers.size,
  };
}

test('resend gives the backlog once, in the order of sending', () => {
  const { resend } = bench(0, 3);
  const ids: number[] = [];
  for (let next = resend.take(); next !== undefined; next = resend.take()) ids.push(next.packetId);
  assert.deepEqual(ids, [1, 2, 3]);
  assert.equal(resend.isPending, false);
});

test('resend passes over what was acknowledged before its turn', () => {
  const { resend, finish } = bench(0, 3);
  assert.equal(resend.take()?.packetId, 1);
  finish(2);
  assert.equal(resend.take()?.packetId, 3);
  assert.equal(resend.take(), undefined);
});

test('resend without an interval never sends by itself', () => {
  const { resend, again, advance, timers } = bench(0, 1);
  resend.take();
  resend.arm();
  assert.equal(timers(), 0);
  advance(1_000_000);
  assert.deepEqual(again, []);
});

test('resend sends again what has waited for the interval, and again after the next', () => {
  const { resend, again, advance, send, finish } = bench(30_000);
  const first = send();
  resend.arm();
  advance(20_000);
  const second = send();
  resend.arm();
  advance(11_000);
  assert.deepEqual(again, [first]);
  advance(20_000);
  assert.deepEqual(again, [first, second]);
  finish(second);
  advance(11_000);
  assert.deepEqual(again, [first, second, first]);
});

test('resend rests when nothing is in flight and wakes up when armed', () => {
  const { resend, again, advance, send, finish, timers } = bench(30_000);
  const id = send();
  resend.arm();
  finish(id);
  advance(31_000);
  assert.equal(timers(), 0);
  const next = send();
  resend.arm();
  advance(31_000);
  assert.deepEqual(again, [next]);
});

test('resend leaves alone what the backlog has still to send for the first time', () => {
  const { resend, again, advance } = bench(30_000, 3);
  const taken = resend.take();
  advance(31_000);
  assert.deepEqual(again, [taken?.packetId]);
  assert.equal(resend.isPending, true);
});

test('resend that was stopped sends nothing', () => {
  const { resend, again, advance, send } = bench(30_000);
  send();
  resend.arm();
  resend.stop();
  advance(100_000);
  assert.deepEqual(again, []);
});
