import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import test, { after, before, describe } from 'node:test';
import type { QoS } from '#wire/packet';
import { BrokerProcess, type Kind, onlyListeners } from './broker-process.ts';
import { type OpenOptions, OutsideClient, urlOf, type Version } from './outside-client.ts';

const kinds = ['tcp', 'ssl', 'ws', 'wss'] as const;
const versions = [3, 4, 5] as const;
const qualities = [0, 1, 2] as const;
const versionNames: Readonly<Record<Version, string>> = { 3: '3.1', 4: '3.1.1', 5: '5.0' };
const sessionTakenOver = 0x8e;

let broker: BrokerProcess;
let ca: Buffer;

before(async () => {
  broker = await BrokerProcess.start([...onlyListeners(...kinds), 'mqtt.max_topic_alias=16']);
  ca = readFileSync(broker.place.certFile);
});
after(() => broker[Symbol.asyncDispose]());

for (const kind of kinds) {
  for (const version of versions) {
    for (const qos of qualities) combination(kind, version, qos);
  }
  properties(kind);
}

/** What every client of every version does, over one transport and with one quality of service. */
function combination(kind: Kind, version: Version, qos: QoS): void {
  const topic = `${kind}/${version}/${qos}`;
  const open = (id: string, options: OpenOptions = {}): Promise<OutsideClient> =>
    openOn(kind, { version, clientId: `${id}-${topic}`, ...options });

  describe(`MQTT.js on ${kind}, MQTT ${versionNames[version]}, QoS ${qos}`, () => {
    test('publishes and receives in order', async () => {
      await using publisher = await open('pub');
      await using subscriber = await open('sub');
      await subscriber.subscribe(`${topic}/+/data`, { qos });
      const sent = Array.from({ length: 20 }, (_, i) => `${i} ${'x'.repeat(i * 100)}`);
      await Promise.all(
        sent.map((payload) => publisher.publish(`${topic}/a/data`, payload, { qos })),
      );
      const received = await subscriber.messages.takeMany(sent.length, 'a message');
      assert.deepEqual(
        received.map((packet) => packet.payload.toString()),
        sent,
      );
      for (const packet of received) {
        assert.equal(packet.topic, `${topic}/a/data`);
        assert.equal(packet.qos, qos);
        assert.equal(packet.retain, false);
      }
      await subscriber.mqtt.unsubscribeAsync(`${topic}/+/data`);
      await subscriber.subscribe(`${topic}/last`, { qos });
      await publisher.publish(`${topic}/a/data`, 'not subscribed any more', { qos });
      await publisher.publish(`${topic}/last`, 'last', { qos });
      assert.deepEqual(await subscriber.payloads(1), ['last']);
    });

    test('gets the retained message of a topic, and none when it was cleared', async () => {
      await using publisher = await open('pub');
      await publisher.publish(`${topic}/state`, 'old', { qos, retain: true });
      await publisher.publish(`${topic}/state`, 'new', { qos, retain: true });
      await settled(publisher);
      await using first = await open('first');
      await first.subscribe(`${topic}/state`, { qos });
      const { payload, retain } = await first.next();
      assert.deepEqual([payload.toString(), retain], ['new', true]);
      await publisher.publish(`${topic}/state`, '', { qos, retain: true });
      const live = await first.next();
      assert.deepEqual([live.payload.length, live.retain], [0, false]);
      await using second = await open('second');
      await second.subscribe(`${topic}/state`, { qos });
      await publisher.publish(`${topic}/state`, 'live', { qos });
      assert.deepEqual(await second.payloads(1), ['live']);
    });

    test('has its will published when it is lost, and not when it leaves', async () => {
      await using witness = await open('witness');
      await witness.subscribe(`${topic}/will`, { qos });
      const will = (payload: string): OpenOptions => ({
        will: { topic: `${topic}/will`, payload: Buffer.from(payload), qos, retain: false },
      });
      await using polite = await open('polite', will('must not come'));
      await polite.leave();
      await using lost = await open('lost', will('lost'));
      lost.lose();
      const packet = await witness.next();
      assert.deepEqual([packet.payload.toString(), packet.qos], ['lost', qos]);
    });

    test('shares a subscription with others of its group', async () => {
      await using publisher = await open('pub');
      await using one = await open('one');
      await using two = await open('two');
      for (const member of [one, two]) {
        await member.subscribe(`$share/group/${topic}/work`, { qos });
        await member.subscribe(`${topic}/done`, { qos });
      }
      const work = Array.from({ length: 32 }, (_, i) => `job ${i}`);
      for (const job of work) await publisher.publish(`${topic}/work`, job, { qos });
      await publisher.publish(`${topic}/done`, 'done', { qos });
      const shares = await Promise.all([one, two].map((member) => until(member, 'done')));
      assert.deepEqual(shares.flat().sort(), [...work].sort());
      // By chance one member gets all of them once in two thousand million runs.
      for (const share of shares) assert.notEqual(share.length, 0);
    });

    test('finds its session again with what came while it was away', async () => {
      const keep: OpenOptions =
        version === 5
          ? { clean: false, properties: { sessionExpiryInterval: 60 } }
          : { clean: false };
      await using publisher = await open('pub');
      await using before = await open('away', keep);
      assert.equal(before.connack.sessionPresent, false);
      await before.subscribe(`${topic}/away`, { qos });
      await before.leave();
      const sent = ['one', 'two', 'three'];
      for (const payload of sent) await publisher.publish(`${topic}/away`, payload, { qos });
      await settled(publisher);
      await using again = await open('away', keep);
      // MQTT 3.1 has no word for it in its CONNACK.
      assert.equal(again.connack.sessionPresent, version > 3);
      assert.deepEqual(await again.payloads(sent.length), sent);
      await again.leave();
      await using clean = await open('away', { clean: true });
      assert.equal(clean.connack.sessionPresent, false);
      await publisher.publish(`${topic}/away`, 'nobody has subscribed', { qos });
      await clean.subscribe(`${topic}/clean`, { qos });
      await publisher.publish(`${topic}/clean`, 'clean', { qos });
      assert.deepEqual(await clean.payloads(1), ['clean']);
    });

    test('takes a client id over from an older connection', async () => {
      await using old = await open('same');
      await using young = await open('same');
      const { disconnect } = await old.ended();
      assert.equal(disconnect?.reasonCode, version === 5 ? sessionTakenOver : undefined);
      await young.subscribe(`${topic}/same`, { qos });
      await young.publish(`${topic}/same`, 'mine now', { qos });
      assert.deepEqual(await young.payloads(1), ['mine now']);
    });
  });
}

/** What only MQTT 5 has. */
function properties(kind: Kind): void {
  const open = (id: string, options: OpenOptions = {}): Promise<OutsideClient> =>
    openOn(kind, { version: 5, clientId: `${id}-${kind}-5`, ...options });

  describe(`MQTT.js on ${kind}, MQTT 5.0`, () => {
    test('sends the properties of a message from end to end', async () => {
      await using publisher = await open('pub');
      await using subscriber = await open('sub');
      const topic = `${kind}/properties`;
      await subscriber.subscribe(`${topic}/#`, {
        qos: 1,
        properties: { subscriptionIdentifier: 7 },
      });
      await subscriber.subscribe(topic, { qos: 1, properties: { subscriptionIdentifier: 300 } });
      await publisher.publish(topic, '{"ü":1}', {
        qos: 1,
        properties: {
          payloadFormatIndicator: true,
          messageExpiryInterval: 600,
          contentType: 'application/json',
          responseTopic: `${topic}/answer`,
          correlationData: Buffer.from([0, 1, 0xff]),
          userProperties: { trace: ['a', 'b'], lang: 'dé' },
        },
      });
      // One copy for both subscriptions or one for each: both are allowed [MQTT-3.3.4-3].
      const copies = [await subscriber.next()];
      const ids = (): number[] => copies.flatMap((copy) => idsOf(copy.properties));
      if (ids().length < 2) copies.push(await subscriber.next());
      assert.deepEqual(
        ids().sort((a, b) => a - b),
        [7, 300],
      );
      for (const { properties: got } of copies) {
        assert.equal(got?.payloadFormatIndicator, true);
        assert.equal(got?.contentType, 'application/json');
        assert.equal(got?.responseTopic, `${topic}/answer`);
        assert.deepEqual(got?.correlationData, Buffer.from([0, 1, 0xff]));
        assert.deepEqual({ ...got?.userProperties }, { trace: ['a', 'b'], lang: 'dé' });
        const left = Number(got?.messageExpiryInterval);
        assert.ok(left > 500 && left <= 600, `message expiry ${left}`);
      }
    });

    test('uses topic aliases in both directions', async () => {
      await using publisher = await open('pub', { autoAssignTopicAlias: true });
      await using subscriber = await open('sub', { properties: { topicAliasMaximum: 4 } });
      assert.equal(publisher.connack.properties?.topicAliasMaximum, 16);
      const topicsOnWire: string[] = [];
      subscriber.mqtt.on('packetreceive', (packet) => {
        if (packet.cmd === 'publish') topicsOnWire.push(packet.topic);
      });
      const aliasesSent: unknown[] = [];
      publisher.mqtt.on('packetsend', (packet) => {
        if (packet.cmd === 'publish') aliasesSent.push([packet.topic, packet.properties]);
      });
      const topic = `${kind}/alias`;
      await subscriber.subscribe(topic, { qos: 1 });
      for (const payload of ['one', 'two', 'three']) {
        await publisher.publish(topic, payload, { qos: 1 });
      }
      const received = await subscriber.messages.takeMany(3, 'a message');
      assert.deepEqual(
        received.map((packet) => packet.payload.toString()),
        ['one', 'two', 'three'],
      );
      assert.deepEqual(aliasesSent, [
        [topic, { topicAlias: 1 }],
        ['', { topicAlias: 1 }],
        ['', { topicAlias: 1 }],
      ]);
      assert.deepEqual(topicsOnWire, [topic, '', '']);
    });

    test('obeys the options of a subscription', async () => {
      await using client = await open('options');
      const topic = `${kind}/options`;
      await client.publish(topic, 'retained', { qos: 1, retain: true });
      await client.subscribe(topic, { qos: 1, rh: 2, rap: true });
      await client.publish(topic, 'kept flag', { qos: 1, retain: true });
      const { payload, retain } = await client.next();
      assert.deepEqual([payload.toString(), retain], ['kept flag', true]);
      await client.subscribe(`${topic}/own`, { qos: 1, nl: true });
      await client.publish(`${topic}/own`, 'my own', { qos: 1 });
      await client.publish(topic, '', { qos: 1, retain: true });
      assert.equal((await client.next()).topic, topic);
    });

    test('gets a client id, and a will that waits for the delay is taken back', async () => {
      await using nameless = await open('', { clientId: '' });
      const assigned = nameless.connack.properties?.assignedClientIdentifier ?? '';
      assert.notEqual(assigned, '');
      const topic = `${kind}/delayed`;
      await using witness = await open('witness');
      await witness.subscribe(topic, { qos: 1 });
      const session: OpenOptions = { clean: false, properties: { sessionExpiryInterval: 60 } };
      const will = {
        topic,
        payload: Buffer.from('too early'),
        qos: 1,
        retain: false,
        properties: { willDelayInterval: 30 },
      } as const;
      await using lost = await open('lost', { ...session, will });
      lost.lose();
      await lost.ended();
      await using back = await open('lost', session);
      assert.equal(back.connack.sessionPresent, true);
      await back.publish(topic, 'I am back', { qos: 1 });
      assert.deepEqual(await witness.payloads(1), ['I am back']);
    });
  });
}

function openOn(kind: Kind, options: OpenOptions): Promise<OutsideClient> {
  return OutsideClient.open(urlOf(kind, broker.port(kind)), { ca, ...options });
}

/** Everything a client has published before has reached its subscribers' queues. */
async function settled(client: OutsideClient): Promise<void> {
  await client.publish('settled', '', { qos: 1 });
}

/** The payloads that a client gets before the one that says it was all. */
async function until(client: OutsideClient, last: string): Promise<string[]> {
  const payloads: string[] = [];
  for (;;) {
    const payload = (await client.next()).payload.toString();
    if (payload === last) return payloads;
    payloads.push(payload);
  }
}

function idsOf(properties: { subscriptionIdentifier?: number | number[] } | undefined): number[] {
  return [properties?.subscriptionIdentifier ?? []].flat();
}
