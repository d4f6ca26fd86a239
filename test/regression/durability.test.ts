// Ways that were found to lose what was acknowledged, to deliver QoS 2 twice, or to leave something
// behind, when the store is slow or fails at the wrong moment.

import assert from 'node:assert/strict';
import test from 'node:test';
import { VirtualClock } from '#base/clock';
import type { Batch } from '#store/batch';
import { Bodies } from '#store/bodies';
import { Committer } from '#store/committer';
import { MemoryEngine } from '#store/memory-engine';
import { NumberKind, Numbers, numbersAfter } from '#store/numbers';
import { SessionTables } from '#store/session-store';
import { delivery, ownMessage } from '#store/session-store-fixture';
import { Table } from '#store/table';
import { startBroker } from '#test/broker';
import type { RawClient } from '#test/raw-client';
import { SlowEngine } from '#test/slow-engine';
import { settled, until } from './event-turns.ts';
import { join, Lives, publishAll } from './lives.ts';

/** An engine that cannot be read while it is told so. */
class UnreadableEngine extends SlowEngine {
  isBroken = false;

  #read<T>(read: () => T): T {
    if (this.isBroken) throw new Error('Cannot read: input/output error');
    return read();
  }

  override get(table: Table, key: Buffer): Buffer | undefined {
    return this.#read(() => super.get(table, key));
  }
  override has(table: Table, key: Buffer): boolean {
    return this.#read(() => super.has(table, key));
  }
  override range(...of: Parameters<SlowEngine['range']>): void {
    this.#read(() => super.range(...of));
  }
  override keys(...of: Parameters<SlowEngine['keys']>): void {
    this.#read(() => super.keys(...of));
  }
  override lastKey(table: Table, from: Buffer, to: Buffer): Buffer | undefined {
    return this.#read(() => super.lastKey(table, from, to));
  }
}

test('a PUBREL that is repeated is not answered before the freed id is on disk', async () => {
  await using lives = new Lives();
  const broker = await lives.start();
  const worker = 0; // To move, it would have to be flushed.
  const before = await join(broker, 'p', false, { worker });
  before.sendPublish('t', 'one', { qos: 2, packetId: 1 });
  await before.next('pubrec');
  await broker.flushed();
  lives.engine.hold();
  before.ack('pubrel', 1);
  await lives.engine.next();
  await broker.lose(before, 'p');
  const after = await join(broker, 'p', true, { worker });
  after.ack('pubrel', 1);
  await after.expectNothing();
  lives.engine.pass();
  assert.equal((await after.next('pubcomp')).packetId, 1);
});

/** A disk that is full but for what cannot be taken back. */
class FullEngine extends SlowEngine {
  isFull = false;

  override commit(batch: Batch): Promise<void> {
    if (this.isFull && batch.hasBrief) return Promise.reject(new Error('the disk is full'));
    return super.commit(batch);
  }
}

test('QoS 2 handshakes of durable sessions go on while the disk is full', async () => {
  const engine = new FullEngine();
  const clock = new VirtualClock();
  const clockwork = setInterval(() => clock.advance(500), 2);
  try {
    await using broker = await startBroker({ engine, clock });
    const absent = await join(broker, 's', false);
    await absent.subscribe('t', { qos: 2 });
    await broker.lose(absent, 's');
    const texts = ['1', '2', '3', '4', '5'];
    await publishAll(broker, 't', texts, 2);
    const publisher = await join(broker, 'p', false);
    publisher.sendPublish('t', '6', { qos: 2, packetId: 9 });
    await publisher.next('pubrec');
    engine.isFull = true;
    const writer = await broker.connect();
    assert.equal((await writer.publish('t', 'refused', { qos: 1 }))?.reasonCode, 0x83);
    publisher.ack('pubrel', 9);
    assert.equal((await publisher.next('pubcomp')).packetId, 9);
    const back = await join(broker, 's', true);
    assert.deepEqual(await back.receivePayloads(6), [...texts, '6']);
  } finally {
    clearInterval(clockwork);
  }
});

test('what an ended session leaves is cleared away while the disk is full', async () => {
  const engine = new FullEngine();
  const clock = new VirtualClock();
  await using broker = await startBroker({ engine, clock });
  const absent = await join(broker, 's', false);
  await absent.subscribe('t', { qos: 2 });
  await broker.lose(absent, 's');
  await publishAll(broker, 't', ['1', '2', '3']);
  engine.isFull = true;
  await broker.connect({ clientId: 's', cleanStart: true });
  await until('an empty queue', () => {
    clock.advance(500);
    return engine.count(Table.queue) === 0 && engine.count(Table.subscriptions) === 0;
  });
});

test('packet ids that could not be read when a client came are read when it comes again', async () => {
  const memory = new MemoryEngine();
  const clock = new VirtualClock();
  const first = new SlowEngine(memory);
  {
    await using broker = await startBroker({ engine: first, clock });
    const subscriber = await join(broker, 's', false);
    await subscriber.subscribe('t', { qos: 2 });
    const publisher = await join(broker, 'p', false);
    publisher.sendPublish('t', 'once', { qos: 2, packetId: 5 });
    await publisher.next('pubrec');
    first.cut();
  }
  const engine = new UnreadableEngine(memory);
  await using broker = await startBroker({ engine, clock });
  engine.isBroken = true;
  const refused = await broker.open();
  await refused
    .connect({ clientId: 'p', cleanStart: false, properties: { sessionExpirySeconds: 9 } })
    .catch(() => undefined);
  await refused.expectClosed();
  assert.equal(broker.takeFaults().length, 1);
  engine.isBroken = false;
  const publisher = await join(broker, 'p', true);
  publisher.sendPublish('t', 'once', { qos: 2, packetId: 5, dup: true });
  await publisher.next('pubrec');
  const subscriber = await join(broker, 's', true);
  assert.deepEqual(await subscriber.receivePayloads(1), ['once']);
  await subscriber.expectNothing();
});

test('a session whose client could not be let in for want of its ids expires like any other', async () => {
  const memory = new MemoryEngine();
  const clock = new VirtualClock();
  const first = new SlowEngine(memory);
  {
    await using broker = await startBroker({ engine: first, clock });
    const publisher = await join(broker, 'p', false);
    publisher.sendPublish('t', 'x', { qos: 2, packetId: 5 });
    await publisher.next('pubrec');
    first.cut();
  }
  const engine = new UnreadableEngine(memory);
  await using broker = await startBroker({ engine, clock });
  engine.isBroken = true;
  const refused = await broker.open();
  await refused
    .connect({ clientId: 'p', cleanStart: false, properties: { sessionExpirySeconds: 9 } })
    .catch(() => undefined);
  await refused.expectClosed();
  broker.takeFaults();
  engine.isBroken = false;
  broker.advance(20_000);
  assert.equal(broker.session('p'), undefined);
});

test('receipts stay exact however many batches there were', async () => {
  const engine = new MemoryEngine();
  const clock = new VirtualClock();
  const journal = new Committer(engine, { clock, onTrouble: () => {}, onFault: () => {} });
  for (const serial of [2 ** 31, 2 ** 32 + 5, 2 ** 40 + 3]) {
    journal.serial = serial;
    const parts = {
      journal,
      bodies: new Bodies(journal, new Numbers(numbersAfter(engine), NumberKind.body)),
      marks: new Map<string, Promise<void>>(),
      onEnd: () => {},
      onFault: () => {},
    };
    const session = new SessionTables(serial % 1000, parts, false);
    const receipts = [1, 2, 3, 4].map((seq) => session.put(seq, ownMessage(`${seq}`), delivery()));
    session.settle(2, ownMessage('2'), receipts[1] as number);
    await journal.flushed();
    const left = session.read(0, 10, 10).map(({ seq }) => seq);
    assert.deepEqual(left, [1, 3, 4], `batch ${serial}`);
  }
});

for (const isAgain of [false, true]) {
  const what = isAgain ? 'a SUBSCRIBE again' : 'an UNSUBSCRIBE';
  test(`${what} that fails when its session is over brings nothing back`, async () => {
    await using lives = new Lives();
    const broker = await lives.start();
    const before = await join(broker, 's', false);
    await before.subscribe('t', { qos: 1 });
    lives.engine.hold();
    if (isAgain) void before.subscribe('t', { qos: 2 }).catch(() => undefined);
    else void before.unsubscribe('t').catch(() => undefined);
    const commit = await lives.engine.next();
    const connecting = broker.connect({ clientId: 's', cleanStart: true });
    await until('the session is over', () => broker.session('s') === undefined);
    commit.reject();
    lives.engine.pass();
    await settled();
    broker.advance(100);
    const other = await connecting;
    assert.equal(broker.stat('subscriptions'), 0);
    const puback = await other.publish('t', 'x', { qos: 1 });
    assert.equal(puback?.reasonCode, 0x10, 'nobody is subscribed');
  });
}

test('a SUBSCRIBE that fails does not take back what another connection was granted', async () => {
  await using lives = new Lives();
  const broker = await lives.start();
  const worker = 0; // To move, it would have to be flushed.
  const before = await join(broker, 's', false, { worker });
  await broker.flushed();
  lives.engine.hold();
  void before.subscribe('t', { qos: 1 }).catch(() => undefined);
  const first = await lives.engine.next();
  // Takes the session over.
  const after = await join(broker, 's', true, { worker });
  const granting = after.subscribe('t', { qos: 1 });
  await until('the second one', () => broker.session('s')?.subscriptions.size === 1);
  await settled();
  first.reject();
  lives.engine.pass();
  await settled();
  broker.advance(100);
  assert.deepEqual((await granting).reasonCodes, [1]);
  await publishAll(broker, 't', ['granted']);
  assert.deepEqual(await after.receivePayloads(1), ['granted']);
  await lives.crashFlushed();
  const next = await lives.start();
  const again = await join(next, 's', true);
  await publishAll(next, 't', ['stored']);
  assert.deepEqual(await again.receivePayloads(1), ['stored']);
});

test('a clock that was set back keeps no broker from starting', async () => {
  const memory = new MemoryEngine();
  const engine = new SlowEngine(memory);
  const longest = 0xffff_fffe;
  {
    await using broker = await startBroker({ engine });
    const client = await broker.connect({
      clientId: 's',
      properties: { sessionExpirySeconds: longest },
      will: { topic: 'w', payload: 'gone', properties: { willDelaySeconds: longest } },
    });
    await client.subscribe('t', { qos: 1 });
    await broker.lose(client, 's');
    await broker.flushed();
    engine.cut();
  }
  const clock = new VirtualClock(1_600_000_000_000);
  await using broker = await startBroker({ engine: new SlowEngine(memory), clock });
  const client = await broker.connect({ clientId: 's', cleanStart: false });
  assert.equal(client.connack?.sessionPresent, true);
});

/** Members `a` and `b` of one group, both absent, and the messages that `a` has. */
async function absentGroup(lives: Lives): Promise<string[]> {
  const broker = await lives.start();
  const members: RawClient[] = [];
  for (const name of ['a', 'b']) {
    const member = await join(broker, name, false);
    await member.subscribe('$share/g/t', { qos: 1 });
    members.push(member);
  }
  for (const [i, name] of ['a', 'b'].entries()) await broker.lose(members[i] as RawClient, name);
  const texts = ['1', '2', '3', '4', '5', '6'];
  await publishAll(broker, 't', texts);
  await broker.flushed();
  return texts;
}

test('what a member hands on is not lost when the store fails at that', async () => {
  await using lives = new Lives({ broker: { sharedSubscriptionStrategy: 'round_robin' } });
  const texts = await absentGroup(lives);
  const broker = await lives.crashAndStart();
  lives.engine.fail();
  // Ends the session of one member, whose messages go to the other. Another worker lets its client in
  // when the end is on disk, and not before.
  const connecting = broker.connect({ clientId: 'a', cleanStart: true });
  await until('the failure', () => lives.engine.failed > 0);
  await settled();
  lives.engine.pass();
  await settled();
  broker.advance(2000);
  await settled();
  await (await connecting).disconnect();
  const next = await lives.crashAndStart();
  const member = await join(next, 'b', true);
  assert.deepEqual((await member.receivePayloads(6)).sort(), texts);
});

test('a retained message that cannot be looked up is refused, and its publisher stays', async () => {
  const engine = new UnreadableEngine();
  await using broker = await startBroker({ engine });
  const client = await broker.connect();
  engine.isBroken = true;
  for (const qos of [0, 1, 2] as const) {
    const ack = await client.publish('r', 'x', { qos, retain: true });
    if (qos > 0) assert.equal(ack?.reasonCode, 0x83);
  }
  engine.isBroken = false;
  assert.ok(
    ((await client.publish('r', 'x', { qos: 2, retain: true }))?.reasonCode ?? 0x83) < 0x80,
  );
});

test('a QoS 2 publish that was refused to one receiver is not known after a restart', async () => {
  const memory = new MemoryEngine();
  const clock = new VirtualClock();
  const first = new SlowEngine(memory);
  {
    await using broker = await startBroker({ engine: first, clock });
    const subscriber = await join(broker, 's', false);
    await subscriber.subscribe('t', { qos: 2 });
    await broker.flushed();
    first.cut();
  }
  const engine = new UnreadableEngine(memory);
  {
    await using broker = await startBroker({ engine, clock });
    const publisher = await join(broker, 'p', false);
    engine.isBroken = true;
    publisher.sendPublish('t', 'one', { qos: 2, packetId: 7 });
    assert.equal((await publisher.next('pubrec')).reasonCode, 0x83);
    engine.isBroken = false;
    await settled();
    await broker.flushed();
    engine.cut();
    broker.takeFaults();
  }
  await using broker = await startBroker({ engine: new SlowEngine(memory), clock });
  const publisher = await join(broker, 'p', true);
  publisher.sendPublish('t', 'two', { qos: 2, packetId: 7 });
  assert.equal((await publisher.next('pubrec')).reasonCode, 0);
  const subscriber = await join(broker, 's', true);
  assert.deepEqual(await subscriber.receivePayloads(1), ['two']);
});

test('a session ends when what others are to have can be read, and not before', async () => {
  const memory = new MemoryEngine();
  const clock = new VirtualClock();
  const first = new SlowEngine(memory);
  {
    await using broker = await startBroker({ engine: first, clock });
    const member = await join(broker, 's', false);
    await member.subscribe('$share/g/t', { qos: 1 });
    await broker.lose(member, 's');
    await publishAll(broker, 't', ['1', '2']);
    await broker.flushed();
    first.cut();
  }
  const engine = new UnreadableEngine(memory);
  await using broker = await startBroker({ engine, clock });
  const other = await broker.connect({ clientId: 'other' });
  await other.subscribe('$share/g/t', { qos: 1 });
  engine.isBroken = true;
  broker.advance(1_100_000);
  assert.notEqual(broker.session('s'), undefined);
  assert.ok(broker.takeFaults().length > 0);
  engine.isBroken = false;
  broker.advance(70_000);
  assert.equal(broker.session('s'), undefined);
  assert.deepEqual(await other.receivePayloads(2), ['1', '2']);
});

test('a session that nobody else waits for ends although nothing can be read', async () => {
  const memory = new MemoryEngine();
  const clock = new VirtualClock();
  const first = new SlowEngine(memory);
  {
    await using broker = await startBroker({ engine: first, clock });
    const client = await join(broker, 's', false);
    await client.subscribe('t', { qos: 1 });
    await broker.lose(client, 's');
    await publishAll(broker, 't', ['1', '2']);
    await broker.flushed();
    first.cut();
  }
  const engine = new UnreadableEngine(memory);
  await using broker = await startBroker({ engine, clock });
  engine.isBroken = true;
  broker.advance(1_100_000);
  assert.equal(broker.session('s'), undefined);
  assert.equal(broker.stat('subscriptions'), 0);
  await settled();
  broker.takeFaults();
});

test('a hook that ends the session at a PUBREC leaves the books in order', async () => {
  await using lives = new Lives();
  const broker = await lives.start();
  const client = await join(broker, 's', false);
  await client.subscribe('t', { qos: 2 });
  await publishAll(broker, 't', ['x'], 2);
  const { packetId } = await client.next('publish');
  broker.hook('message.acked', () => {
    for (const { core } of broker.brokers) {
      const session = core.sessions.find('s');
      if (session !== undefined) core.sessions.terminate(session, 'kicked');
    }
  });
  client.ack('pubrec', packetId);
  await until('the end', () => broker.session('s') === undefined);
  for (const { core } of broker.brokers) assert.equal(core.flusher.pressure.held.messages, 0);
});

test('messages of an absent client leave memory again after the store has failed once', async () => {
  await using lives = new Lives();
  const broker = await lives.start();
  const client = await join(broker, 's', false);
  await client.subscribe('t', { qos: 1 });
  await broker.lose(client, 's');
  await broker.flushed();
  lives.engine.fail();
  const writer = await broker.connect();
  assert.equal((await writer.publish('t', 'refused', { qos: 1 }))?.reasonCode, 0x83);
  lives.engine.pass();
  await settled();
  broker.advance(2000);
  await publishAll(broker, 't', ['1', '2', '3']);
  const queue = broker.session('s')?.out.queue;
  assert.deepEqual([queue?.heldCount, queue?.length], [0, 3]);
});

test('wills and heads that the disk does not take are kept once, however often clients come', async () => {
  await using lives = new Lives();
  const broker = await lives.start();
  const worker = 0; // To move, it would have to be flushed.
  lives.engine.fail();
  const { held } = broker.broker.core.flusher.pressure;
  const sizes: number[] = [];
  for (let i = 0; i < 30; i++) {
    const client = await join(broker, 's', i > 0, {
      worker,
      will: { topic: 'w', payload: Buffer.alloc(1000) },
    });
    await broker.lose(client, 's');
    broker.advance(2000);
    await settled();
    sizes.push(held.unflushed());
  }
  broker.takeFaults();
  assert.ok((sizes.at(-1) as number) <= (sizes[5] as number) + 100, sizes.join());
});

test('a delayed will is due when it was due, however often the broker crashes before', async () => {
  await using lives = new Lives();
  const first = await lives.start();
  const will = { topic: 'w', payload: 'gone', properties: { willDelaySeconds: 10 } };
  await join(first, 's', false, { will });
  const second = await lives.crashAndStart();
  second.advance(6000);
  const third = await lives.crashAndStart();
  const watcher = await third.connect();
  await watcher.subscribe('w');
  third.advance(6000);
  assert.deepEqual(await watcher.receivePayloads(1), ['gone']);
});

test('a message that is on its way to a session when a hook ends it is held by nobody', async () => {
  await using lives = new Lives();
  const broker = await lives.start();
  const { core, hooks } = broker.broker;
  const first = await join(broker, 'first', false);
  const second = await join(broker, 'second', false);
  for (const client of [first, second]) await client.subscribe('t', { qos: 1 });
  hooks.on('message.deliver', 'test', () => {
    const session = core.sessions.find('second');
    if (session !== undefined) core.sessions.terminate(session, 'kicked');
    return undefined;
  });
  await publishAll(broker, 't', ['x']);
  assert.deepEqual(await first.receivePayloads(1), ['x']);
  await first.expectNothing();
  assert.equal(core.flusher.pressure.held.messages, 0);
});

test('sweeps go on after the store could not be read, and do not fill the log', async () => {
  const memory = new MemoryEngine();
  const clock = new VirtualClock();
  const first = new SlowEngine(memory);
  const properties = { messageExpirySeconds: 1 };
  {
    await using broker = await startBroker({ engine: first, clock });
    const client = await join(broker, 's', false);
    await client.subscribe('t', { qos: 1 });
    await client.disconnect();
    const writer = await broker.connect();
    await writer.publish('t', 'x', { qos: 1, properties });
    await writer.publish('r', 'x', { qos: 1, retain: true, properties });
    await broker.flushed();
    first.cut();
  }
  const engine = new UnreadableEngine(memory);
  await using broker = await startBroker({ engine, clock });
  const { retained } = broker.broker.core;
  engine.isBroken = true;
  broker.advance(90_000);
  const faults = broker.takeFaults();
  assert.ok(faults.length > 0 && faults.length <= 4, `${faults.length} lines`);
  engine.isBroken = false;
  broker.advance(90_000);
  await settled();
  assert.equal(retained.size, 0);
  assert.equal(broker.session('s')?.out.queue.length, 0);
});
