// Texts of clients in our own words: a topic or an authentication method may be as long as a string
// of MQTT can be, and a reason string that quotes it must still be one.

import assert from 'node:assert/strict';
import test from 'node:test';
import { encodePacket } from '#wire/encode';
import { startBroker } from '#test/broker';
import { until } from './event-turns.ts';
import { publishFrame } from './publish-frame.ts';

const denying = { enableAcl: true, aclNomatch: 'deny' } as const;
const reasonBytesMax = 1000;

test('an authentication method as long as a string can be is refused by a short CONNACK', async () => {
  await using broker = await startBroker();
  const client = await broker.open();
  const connack = await client.connect({ properties: { authMethod: 'm'.repeat(65_500) } });
  assert.equal(connack.reasonCode, 0x8c);
  assert.ok(Buffer.byteLength(connack.properties.reasonString ?? '') < reasonBytesMax);
  await client.expectClosed();
});

for (const [what, letter] of [
  ['ASCII', 't'],
  ['two-byte', 'é'],
  // An odd number of other letters stands before it: a cut by length would halve one.
  ['surrogate pair', '🌡'],
] as const) {
  test(`a publish denied on a topic as long as a string can be is answered by a short text, ${what}`, async () => {
    await using broker = await startBroker({ zone: denying });
    const client = await broker.connect();
    const topic = letter.repeat(Math.floor(65_530 / Buffer.byteLength(letter)));
    const puback = await client.publish(topic, 'x', { qos: 1 });
    assert.equal(puback?.reasonCode, 0x87);
    const text = puback.properties.reasonString ?? '';
    assert.match(text, /^Cannot publish to/);
    assert.ok(!text.includes('\ufffd'), 'no character is cut in two');
    assert.ok(Buffer.byteLength(text) < reasonBytesMax);
    await client.expectNothing();
  });
}

for (const [what, decide] of [
  ['at once', () => 'deny'],
  ['late', async () => 'deny'],
] as const) {
  test(`a client cut off for a topic as long as a string can be is told 0x87, decided ${what}`, async () => {
    await using broker = await startBroker({
      zone: { enableAcl: true, aclDenyAction: 'disconnect' },
    });
    broker.hook('client.check_acl', decide as () => 'deny', 'guard');
    const client = await broker.connect();
    client.sendPublish('t'.repeat(65_530), 'x', { qos: 1 });
    await client.expectDisconnected(0x87);
  });
}

test('a client that breaks the protocol behind a paced publish is cut off alone', async () => {
  await using broker = await startBroker({ zone: { publishLimit: { count: 1, perMs: 1000 } } });
  const client = await broker.connect({ clientId: 'hasty' });
  // [MQTT-3.8.3-4]
  const broken = encodePacket(
    {
      type: 'subscribe',
      packetId: 1,
      filters: [
        {
          filter: `$share/g/${'a'.repeat(65_500)}`,
          qos: 0,
          noLocal: true,
          retainAsPublished: false,
          retainHandling: 0,
        },
      ],
      properties: {},
    },
    5,
  );
  client.send(Buffer.concat([publishFrame('t', '1'), publishFrame('t', '2'), broken]));
  const [channel] = broker.channels();
  await until('the pause', () => channel?.transport.isPaused === true);
  broker.advance(3000);
  await client.expectDisconnected(0x82);
  await broker.expectService();
});

test('[MQTT-3.1.2-29] a client that wants no problem information is sent no text, only the code', async () => {
  await using broker = await startBroker({ zone: denying });
  const client = await broker.connect({ properties: { requestProblemInfo: false } });
  const puback = await client.publish('t', 'x', { qos: 1 });
  assert.deepEqual([puback?.reasonCode, puback?.properties], [0x87, {}]);
});

test('a client that wants no problem information is still told where else to go', async () => {
  await using broker = await startBroker({ zone: { serverReference: 'other:1883' } });
  const client = await broker.connect({ properties: { requestProblemInfo: false } });
  for (const one of broker.brokers) one.stop();
  assert.deepEqual(await client.expectClosed(), [
    { type: 'disconnect', reasonCode: 0x9c, properties: { serverReference: 'other:1883' } },
  ]);
});
