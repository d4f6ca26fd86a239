// What an attacker may send to the core, one test for each class of vulnerability that MQTT brokers
// have had. Law: a packet can end one connection, never disturb another, never the process.

import assert from 'node:assert/strict';
import test from 'node:test';
import { type Overrides, startBroker, type TestBroker } from '#test/broker';
import { connectPacket, field, packet, properties, u16, varint } from '#test/raw-bytes';
import type { RawClient } from '#test/raw-client';

const deepTopic = '/'.repeat(65_534);

/** Runs an attack beside a client that must not notice; afterwards newcomers are served as well. */
function hostile(
  name: string,
  attack: (broker: TestBroker, bystander: RawClient) => Promise<void>,
  overrides?: Overrides,
): void {
  test(name, async () => {
    await using broker = await startBroker(overrides);
    const bystander = await broker.connect({ clientId: 'bystander' });
    await bystander.subscribe('bystander/#', { qos: 1 });
    await attack(broker, bystander);
    await bystander.publish('bystander/a', 'served', { qos: 1 });
    assert.deepEqual(await bystander.receivePayloads(1), ['served']);
    await bystander.expectNothing();
    await broker.expectService();
  });
}

hostile(
  'huge remaining length: a first packet that claims 256 MB is refused at its header (CVE-2017-7651, CVE-2023-0809)',
  async (broker) => {
    for (const header of [0x10, 0x30, 0xf0]) {
      const before = process.memoryUsage().arrayBuffers;
      const client = await broker.open();
      client.send(Buffer.concat([Buffer.from([header]), varint(268_435_455)]));
      await client.expectRefused(0x95, 0x81);
      assert.ok(process.memoryUsage().arrayBuffers - before < 16_777_216);
    }
  },
);

hostile(
  'huge remaining length: a connected client is told 0x95 before the body is waited for',
  async (broker) => {
    const client = await broker.connect();
    client.send(Buffer.concat([Buffer.from([0x30]), varint(268_435_455)]));
    await client.expectDisconnected(0x95);
  },
);

hostile(
  'variable byte integer of five bytes: the connection ends (CVE-2026-21888)',
  async (broker) => {
    const first = await broker.open();
    first.send(Buffer.from([0x10, 0xff, 0xff, 0xff, 0xff, 0x01]));
    await first.expectRefused(0x81);
    const client = await broker.connect();
    client.send(Buffer.from([0x30, 0x80, 0x80, 0x80, 0x80, 0x01]));
    await client.expectDisconnected(0x81);
    const inProperties = await broker.connect();
    inProperties.send(packet(0x30, field('a'), Buffer.from([0x80, 0x80, 0x80, 0x80, 0x01])));
    await inProperties.expectDisconnected(0x81);
  },
);

hostile(
  'remaining length that does not fit the fields: the connection ends (CVE-2026-25627)',
  async (broker) => {
    for (const bytes of [
      Buffer.from([0x30, 2, 0xff, 0xff]),
      packet(0x82, u16(1), properties(), u16(100), Buffer.from('a')),
      packet(0x32, field('a')),
      packet(0x30, field('a'), varint(1_000)),
    ]) {
      const client = await broker.connect();
      client.send(bytes);
      await client.expectDisconnected(0x81);
    }
  },
);

hostile(
  'QoS 2 ids that are never released: at most max_awaiting_rel are kept (CVE-2023-28366)',
  async (broker, bystander) => {
    const client = await broker.connect();
    for (let packetId = 1; packetId <= 50; packetId++) {
      client.sendPublish('bystander/flood', `${packetId}`, { qos: 2, packetId });
    }
    const codes: number[] = [];
    for (let i = 0; i < 50; i++) codes.push((await client.next('pubrec')).reasonCode);
    assert.deepEqual(codes.slice(0, 10), Array(10).fill(0));
    assert.deepEqual(codes.slice(10), Array(40).fill(0x97));
    assert.equal((await bystander.receivePayloads(10)).length, 10);
    await bystander.expectNothing();
    // Released ids make room again, and so does time.
    client.ack('pubrel', 1);
    await client.next('pubcomp');
    client.sendPublish('nobody', '', { qos: 2, packetId: 99 });
    assert.equal((await client.next('pubrec')).reasonCode, 0x10);
    broker.advance(400_000);
    client.sendPublish('nobody', '', { qos: 2, packetId: 100 });
    assert.equal((await client.next('pubrec')).reasonCode, 0x10);
  },
  { zone: { maxAwaitingRel: 10 } },
);

hostile(
  'a flood of QoS 1 messages to a client that never acknowledges stays within its queue (CVE-2024-48077)',
  async (broker) => {
    const slow = await broker.connect({ properties: { receiveMaximum: 5 } });
    await slow.subscribe('a', { qos: 1 });
    const publisher = await broker.connect();
    for (let packetId = 1; packetId <= 500; packetId++)
      publisher.sendPublish('a', `${packetId}`, { qos: 1, packetId });
    for (let i = 0; i < 500; i++) await publisher.next('puback');
    const received = await slow.receivePayloads(15);
    assert.deepEqual(received.slice(0, 5), ['1', '2', '3', '4', '5']);
    assert.deepEqual(
      received.slice(5),
      Array.from({ length: 10 }, (_, i) => `${491 + i}`),
    );
    await slow.expectNothing();
  },
  { zone: { maxMqueueLen: 10 } },
);

const deep: Record<string, (client: RawClient) => Promise<unknown>> = {
  publish: (client) => client.publish(deepTopic, 'x', { qos: 1 }),
  retained: (client) => client.publish(deepTopic, 'x', { qos: 1, retain: true }),
  subscribe: (client) =>
    client.subscribe([deepTopic, `${deepTopic.slice(1)}#`, '+/'.repeat(32_767)]),
  'shared subscribe': (client) => client.subscribe(`$share/g/${deepTopic.slice(9)}`),
  unsubscribe: (client) => client.unsubscribe(deepTopic),
};
for (const [name, send] of Object.entries(deep)) {
  hostile(
    `topic of 65 535 levels in ${name}: served or refused, never a crash (CVE-2019-11779, GHSA-xxqp-5qx8-gj5q)`,
    async (broker) => {
      const client = await broker.connect();
      await client.subscribe('#');
      await send(client);
      await send(client);
      client.destroy();
    },
  );
}

hostile(
  'topic of 65 535 levels, subscribed, published, retained and matched by wildcards',
  async (broker) => {
    const client = await broker.connect();
    await client.publish(deepTopic, 'retained', { retain: true });
    const codes = (await client.subscribe(['#', deepTopic, '+/'.repeat(32_767)])).reasonCodes;
    assert.equal(codes.length, 3);
    await client.publish(deepTopic, 'live', { qos: 1 });
    await client.unsubscribe('#', deepTopic);
    await client.publish(deepTopic, '', { retain: true });
    client.destroy();
  },
);

hostile(
  'topic of 65 535 levels in a will: the will is published or refused, never a crash',
  async (broker) => {
    const client = await broker.open();
    const connack = await client.connect({
      clientId: 'deep',
      will: { topic: deepTopic, retain: true },
    });
    if (connack.reasonCode === 0) await broker.lose(client, 'deep');
  },
);

hostile(
  'max_topic_levels: a deeper filter gets 0x8F',
  async (broker) => {
    const client = await broker.connect();
    assert.deepEqual((await client.subscribe(['a/b/c', 'a/b/c/d'])).reasonCodes, [0, 0x8f]);
  },
  { zone: { maxTopicLevels: 3 } },
);

hostile('zero-length topic: the connection ends (CVE-2018-12543)', async (broker) => {
  const client = await broker.connect();
  client.send(packet(0x30, field(''), properties()));
  await client.expectDisconnected(0x81, 0x82, 0x90);
});

hostile(
  'topics that begin with "$" are names like others and reach nobody unasked (CVE-2018-12543)',
  async (broker) => {
    const client = await broker.connect();
    await client.subscribe(['#', '+/x']);
    for (const topic of [
      '$',
      '$/x',
      '$$',
      '$SYSX',
      '$share',
      '$share/g/x',
      '$queue/x',
      '$unknown/x',
    ]) {
      await client.publish(topic, 'x', { qos: 1, retain: true });
    }
    await client.expectNothing();
  },
);

hostile('packet before CONNECT: closed without an answer', async (broker) => {
  for (let type = 2; type <= 15; type++) {
    const client = await broker.open();
    client.send(packet((type << 4) | (type === 6 || type === 8 || type === 10 ? 2 : 0), u16(1)));
    assert.deepEqual(await client.expectClosed(), []);
  }
});

hostile(
  'second CONNECT: the connection ends, also with another client id (CVE-2026-6564)',
  async (broker) => {
    for (const clientId of ['first', 'bystander']) {
      const client = await broker.connect({ clientId: 'first' });
      client.send(connectPacket({ payload: [field(clientId)] }));
      await client.expectDisconnected(0x82);
    }
  },
);

hostile(
  'packets that only a server sends: the connection ends (CVE-2021-34432)',
  async (broker) => {
    for (const bytes of [
      packet(0x20, 0, 0, properties()),
      packet(0x90, u16(1), properties(), 0),
      packet(0xb0, u16(1), properties(), 0),
      packet(0xd0),
    ]) {
      const client = await broker.connect();
      client.send(bytes);
      await client.expectDisconnected(0x81, 0x82);
    }
  },
);

hostile(
  'will with properties that are wrong: refused, nothing kept, nothing published (CVE-2023-3592)',
  async (broker, bystander) => {
    const topic = field('bystander/will');
    for (const bad of [
      properties(0x18, u16(1)),
      properties(0x23, u16(1)),
      properties(0x01, 2),
      properties(0x08, field('a/#')),
      properties(0x03, field('x'), 0x03, field('y')),
      properties(0x7f),
      varint(1_000),
    ]) {
      const client = await broker.open();
      client.send(connectPacket({ flags: 0x06, payload: [field('w'), bad, topic, field('gone')] }));
      await client.expectRefused(0x81, 0x82, 0x90);
    }
    await bystander.expectNothing();
  },
);

hostile('will to a filter: refused with 0x90', async (broker) => {
  for (const topic of ['bystander/#', '+', '']) {
    const client = await broker.open();
    client.send(
      connectPacket({ flags: 0x06, payload: [field('w'), properties(), field(topic), field('')] }),
    );
    await client.expectRefused(0x90, 0x81, 0x82);
  }
});

hostile(
  'client id with wildcards and slashes: a client like others (CVE-2017-7650)',
  async (broker, bystander) => {
    for (const clientId of [
      '#',
      '+',
      '+/#',
      '../..',
      '%c',
      '$share/g/#',
      '__proto__',
      'constructor',
      '\u{1f600}',
    ]) {
      const client = await broker.connect({ clientId, username: '#' });
      await client.publish('elsewhere', 'x', { qos: 1 });
      await client.expectNothing();
      await client.disconnect();
    }
    await bystander.expectNothing();
  },
);

hostile('user properties named like parts of objects arrive as they were sent', async (broker) => {
  const userProperties: [string, string][] = [
    ['__proto__', 'polluted'],
    ['constructor', 'x'],
    ['toString', ''],
    ['__proto__', 'again'],
  ];
  const client = await broker.connect({ properties: { userProperties } });
  await client.subscribe('__proto__/constructor', { properties: { userProperties } });
  await client.publish('__proto__/constructor', 'x', { properties: { userProperties } });
  assert.deepEqual((await client.receive()).properties.userProperties, userProperties);
  assert.equal(({} as Record<string, unknown>)['polluted'], undefined);
});

hostile(
  'wildcards in the topic of a publish: the connection ends, nobody gets it (CVE-2026-49186)',
  async (broker, bystander) => {
    for (const topic of ['bystander/+', 'bystander/#', '#']) {
      const client = await broker.connect();
      client.send(packet(0x33, field(topic), u16(1), properties(), Buffer.from('x')));
      await client.expectDisconnected(0x90, 0x81, 0x82);
    }
    await bystander.expectNothing();
  },
);

hostile('a CONNECT that comes byte by byte is served', async (broker) => {
  const client = await broker.open();
  for (const byte of connectPacket()) {
    await new Promise<void>((resolve) => client.socket.write(Buffer.from([byte]), () => resolve()));
  }
  assert.equal((await client.next('connack')).reasonCode, 0);
});

hostile(
  'a connection without a CONNECT ends after idle_timeout, however slowly it sends',
  async (broker) => {
    const [silent, slow] = [await broker.open(), await broker.open()];
    // The answer to a newcomer proves that the broker has accepted the two before it.
    await broker.expectService();
    broker.advance(10_000);
    await new Promise<void>((resolve) => slow.socket.write(Buffer.from([0x10]), () => resolve()));
    await broker.expectService();
    broker.advance(10_000);
    for (const client of [silent, slow]) assert.deepEqual(await client.expectClosed(), []);
  },
  { zone: { idleTimeoutMs: 15_000 } },
);

hostile(
  'subscribing without end: max_subscriptions holds',
  async (broker) => {
    const client = await broker.connect();
    const filters = Array.from({ length: 1_000 }, (_, i) => `f/${i}`);
    const { reasonCodes } = await client.subscribe(filters);
    assert.deepEqual(
      [reasonCodes.length, reasonCodes.filter((code) => code === 0).length],
      [1_000, 100],
    );
    assert.equal(reasonCodes[100], 0x97);
  },
  { zone: { maxSubscriptions: 100 } },
);

hostile(
  'ids reused while in use: a SUBSCRIBE with the id of a QoS 2 message does not disturb it',
  async (broker) => {
    const client = await broker.connect();
    await client.subscribe('a', { qos: 2 });
    client.sendPublish('a', 'x', { qos: 2, packetId: 50 });
    await client.find('pubrec');
    const { packetId } = await client.next('publish');
    client.send(packet(0x82, u16(50), properties(), field('b'), 0));
    await client.next('suback');
    client.ack('pubrel', 50);
    assert.equal((await client.next('pubcomp')).reasonCode, 0);
    client.ack('pubrec', packetId);
    assert.equal((await client.next('pubrel')).reasonCode, 0);
  },
);

hostile('random bytes end their own connection only', async (broker) => {
  // A fixed sequence: the same bytes in every run.
  let state = 20_260_730;
  const nextByte = (): number => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    return state >>> 24;
  };
  for (let round = 0; round < 200; round++) {
    const client = round % 2 === 0 ? await broker.open() : await broker.connect();
    client.send(Buffer.from(Array.from({ length: 64 }, nextByte)));
    client.destroy();
  }
});
