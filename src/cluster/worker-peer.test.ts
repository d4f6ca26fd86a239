// Laws: an awaited message is kept until the other has confirmed that it is flushed there, and is sent
// again to the one that comes after it; what nobody awaits is lost with the worker it was for.

import assert from 'node:assert/strict';
import test from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { MessageChannel } from 'node:worker_threads';
import { VirtualClock } from '#base/clock';
import { nullLogger } from '#base/log';
import { loadSettings } from '#config/load';
import { buildCore } from '#core/build-core';
import type { Core } from '#core/context';
import { deafStore, deliveryTo, FakeSubscriber, messageOn } from '#core/session-fixture';
import type { Delivery } from '#core/delivery';
import type { Message } from '#core/message';
import type { MemberState } from '#core/peers-port';
import type { RecordStore } from '#core/store-port';
import type { Wait } from '#core/ports';
import { Alone } from './alone.ts';
import { HandedOn } from './handed-on.ts';
import { type PeerHome, WorkerPeer } from './worker-peer.ts';
import type { Word } from './words.ts';

const settings = loadSettings({ sets: ['listener.tcp.external=127.0.0.1:0'] });

/** Keeps what it is given longer than the batch it came in. */
class Keeping extends FakeSubscriber {
  override deliver(message: Message, delivery: Delivery): Wait {
    return super.deliver(message.own(), delivery);
  }
}

/** One worker with one other: a subscriber whose store is done when the test says so. */
class Home implements PeerHome {
  readonly core: Core;
  readonly records = new Map<string, unknown>();
  readonly handedOn: HandedOn;
  readonly words: Word[] = [];
  readonly peer: WorkerPeer;
  readonly subscriber: FakeSubscriber;
  readonly index: number;

  constructor(index: number, other: number) {
    this.index = index;
    this.core = buildCore({
      settings,
      clock: new VirtualClock(),
      log: nullLogger,
      store: deafStore,
      peers: new Alone(),
    });
    this.handedOn = new HandedOn(recordsIn(this.records), index);
    this.peer = new WorkerPeer(other, this);
    this.subscriber = new Keeping(`of ${index}`);
    void this.core.filters.add('t', undefined, deliveryTo(this.subscriber, { qos: 2 }));
  }

  onWord(peer: WorkerPeer, word: Word): void {
    this.words.push(word);
    if (word[0] === 'hello') peer.greeted();
  }

  get payloads(): string[] {
    return this.subscriber.received.map(({ message }) => message.payload.toString());
  }
}

function recordsIn(map: Map<string, unknown>): RecordStore {
  return {
    get: (key) => map.get(key),
    put: (key, value) => void map.set(key, value),
    delete: (key) => void map.delete(key),
    entries: () => map.entries(),
  };
}

interface Pair {
  readonly a: Home;
  b: Home;
  /** The other one dies, and a successor is there; `isGreeted`: and has said hello. */
  succeed(isGreeted?: boolean): Promise<void>;
}

function connect(a: Home, b: Home): void {
  const { port1, port2 } = new MessageChannel();
  a.peer.up(port1);
  b.peer.up(port2);
}

async function pair(t: test.TestContext): Promise<Pair> {
  const both: Pair = {
    a: new Home(0, 1),
    b: new Home(1, 0),
    async succeed(isGreeted = true) {
      both.a.peer.down();
      both.b.peer.down();
      both.b = new Home(1, 0);
      connect(both.a, both.b);
      if (!isGreeted) return;
      both.b.peer.say(['hello']);
      both.a.peer.say(['hello']);
      await both.b.peer.handled();
    },
  };
  t.after(() => {
    both.a.peer.down();
    both.b.peer.down();
  });
  connect(both.a, both.b);
  for (const { peer } of [both.a, both.b]) peer.say(['hello']);
  await Promise.all([both.a.peer.handled(), both.b.peer.handled()]);
  return both;
}

/** How a wait stands, after everybody had the time to say what they have to. */
async function standOf(wait: Wait): Promise<'none' | 'waits' | 'stored' | 'refused'> {
  if (wait === undefined) return 'none';
  const end = wait.then(
    () => 'stored' as const,
    () => 'refused' as const,
  );
  for (let i = 0; i < 10; i++) await turn();
  return Promise.race([end, Promise.resolve('waits' as const)]);
}

function qos1(payload: string): Message {
  return messageOn('t', { payload, qos: 1 });
}

function memberOf(clientId: string, isStored = true): MemberState {
  return { group: 'g', filter: 't', clientId, joinNo: 1, isStored, isConnected: true };
}

test('a message that nobody awaits is handed over and waits for nothing', async (t) => {
  const { a, b } = await pair(t);
  assert.equal(a.peer.forward(qos1('x'), false), undefined);
  await a.peer.handled();
  assert.deepEqual(b.payloads, ['x']);
  assert.equal(b.subscriber.received[0]?.message.via, 0);
});

test('an awaited message is confirmed when the store over there has it', async (t) => {
  const { a, b } = await pair(t);
  const flush = Promise.withResolvers<void>();
  b.subscriber.stored = flush.promise;
  const wait = a.peer.forward(qos1('x'), true);
  assert.equal(await standOf(wait), 'waits');
  assert.deepEqual(b.payloads, ['x']);
  flush.resolve();
  assert.equal(await standOf(wait), 'stored');
});

test('an awaited message for nobody is confirmed at once', async (t) => {
  const { a } = await pair(t);
  assert.equal(await standOf(a.peer.forward(messageOn('nobody', { qos: 1 }), true)), 'stored');
});

test('of the messages of one batch one that is refused refuses all', async (t) => {
  const { a, b } = await pair(t);
  const failing = Promise.reject(new Error('full'));
  failing.catch(() => undefined);
  b.subscriber.stored = Promise.resolve();
  const first = a.peer.forward(qos1('1'), true);
  b.subscriber.deliver = (message, delivery) => {
    b.subscriber.received.push({ message: message.own(), delivery });
    return message.payload.toString() === '2' ? failing : Promise.resolve();
  };
  const second = a.peer.forward(qos1('2'), true);
  assert.equal(first, second, 'one answer for all');
  assert.equal(await standOf(first), 'refused');
  assert.deepEqual(b.payloads, ['1', '2']);
  const third = a.peer.forward(qos1('3'), true);
  assert.equal(await standOf(third), 'stored', 'the next batch is another one');
});

test('batches are confirmed each for itself, in whatever order they are flushed', async (t) => {
  const { a, b } = await pair(t);
  const flushes = [Promise.withResolvers<void>(), Promise.withResolvers<void>()] as const;
  b.subscriber.stored = flushes[0].promise;
  const first = a.peer.forward(qos1('1'), true);
  await a.peer.handled();
  b.subscriber.stored = flushes[1].promise;
  const second = a.peer.forward(qos1('2'), true);
  await a.peer.handled();
  flushes[1].resolve();
  assert.equal(await standOf(second), 'stored');
  assert.equal(await standOf(first), 'waits');
  flushes[0].reject(new Error('full'));
  assert.equal(await standOf(first), 'refused');
});

test('a worker that dies keeps awaited messages waiting, and its successor gets them', async (t) => {
  const both = await pair(t);
  const { a } = both;
  both.b.subscriber.stored = new Promise(() => undefined);
  const before = a.peer.forward(qos1('before'), true);
  void a.peer.forward(qos1('unawaited'), false);
  await a.peer.handled();
  a.peer.down();
  const during = a.peer.forward(qos1('during'), true);
  void a.peer.forward(qos1('lost'), false);
  assert.equal(await standOf(before), 'waits');
  await both.succeed();
  assert.equal(await standOf(before), 'stored');
  assert.equal(await standOf(during), 'stored');
  assert.deepEqual(both.b.payloads, ['before', 'during']);
});

test('what is awaited before the successor has said hello goes once, behind what it is owed', async (t) => {
  const both = await pair(t);
  const { a } = both;
  both.b.subscriber.stored = new Promise(() => undefined);
  const before = a.peer.forward(qos1('before'), true);
  await a.peer.handled();
  await both.succeed(false);
  const between = a.peer.forward(qos1('between'), true);
  assert.equal(await standOf(between), 'waits');
  assert.deepEqual(both.b.payloads, []);
  both.b.peer.say(['hello']);
  assert.equal(await standOf(before), 'stored');
  assert.equal(await standOf(between), 'stored');
  assert.deepEqual(both.b.payloads, ['before', 'between']);
});

test('a successor that dies as well leaves everything to the next, each message once', async (t) => {
  const both = await pair(t);
  const { a } = both;
  both.b.subscriber.stored = new Promise(() => undefined);
  const waits = [a.peer.forward(qos1('0'), true)];
  await a.peer.handled();
  await both.succeed(false);
  waits.push(a.peer.forward(qos1('1'), true));
  await both.succeed();
  assert.deepEqual(both.b.payloads, ['0', '1']);
  for (const wait of waits) assert.equal(await standOf(wait), 'stored');
});

test('only a message with a name says that it may be had when it goes again', async (t) => {
  const both = await pair(t);
  const { a } = both;
  both.b.subscriber.stored = new Promise(() => undefined);
  const named = messageOn('t', { payload: 'named', qos: 2 });
  named.passage = { sessionNo: 5, packetId: 9 };
  void a.peer.forward(named, true);
  void a.peer.forward(messageOn('t', { payload: 'nameless', qos: 2 }), true);
  await a.peer.handled();
  assert.deepEqual(
    both.b.subscriber.received.map(({ message }) => message.mayBeHad),
    [false, false],
  );
  await both.succeed();
  const again = both.b.subscriber.received.map(({ message }) => message);
  assert.deepEqual(
    again.map(({ passage, mayBeHad }) => [passage, mayBeHad]),
    [
      [{ sessionNo: 5, packetId: 9 }, true],
      [undefined, false],
    ],
  );
});

test('an answer that a dead worker still owed is not taken for one of its successor', async (t) => {
  const both = await pair(t);
  const { a, b } = both;
  const late = Promise.withResolvers<void>();
  b.subscriber.stored = late.promise;
  const wait = a.peer.forward(qos1('x'), true);
  await a.peer.handled();
  // A dies for b's eyes only: b is to answer the first batch of a that is another one by then.
  const { port1, port2 } = new MessageChannel();
  a.peer.down();
  b.peer.down();
  a.peer.up(port1);
  b.peer.up(port2);
  b.subscriber.stored = new Promise(() => undefined);
  b.peer.say(['hello']);
  await b.peer.handled();
  await a.peer.handled();
  late.resolve();
  assert.equal(await standOf(wait), 'waits');
  assert.deepEqual(b.payloads, ['x', 'x']);
});

test('a directed message reaches the member it is for', async (t) => {
  const { a, b } = await pair(t);
  const member = new FakeSubscriber('m');
  member.stored = Promise.resolve();
  void b.core.filters.add('t', 'g', deliveryTo(member, { qos: 1 }));
  assert.equal(await standOf(a.peer.forwardTo(memberOf('m'), qos1('x'), false)), 'stored');
  assert.deepEqual(member.topics, ['t']);
  assert.deepEqual(b.payloads, [], 'and nobody else');
});

test('a directed message whose member is gone goes to another one there', async (t) => {
  const { a, b } = await pair(t);
  const other = new FakeSubscriber('other');
  void b.core.filters.add('t', 'g', deliveryTo(other, { qos: 1 }));
  assert.equal(await standOf(a.peer.forwardTo(memberOf('m'), qos1('x'), false)), 'stored');
  assert.deepEqual(other.topics, ['t']);
});

test('a directed message for a group that is gone is confirmed: nobody wants it', async (t) => {
  const { a } = await pair(t);
  assert.equal(await standOf(a.peer.forwardTo(memberOf('m'), qos1('x'), false)), 'stored');
});

test('what was for a member that the successor does not have goes to whoever is chosen anew', async (t) => {
  const both = await pair(t);
  const { a } = both;
  a.peer.down();
  const waits = [false, true].map((isHandedOn) =>
    a.peer.forwardTo(memberOf('m'), qos1('x'), isHandedOn),
  );
  const here = new FakeSubscriber('here');
  const flush = Promise.withResolvers<void>();
  const handedOn: boolean[] = [];
  here.deliver = (_message, _delivery, isHandedOn = false) => {
    handedOn.push(isHandedOn);
    return flush.promise;
  };
  void a.core.filters.add('t', 'g', deliveryTo(here, { qos: 1 }));
  await both.succeed();
  assert.deepEqual(handedOn, [false, true]);
  for (const wait of waits) assert.equal(await standOf(wait), 'waits');
  assert.equal(a.records.size, 1);
  flush.resolve();
  for (const wait of waits) assert.equal(await standOf(wait), 'stored');
  assert.equal(a.records.size, 0);
});

test('what was for a member that the successor has goes there, and nowhere else', async (t) => {
  const both = await pair(t);
  const { a } = both;
  a.peer.down();
  const wait = a.peer.forwardTo(memberOf('m'), qos1('x'), false);
  const here = new FakeSubscriber('here');
  void a.core.filters.add('t', 'g', deliveryTo(here, { qos: 1 }));
  a.core.filters.setMember(a.peer, memberOf('m'));
  await both.succeed(false);
  const member = new FakeSubscriber('m');
  void both.b.core.filters.add('t', 'g', deliveryTo(member, { qos: 1 }));
  both.b.peer.say(['hello']);
  assert.equal(await standOf(wait), 'stored');
  assert.deepEqual([member.topics, here.topics], [['t'], []]);
});

test('a member that does not store its messages keeps nobody waiting', async (t) => {
  const { a } = await pair(t);
  assert.equal(a.peer.forwardTo(memberOf('m', false), qos1('x'), false), undefined);
  assert.equal(a.peer.forwardTo(memberOf('m'), messageOn('t'), false), undefined, 'QoS 0');
});

test('a message that is handed on is kept until the other worker has it', async (t) => {
  const { a, b } = await pair(t);
  const member = new FakeSubscriber('m');
  const flush = Promise.withResolvers<void>();
  member.stored = flush.promise;
  void b.core.filters.add('t', 'g', deliveryTo(member, { qos: 1 }));
  const wait = a.peer.forwardTo(memberOf('m'), qos1('x'), true);
  assert.equal(await standOf(wait), 'waits');
  assert.equal(a.records.size, 1);
  flush.resolve();
  assert.equal(await standOf(wait), 'stored');
  assert.equal(a.records.size, 0);
});

test('a message that is handed on and refused is kept for the next start', async (t) => {
  const { a, b } = await pair(t);
  const member = new FakeSubscriber('m');
  member.deliver = () => Promise.reject(new Error('full'));
  void b.core.filters.add('t', 'g', deliveryTo(member, { qos: 1 }));
  assert.equal(await standOf(a.peer.forwardTo(memberOf('m'), qos1('x'), true)), 'refused');
  assert.equal(a.records.size, 1);
});

test('a word that fails there takes no message along, and puts no answer in the wrong place', async (t) => {
  const { a, b } = await pair(t);
  const onWord = b.onWord.bind(b);
  b.onWord = (peer, word) => {
    if (word[0] === 'flush') throw new Error('cannot bear it');
    onWord(peer, word);
  };
  const flushes = [Promise.withResolvers<void>(), Promise.withResolvers<void>()] as const;
  a.peer.say(['flush', 1]);
  b.subscriber.stored = flushes[0].promise;
  const first = a.peer.forward(qos1('1'), true);
  await a.peer.handled();
  b.subscriber.stored = flushes[1].promise;
  const second = a.peer.forward(qos1('2'), true);
  await a.peer.handled();
  assert.deepEqual(b.payloads, ['1', '2']);
  flushes[1].resolve();
  assert.deepEqual([await standOf(first), await standOf(second)], ['waits', 'stored']);
});

test('a link that closes is not congested any more', async (t) => {
  const { a } = await pair(t);
  const { pressure } = a.core.flusher;
  for (let i = 0; i < 10; i++) {
    void a.peer.forward(messageOn('t', { payload: Buffer.alloc(1024 * 1024) }), false);
  }
  await turn();
  assert.equal(pressure.isPausing, true);
  a.peer.down();
  assert.equal(pressure.isPausing, false);
});
