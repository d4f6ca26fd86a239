import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type Server, type Socket } from 'node:net';
import test from 'node:test';
import { RawClient } from '#test/raw-client';
import { encodePacket } from '#wire/encode';
import type { PublishPacket } from '#wire/packet';
import { Books } from './books.ts';
import { payloadOf } from './numbered-message.ts';
import { type ClientSpec, SessionClient } from './session-client.ts';

/** A client of session `client` and, in place of a broker, the test itself. */
class Stage implements AsyncDisposable {
  readonly books: Books = new Books();
  readonly client: SessionClient;
  readonly #server: Server = createServer();

  constructor(more: Partial<ClientSpec> = {}) {
    const spec: ClientSpec = { name: 'client', version: 5, isPersistent: true, ...more };
    this.client = new SessionClient(spec, this.books, this.books.openSession('client', 2));
  }

  /** The next connection, as far as its CONNACK. */
  async accept(sessionPresent = true): Promise<RawClient> {
    if (!this.#server.listening) {
      this.#server.listen(0, '127.0.0.1');
      await once(this.#server, 'listening');
    }
    const connected = once(this.#server, 'connection') as Promise<[Socket]>;
    const address = this.#server.address();
    assert.ok(address !== null && typeof address === 'object');
    this.client.connect(address.port);
    const broker = new RawClient((await connected)[0], this.client.spec.version);
    await broker.next('connect');
    broker.send({ type: 'connack', sessionPresent, reasonCode: 0, properties: {} });
    return broker;
  }

  get faults(): string {
    return this.books.violations.lines().join('\n');
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.client.cut();
    this.#server.close();
    await once(this.#server, 'close');
  }
}

/** A message of somebody else for the client. */
function messageOf(books: Books, packetId: number): PublishPacket {
  const stream = { publisher: 'pub', topic: 't/a', qos: 2, retain: false, isClear: false } as const;
  const payload = payloadOf(books.send(stream), 0);
  const { topic, qos, retain } = stream;
  return { type: 'publish', topic, qos, retain, dup: false, packetId, payload, properties: {} };
}

async function gone(broker: RawClient): Promise<void> {
  broker.destroy();
  await broker.expectClosed();
}

/** The client has read everything that it was sent: it answers a PUBREL that means nothing. */
async function heard(broker: RawClient): Promise<void> {
  broker.ack('pubrel', 999);
  await broker.find('pubcomp', ({ packetId }) => packetId === 999);
}

test('a session client sends again what is not acknowledged, in order, under its ids, with DUP', async () => {
  await using stage = new Stage();
  const first = await stage.accept(false);
  await heard(first);
  for (const qos of [1, 2, 1, 2, 2] as const) stage.client.publish({ topic: 't/a', qos });
  for (const packetId of [1, 2, 3, 4, 5]) {
    const publish = await first.next('publish');
    assert.deepEqual([publish.packetId, publish.dup], [packetId, false]);
  }
  first.ack('puback', 1);
  first.ack('pubrec', 2);
  await first.next('pubrel');
  await gone(first);
  const second = await stage.accept();
  const again = [
    await second.next('pubrel'),
    await second.next('publish'),
    await second.next('publish'),
    await second.next('publish'),
  ];
  assert.deepEqual(
    again.map((packet) => [packet.type, packet.packetId]),
    [
      ['pubrel', 2],
      ['publish', 3],
      ['publish', 4],
      ['publish', 5],
    ],
  );
  assert.ok(again.slice(1).every((packet) => packet.type === 'publish' && packet.dup));
  assert.deepEqual(stage.books.figures.acknowledged, { 1: 1, 2: 1 });
  assert.equal(stage.faults, '');
});

test('a session client knows a QoS 2 message by its id until PUBREL', async () => {
  await using stage = new Stage();
  const first = await stage.accept(false);
  stage.client.subscribe('t/#');
  const { packetId } = await first.next('subscribe');
  first.send({ type: 'suback', packetId, reasonCodes: [2], properties: {} });
  await heard(first);
  const message = messageOf(stage.books, 7);
  first.send(message);
  await first.next('pubrec');
  await gone(first);
  const second = await stage.accept();
  second.send({ ...message, dup: true });
  await second.next('pubrec');
  assert.equal(stage.books.figures.delivered, 1);
  second.ack('pubrel', 7);
  await second.next('pubcomp');
  second.send({ ...message, dup: true });
  await second.next('pubrec');
  assert.equal(stage.books.violations.countOf('doubled'), 1);
});

test('a session client objects to another message under an id that is not released', async () => {
  await using stage = new Stage();
  const broker = await stage.accept(false);
  broker.send(messageOf(stage.books, 7));
  broker.send(messageOf(stage.books, 7));
  await broker.next('pubrec');
  await broker.next('pubrec');
  assert.match(stage.faults, /sent "pub 2" with id 7 before "pub 1" of that id was released/);
});

test('a session client misses its session and its subscriptions, and asks for them again', async () => {
  await using stage = new Stage();
  const first = await stage.accept(false);
  stage.client.subscribe('t/#');
  const { packetId } = await first.next('subscribe');
  first.send({ type: 'suback', packetId, reasonCodes: [2], properties: {} });
  await heard(first);
  await gone(first);
  const second = await stage.accept(false);
  await second.next('subscribe');
  assert.match(stage.faults, /forgotten: the session of "client"/);
  assert.match(stage.faults, /forgotten: "client" is not subscribed to "t\/#"/);
});

test('a session client does not miss a session that only CONNACK spoke of', async () => {
  await using stage = new Stage();
  const first = await stage.accept(false);
  await heard(first);
  await gone(first);
  await heard(await stage.accept(false));
  assert.equal(stage.faults, '');
  assert.equal(stage.books.figures.unproven, 1);
});

test('a session client asks for a subscription until it is acknowledged', async () => {
  await using stage = new Stage();
  const first = await stage.accept(false);
  stage.client.subscribe('t/#');
  await first.next('subscribe');
  await gone(first);
  const second = await stage.accept();
  const { packetId } = await second.next('subscribe');
  assert.equal(stage.client.isIdle, false);
  second.send({ type: 'suback', packetId, reasonCodes: [2], properties: {} });
  await heard(second);
  assert.equal(stage.client.isIdle, true);
  await gone(second);
  const third = await stage.accept();
  third.ack('pubrel', 998);
  await third.next('pubcomp');
  assert.equal(stage.faults, '');
});

test('a session client takes the lowest free packet id when it is of that kind', async () => {
  await using stage = new Stage({ reusesIds: true });
  const broker = await stage.accept(false);
  await heard(broker);
  for (let i = 0; i < 3; i++) stage.client.publish({ topic: 't/a', qos: 1 });
  broker.ack('puback', 2);
  await heard(broker);
  stage.client.publish({ topic: 't/a', qos: 1 });
  stage.client.publish({ topic: 't/a', qos: 1 });
  const ids: number[] = [];
  for (let i = 0; i < 5; i++) ids.push((await broker.find('publish')).packetId);
  assert.deepEqual(ids, [1, 2, 3, 2, 4]);
});

test('a session client has not got a message that was cut in the middle', async () => {
  await using stage = new Stage();
  const first = await stage.accept(false);
  const message = messageOf(stage.books, 7);
  const bytes = encodePacket(message, 5);
  await heard(first);
  first.send(bytes.subarray(0, bytes.length - 1));
  await gone(first);
  const second = await stage.accept();
  assert.equal(stage.books.figures.delivered, 0);
  second.send({ ...message, dup: true });
  await second.next('pubrec');
  assert.equal(stage.books.figures.delivered, 1);
});

test('a session client without a session of its own lets go of what was not acknowledged', async () => {
  await using stage = new Stage({ isPersistent: false });
  const first = await stage.accept(false);
  await heard(first);
  stage.client.publish({ topic: 't/a', qos: 1 });
  await first.next('publish');
  await gone(first);
  const second = await stage.accept(false);
  await heard(second);
  assert.equal(stage.client.isIdle, true);
  assert.equal(stage.faults, '');
});
