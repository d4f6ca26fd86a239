import assert from 'node:assert/strict';
import test from 'node:test';
import { startBroker, type TestBroker } from '#test/broker';
import type { RawClient } from '#test/raw-client';
import { Reason } from '#wire/reason-codes';
import type { Message } from './message.ts';
import type { Store } from './ports.ts';

interface Pending {
  readonly what: string;
  resolve(): void;
  reject(error: Error): void;
}

/** A store that is done when the test says so. What is under way stands in `pending`, in order. */
class SlowStore implements Store {
  readonly pending: Pending[] = [];
  #seen: (() => void) | undefined;

  retain({ topic }: Message): Promise<void> {
    return this.#begin(`retain ${topic}`);
  }
  forgetRetained(topic: string): Promise<void> {
    return this.#begin(`forget ${topic}`);
  }
  subscribed(clientId: string, filter: string): Promise<void> {
    return this.#begin(`${clientId} subscribed ${filter}`);
  }
  unsubscribed(clientId: string, filter: string): Promise<void> {
    return this.#begin(`${clientId} unsubscribed ${filter}`);
  }
  queued(clientId: string, { payload }: Message): Promise<void> {
    return this.#begin(`${clientId} queued ${payload.toString()}`);
  }

  /** Waits until so many things are under way. */
  async until(count: number): Promise<void> {
    while (this.pending.length < count) {
      await new Promise<void>((resolve) => {
        this.#seen = resolve;
      });
    }
  }

  /** The oldest that is called so, which is no longer pending then. */
  take(what: string): Pending {
    const at = this.pending.findIndex((pending) => pending.what === what);
    assert.ok(at >= 0, `Cannot find "${what}" among ${this.pending.map((one) => one.what).join()}`);
    return this.pending.splice(at, 1)[0] as Pending;
  }

  #begin(what: string): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.pending.push({ what, resolve, reject });
    this.#seen?.();
    return promise;
  }
}

/** A durable subscriber `s` of topic `t`, absent, so that every publish waits for the store. */
async function absentSubscriber(broker: TestBroker, store: SlowStore): Promise<void> {
  const client = await broker.connect({
    clientId: 's',
    properties: { sessionExpirySeconds: 100 },
  });
  const subscribing = client.subscribe('t', { qos: 2 });
  await store.until(1);
  store.take('s subscribed t').resolve();
  await subscribing;
  await broker.lose(client, 's');
}

/** Proves that nothing was sent: what comes next is the answer to a ping. */
async function pinged(client: RawClient): Promise<void> {
  client.send({ type: 'pingreq' });
  await client.next('pingresp');
}

for (const version of [4, 5] as const) {
  test(`PUBACK and PUBREC wait for the store, level ${version}`, async () => {
    const store = new SlowStore();
    await using broker = await startBroker({ store });
    await absentSubscriber(broker, store);
    const client = await broker.connect({ version });
    client.sendPublish('t', 'one', { qos: 1, packetId: 11 });
    await store.until(1);
    await pinged(client);
    store.take('s queued one').resolve();
    assert.equal((await client.next('puback')).packetId, 11);
    client.sendPublish('t', 'two', { qos: 2, packetId: 12 });
    await store.until(1);
    await pinged(client);
    store.take('s queued two').resolve();
    assert.equal((await client.next('pubrec')).packetId, 12);
    client.ack('pubrel', 12);
    assert.equal((await client.next('pubcomp')).packetId, 12);
  });

  test(`acknowledgements keep the order of the publishes, level ${version}`, async () => {
    const store = new SlowStore();
    await using broker = await startBroker({ store });
    await absentSubscriber(broker, store);
    const client = await broker.connect({ version });
    client.sendPublish('t', 'a', { qos: 1, packetId: 1 });
    client.sendPublish('nobody', 'b', { qos: 1, packetId: 2 });
    client.sendPublish('t', 'c', { qos: 2, packetId: 3 });
    client.sendPublish('t', 'd', { qos: 1, packetId: 4 });
    await store.until(3);
    store.take('s queued d').resolve();
    store.take('s queued c').resolve();
    await pinged(client);
    store.take('s queued a').resolve();
    const acks = [
      await client.next(),
      await client.next(),
      await client.next(),
      await client.next(),
    ];
    assert.deepEqual(
      acks.map((ack) => `${ack.type} ${'packetId' in ack ? ack.packetId : ''}`),
      ['puback 1', 'puback 2', 'pubrec 3', 'puback 4'],
    );
  });

  test(`SUBACK and UNSUBACK wait for the store of a durable session, level ${version}`, async () => {
    const store = new SlowStore();
    await using broker = await startBroker({ store });
    const client = await broker.connect({
      version,
      clientId: 'c',
      cleanStart: false,
      properties: version === 5 ? { sessionExpirySeconds: 100 } : {},
    });
    let isAnswered = false;
    const subscribing = client.subscribe(['a', 'b'], { qos: 1 }).then((suback) => {
      isAnswered = true;
      return suback;
    });
    await store.until(2);
    store.take('c subscribed b').resolve();
    await broker.expectService();
    assert.equal(isAnswered, false);
    store.take('c subscribed a').resolve();
    assert.deepEqual((await subscribing).reasonCodes, [1, 1]);
    const unsubscribing = client.unsubscribe('a');
    await store.until(1);
    store.take('c unsubscribed a').resolve();
    await unsubscribing;
  });
}

test('a retained message is acknowledged when the store has it', async () => {
  const store = new SlowStore();
  await using broker = await startBroker({ store });
  const client = await broker.connect();
  client.sendPublish('r', 'x', { qos: 1, retain: true, packetId: 1 });
  await store.until(1);
  await pinged(client);
  store.take('retain r').resolve();
  assert.equal((await client.next('puback')).packetId, 1);
  client.sendPublish('r', '', { qos: 1, retain: true, packetId: 2 });
  await store.until(1);
  await pinged(client);
  store.take('forget r').resolve();
  assert.equal((await client.next('puback')).packetId, 2);
});

test('a session that ends with its connection waits for nothing', async () => {
  const store = new SlowStore();
  await using broker = await startBroker({ store });
  const client = await broker.connect();
  await client.subscribe('t', { qos: 2 });
  await client.publish('t', 'x', { qos: 1 });
  await client.receive();
  assert.deepEqual(store.pending, []);
});

test('a store that fails gives PUBACK and PUBREC 0x83 and the connection goes on', async () => {
  const store = new SlowStore();
  await using broker = await startBroker({ store });
  await absentSubscriber(broker, store);
  const client = await broker.connect();
  client.sendPublish('t', 'one', { qos: 1, packetId: 1 });
  await store.until(1);
  store.take('s queued one').reject(new Error('disk full'));
  const puback = await client.next('puback');
  assert.deepEqual([puback.packetId, puback.reasonCode], [1, Reason.implementationSpecificError]);
  client.sendPublish('t', 'two', { qos: 2, packetId: 2 });
  await store.until(1);
  store.take('s queued two').reject(new Error('disk full'));
  const pubrec = await client.next('pubrec');
  assert.deepEqual([pubrec.packetId, pubrec.reasonCode], [2, Reason.implementationSpecificError]);
  // The id is free again [MQTT-4.3.3-9]: the same one is a new message.
  client.sendPublish('t', 'three', { qos: 2, packetId: 2 });
  await store.until(1);
  store.take('s queued three').resolve();
  assert.equal((await client.next('pubrec')).reasonCode, 0);
  assertStoreFailed(broker, 2);
});

test('a store that fails closes a v3 client, which has no word for it', async () => {
  const store = new SlowStore();
  await using broker = await startBroker({ store });
  await absentSubscriber(broker, store);
  const client = await broker.connect({ version: 4 });
  client.sendPublish('t', 'one', { qos: 1, packetId: 1 });
  client.sendPublish('t', 'two', { qos: 1, packetId: 2 });
  await store.until(2);
  store.take('s queued one').reject(new Error('disk full'));
  assert.deepEqual(await client.expectClosed(), []);
  store.take('s queued two').resolve();
  assertStoreFailed(broker, 1);
});

/** The broker has logged so many failures of the store and nothing else. */
function assertStoreFailed(broker: TestBroker, count: number): void {
  const events = broker.takeFaults().map((fault) => (fault as { event: string }).event);
  assert.deepEqual(events, new Array<string>(count).fill('store.failed'));
}
