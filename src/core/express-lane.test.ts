import assert from 'node:assert/strict';
import test from 'node:test';
import { encodePublish } from '#wire/encode-publish';
import type { PublishPacket } from '#wire/packet';
import { ProtocolError } from '#wire/protocol-error';
import { Reason } from '#wire/reason-codes';
import { Hooks } from '#hooks/runner';
import type { HookTable } from '#hooks/table';
import { ExpressLane, type ExpressSender } from './express-lane.ts';
import { Metrics } from './metrics.ts';
import { Interest } from './peers-port.ts';
import type { Route, Router } from './router.ts';
import {
  bareRouter,
  deliveryTo,
  FakeLink,
  FakeSubscriber,
  FakePeer,
  publisher,
} from './session-fixture.ts';

interface Bench {
  readonly lane: ExpressLane;
  readonly router: Router;
  readonly hooks: Hooks;
  readonly metrics: Metrics;
  readonly sender: ExpressSender & { isV5: boolean; isExpress: boolean };
  subscribe(filter: string, rawVersion: 0 | 4 | 5): FakeSubscriber & { link: FakeLink };
}

function bench(isV5 = false): Bench {
  const router = bareRouter();
  const hooks = new Hooks((_hook, _owner, error) => {
    throw error;
  });
  const metrics = new Metrics();
  const lane = new ExpressLane({ router, metrics, hooks, nowMs: () => 5000 });
  hooks.onChange = () => lane.reconsider();
  const sender = {
    isExpress: true,
    isControlled: false,
    mayPublish: () => true,
    isV5,
    publisher,
    lastRoute: null,
    receivedMessages: 0,
  };
  const subscribe: Bench['subscribe'] = (filter, rawVersion) => {
    const link = new FakeLink();
    link.rawVersion = rawVersion;
    const session = Object.assign(new FakeSubscriber(filter, link), { link });
    void router.filters.add(filter, undefined, deliveryTo(session));
    return session;
  };
  return { lane, router, hooks, metrics, sender, subscribe };
}

function frameOf(
  topic: string,
  payload: string,
  isV5: boolean,
  extra: Partial<PublishPacket> = {},
): Buffer {
  const packet: PublishPacket = {
    type: 'publish',
    topic,
    payload: Buffer.from(payload),
    qos: 0,
    dup: false,
    retain: false,
    packetId: 0,
    properties: {},
    ...extra,
  };
  return encodePublish(packet, isV5 ? 5 : 4);
}

/** Offers the frames of one read, one behind another, and says which were taken. */
function offer({ lane, sender }: Bench, frames: readonly Buffer[]): boolean[] {
  const bytes = Buffer.concat(frames);
  let start = 0;
  return frames.map((frame) => {
    const end = start + frame.length;
    let body = start + 1;
    while ((bytes[body++] as number) >= 0x80);
    const isTaken = lane.take(sender, bytes, start, body, end);
    start = end;
    return isTaken;
  });
}

const payloadsOf = ({ received }: FakeSubscriber): string[] =>
  received.map(({ message }) => `${message.topic} ${message.payload.toString()}`);

test('express lane sends consecutive frames of one topic as one run of the same bytes', () => {
  const b = bench();
  const [one, two] = [b.subscribe('t', 4), b.subscribe('+', 4)];
  const frames = ['1', '2', '3'].map((payload) => frameOf('t', payload, false));
  assert.deepEqual(offer(b, frames), [true, true, true]);
  assert.deepEqual(one.link.runs, [], 'nothing is sent before the run ends');
  b.lane.flush();
  for (const { link, received } of [one, two]) {
    assert.deepEqual(link.runs, [{ bytes: Buffer.concat(frames), count: 3 }]);
    assert.equal(received.length, 0);
  }
  b.lane.flush();
  assert.equal(one.link.runs.length, 1);
});

test('express lane ends a run where the topic changes and keeps the order', () => {
  const b = bench();
  const session = b.subscribe('#', 4);
  const frames = ['a', 'a', 'b', 'a'].map((topic, i) => frameOf(topic, `${i}`, false));
  offer(b, frames);
  b.lane.flush();
  assert.deepEqual(
    session.link.runs.map(({ count }) => count),
    [2, 1, 1],
  );
  assert.deepEqual(
    Buffer.concat(session.link.runs.map(({ bytes }) => bytes)),
    Buffer.concat(frames),
  );
});

test('express lane ends a run where a frame went another way', () => {
  const b = bench();
  const session = b.subscribe('t', 4);
  const frames = [
    frameOf('t', '1', false),
    frameOf('t', '2', false, { qos: 1, packetId: 9 }),
    frameOf('t', '3', false),
  ];
  assert.deepEqual(offer(b, frames), [true, false, true]);
  b.lane.flush();
  assert.deepEqual(
    session.link.runs.map(({ bytes }) => bytes.toString('hex')),
    [frames[0]?.toString('hex'), frames[2]?.toString('hex')],
  );
});

for (const isV5 of [false, true]) {
  const own = isV5 ? 5 : 4;
  const other = isV5 ? 4 : 5;
  test(`express lane gives single messages to receivers of other layouts, from level ${own}`, () => {
    const b = bench(isV5);
    const raw = b.subscribe('ä/b', own);
    const strangers = [b.subscribe('ä/+', other), b.subscribe('ä/#', 0)];
    const long = 'x'.repeat(300);
    offer(
      b,
      ['1', long, ''].map((payload) => frameOf('ä/b', payload, isV5)),
    );
    b.lane.flush();
    assert.deepEqual(
      raw.link.runs.map(({ count }) => count),
      [3],
    );
    for (const stranger of strangers) {
      assert.deepEqual(payloadsOf(stranger), ['ä/b 1', `ä/b ${long}`, 'ä/b ']);
      assert.deepEqual(stranger.link.runs, []);
    }
  });
}

test('express lane gives single messages to the absent and to those whose link is full', () => {
  const b = bench();
  const [absent, full] = [b.subscribe('t', 4), b.subscribe('+', 4)];
  (absent as FakeSubscriber).link = null;
  full.link.takesRuns = false;
  offer(b, [frameOf('t', '1', false), frameOf('t', '2', false)]);
  b.lane.flush();
  assert.deepEqual(payloadsOf(absent), ['t 1', 't 2']);
  assert.deepEqual(payloadsOf(full), ['t 1', 't 2']);
});

test('express lane leaves alone what is more than a plain QoS 0 message', () => {
  const b = bench(true);
  b.subscribe('#', 5);
  const refused = [
    frameOf('t', 'x', true, { retain: true }),
    frameOf('t', 'x', true, { qos: 1, packetId: 1 }),
    frameOf('t', 'x', true, { properties: { contentType: 'text' } }),
    frameOf('', 'x', true, { properties: { topicAlias: 1 } }),
    Buffer.from([0x30, 0x03, 0x00, 0x05, 0x61]),
    Buffer.from([0x30, 0x03, 0x00, 0x01, 0x61]),
    Buffer.from([0x38, 0x04, 0x00, 0x01, 0x61, 0x00]),
  ];
  for (const frame of refused) assert.deepEqual(offer(b, [frame]), [false], frame.toString('hex'));
  b.sender.isExpress = false;
  assert.deepEqual(offer(b, [frameOf('t', 'x', true)]), [false]);
});

test('express lane leaves alone topics with shared or special subscriptions', () => {
  const b = bench();
  const session = new FakeSubscriber('s');
  void b.router.filters.add('shared', 'g', deliveryTo(session));
  void b.router.filters.add('special', undefined, deliveryTo(session, { isPlain: false }));
  for (const topic of ['shared', 'special']) {
    assert.deepEqual(offer(b, [frameOf(topic, 'x', false)]), [false]);
  }
});

test('express lane takes of a client with access control what it knows to be allowed', () => {
  const b = bench();
  b.subscribe('t', 4);
  const frame = frameOf('t', 'x', false);
  const asked: string[] = [];
  let isAllowed = false;
  Object.assign(b.sender, {
    isControlled: true,
    mayPublish: ({ topic }: Route) => {
      asked.push(topic);
      return isAllowed;
    },
  });
  assert.deepEqual(offer(b, [frame]), [false]);
  isAllowed = true;
  assert.deepEqual(offer(b, [frame]), [true]);
  assert.deepEqual(asked, ['t', 't']);
  b.lane.flush();
});

test('express lane is closed while a hook wants single messages', () => {
  const b = bench();
  b.subscribe('t', 4);
  const frame = frameOf('t', 'x', false);
  const wanted = ['message.publish', 'message.deliver', 'message.dropped'] as const;
  for (const hook of wanted) {
    b.hooks.on(hook, 'plugin', (() => 'ignore') as HookTable[typeof hook]);
    assert.deepEqual(offer(b, [frame]), [false], hook);
    b.hooks.off('plugin');
    assert.deepEqual(offer(b, [frame]), [true], hook);
    b.lane.flush();
  }
});

test('express lane gives a run to a peer that wants it, once, and to no other', () => {
  const b = bench();
  const [wanting, other] = [new FakePeer(1), new FakePeer(2)];
  b.router.filters.setInterest(wanting, 't', Interest.some);
  b.router.filters.setInterest(wanting, '+', Interest.some);
  b.router.filters.setInterest(other, 'u', Interest.some);
  const frames = [frameOf('t', 'x', false), frameOf('t', 'y', false)];
  assert.deepEqual(offer(b, frames), [true, true]);
  b.lane.flush();
  assert.deepEqual(wanting.runs, [{ topic: 't', bytes: Buffer.concat(frames), count: 2 }]);
  assert.deepEqual(other.runs, []);
  assert.equal(b.metrics.get('messages/dropped'), 0);
  b.router.filters.setInterest(wanting, 't', Interest.none);
  b.router.filters.forgetPeer(wanting);
  assert.deepEqual(offer(b, frames), [true, true]);
  b.lane.flush();
  assert.equal(wanting.runs.length, 1);
});

test('a run from a peer reaches plain subscribers as it is and others message by message', () => {
  const b = bench();
  const plain = b.subscribe('t', 4);
  const special = new FakeSubscriber('special', plain.link);
  void b.router.filters.add('t', undefined, deliveryTo(special, { isPlain: false }));
  const bytes = Buffer.concat([frameOf('t', 'x', false), frameOf('t', 'y', false)]);
  const run = { bytes, start: 0, end: bytes.length, count: 2, piece: null };
  b.lane.deliver(run, b.router.routeTo('t'), b.sender, 1);
  assert.deepEqual(plain.link.runs, [{ bytes, count: 2 }]);
  const seen = special.received.map(
    ({ message }) => `${message.payload.toString()} ${message.via}`,
  );
  assert.deepEqual(seen, ['x 1', 'y 1']);
});

test('express lane sees subscriptions that came and went since the last message', () => {
  const b = bench();
  const frame = frameOf('t', 'x', false);
  const send = (): void => {
    offer(b, [frame]);
    b.lane.flush();
  };
  send();
  const session = b.subscribe('t', 4);
  const wild = b.subscribe('#', 4);
  send();
  b.router.filters.remove('t', undefined, session);
  send();
  assert.deepEqual([session.link.runs.length, wild.link.runs.length], [1, 2]);
});

test('express lane refuses what is no topic name', () => {
  const b = bench();
  for (const topic of ['a/#', '+', 'a\u{0}b']) {
    const bytes = Buffer.from(topic);
    const frame = Buffer.concat([Buffer.from([0x30, bytes.length + 2, 0, bytes.length]), bytes]);
    assert.throws(() => offer(b, [frame]), ProtocolError);
  }
  const wild = Buffer.from([0x30, 0x03, 0x00, 0x01, 0x23]);
  assert.throws(
    () => offer(b, [wild]),
    (error) => error instanceof ProtocolError && error.reasonCode === Reason.topicNameInvalid,
  );
});

test('express lane counts what came in and what nobody wanted', () => {
  const b = bench();
  b.subscribe('t', 4);
  offer(b, [frameOf('t', '1', false), frameOf('t', '2', false), frameOf('nobody', '3', false)]);
  b.lane.flush();
  assert.equal(b.sender.receivedMessages, 3);
  for (const key of [
    'packets/received',
    'packets/publish/received',
    'messages/received',
    'messages/qos0/received',
  ] as const) {
    assert.equal(b.metrics.get(key), 3, key);
  }
  assert.equal(b.metrics.get('messages/dropped'), 1);
});
