import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import test from 'node:test';
import { connectPacket, field } from '#test/raw-bytes';
import { RawClient } from '#test/raw-client';
import type { QoS } from '#wire/packet';
import { BrokerProcess, type Kind, onlyListeners } from './broker-process.ts';
import { OutsideClient, urlOf } from './outside-client.ts';

const kinds = ['tcp', 'ssl', 'ws', 'wss'] as const;
const qualities = [0, 1, 2] as const;
const proxied = ['listener.tcp.external.proxy_protocol=on'];

test('a CONNECT behind a PROXY v1 line is served as one from the address told there', async () => {
  const sets = [...onlyListeners('tcp'), ...proxied];
  await using broker = await BrokerProcess.start(sets);
  const line = 'PROXY TCP4 192.0.2.7 198.51.100.1 56324 1883\r\n';
  // The line alone, in one piece with the CONNECT, and cut in the middle.
  await using whole = await opened(broker);
  whole.socket.write(
    Buffer.concat([Buffer.from(line), connectPacket({ payload: [field('one')] })]),
  );
  assert.equal((await whole.next('connack')).reasonCode, 0);
  await using cut = await opened(broker);
  cut.socket.write(line.slice(0, 9));
  await new Promise((written) => cut.socket.write(line.slice(9), written));
  assert.equal((await cut.connect({ clientId: 'two' })).reasonCode, 0);
  await cut.subscribe('a/b', { qos: 1 });
  await whole.publish('a/b', 'through', { qos: 1 });
  assert.deepEqual(await cut.receivePayloads(1), ['through']);

  // The log tells who was refused: nothing else shows an address to the outside.
  await using refused = await opened(broker, 4);
  refused.socket.write(line);
  refused.send(connectPacket({ level: 4, flags: 0, payload: [field('')] }));
  await refused.expectRefused(2);
  assert.equal((await broker.event('connect.refused'))['peer'], '192.0.2.7');
});

test('a connection without the PROXY line is closed where one is expected', async () => {
  await using broker = await BrokerProcess.start([...onlyListeners('tcp'), ...proxied]);
  await using bare = await opened(broker);
  bare.send(connectPacket());
  assert.deepEqual(await bare.expectClosed(), []);
});

test('rate_limit lets a flood wait, on every transport', async () => {
  await using hall = await Hall.open(limitOf('rate_limit=1KB,4KB'));
  // The limit is held between two reads, and the largest read is smaller than this.
  const count = 1024;
  const payload = Buffer.alloc(1024);
  await Promise.all(
    kinds.map(async (kind) => {
      await using stage = await hall.stage(kind);
      stage.flood(count, () => payload);
      await stage.received(1);
      const more = await stage.receivedBeforeMarker();
      assert.ok(more < count - 1, `${kind}: all of it went through at once`);
    }),
  );
});

test('rate_limit loses nothing of a flood, on every transport', async () => {
  await using hall = await Hall.open(limitOf('rate_limit=1MB,1MB'));
  const count = 2000;
  const filling = 'x'.repeat(1024);
  await Promise.all(
    kinds.map(async (kind) => {
      await using stage = await hall.stage(kind);
      stage.flood(count, (i) => `${i} ${filling}`);
      const texts = await stage.received(count);
      const numbers = texts.map((text) => Number.parseInt(text, 10));
      assert.deepEqual(numbers, [...numbers.keys()], kind);
    }),
  );
});

test('publish_limit lets a flood wait, on every transport and with every QoS', async () => {
  await using hall = await Hall.open(['zone.external.publish_limit=10,1h']);
  await Promise.all(
    kinds.flatMap((kind) =>
      qualities.map(async (qos) => {
        await using stage = await hall.stage(kind, qos);
        stage.flood(50, String);
        assert.deepEqual(await stage.received(10), [...Array(10).keys()].map(String));
        const more = await stage.receivedBeforeMarker();
        // The limit lends one message before reading pauses.
        assert.ok(more <= 1, `${kind}, QoS ${qos}: ${10 + more} messages went through at once`);
      }),
    ),
  );
});

test('publish_limit loses nothing of a flood, on every transport and with every QoS', async () => {
  await using hall = await Hall.open(['zone.external.publish_limit=100,1s']);
  const count = 200;
  await Promise.all(
    kinds.flatMap((kind) =>
      qualities.map(async (qos) => {
        await using stage = await hall.stage(kind, qos);
        stage.flood(count, String);
        assert.deepEqual(await stage.received(count), [...Array(count).keys()].map(String));
      }),
    ),
  );
});

function limitOf(limit: string): string[] {
  return kinds.map((kind) => `listener.${kind}.external.${limit}`);
}

/** A broker with limited listeners, and one without limits. */
class Hall implements AsyncDisposable {
  readonly #broker: BrokerProcess;
  readonly #ca: Buffer;

  static async open(limits: readonly string[]): Promise<Hall> {
    const free = ['listener.tcp.free=127.0.0.1:0', 'listener.tcp.free.zone=internal'];
    const noOther = [
      'zone.internal.max_mqueue_len=0',
      'zone.external.max_awaiting_rel=0',
      // MQTT.js does not look at the Receive Maximum that it is told.
      'zone.external.receive_maximum=65535',
    ];
    return new Hall(
      await BrokerProcess.start([...onlyListeners(...kinds), ...free, ...noOther, ...limits]),
    );
  }

  private constructor(broker: BrokerProcess) {
    this.#broker = broker;
    this.#ca = readFileSync(broker.place.certFile);
  }

  async stage(kind: Kind, qos: QoS = 0): Promise<Stage> {
    await using all = new AsyncDisposableStack();
    const topic = `flood/${kind}/${qos}`;
    const free = `mqtt://127.0.0.1:${this.#broker.port('tcp', 1)}`;
    const reader = all.use(await OutsideClient.open(free));
    await reader.subscribe(topic, { qos: 2 });
    const marker = all.use(await OutsideClient.open(free));
    const url = urlOf(kind, this.#broker.port(kind));
    const flooder = all.use(await OutsideClient.open(url, { ca: this.#ca }));
    return new Stage({ reader, marker, flooder, topic, qos, all: all.move() });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#broker[Symbol.asyncDispose]();
  }
}

interface Cast {
  readonly reader: OutsideClient;
  readonly marker: OutsideClient;
  readonly flooder: OutsideClient;
  readonly topic: string;
  readonly qos: QoS;
  readonly all: AsyncDisposableStack;
}

/** A flooder on a listener with limits; a reader of the flood and a third client on one without. */
class Stage implements AsyncDisposable {
  readonly #cast: Cast;

  constructor(cast: Cast) {
    this.#cast = cast;
  }

  flood(count: number, payloadOf: (i: number) => string | Buffer): void {
    const { flooder, topic, qos } = this.#cast;
    for (let i = 0; i < count; i++) flooder.mqtt.publish(topic, payloadOf(i), { qos });
  }

  received(count: number): Promise<string[]> {
    return this.#cast.reader.payloads(count);
  }

  /** How many messages come before one that a third client publishes now. */
  async receivedBeforeMarker(): Promise<number> {
    const { marker, reader, topic } = this.#cast;
    await marker.publish(topic, 'marker', { qos: 1 });
    let count = 0;
    while ((await reader.next()).payload.toString() !== 'marker') count += 1;
    return count;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#cast.all[Symbol.asyncDispose]();
  }
}

async function opened(broker: BrokerProcess, version: 4 | 5 = 5): Promise<RawClient> {
  const socket: Socket = connect(broker.port('tcp'), '127.0.0.1');
  await once(socket, 'connect');
  return new RawClient(socket, version);
}
