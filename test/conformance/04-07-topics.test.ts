// MQTT 5.0 section 4.7: topic names, filters, wildcards and how they match.

import assert from 'node:assert/strict';
import test from 'node:test';
import { startBroker } from '#test/broker';
import { field, packet, properties, u16 } from '#test/raw-bytes';

const malformed = 0x81;
const protocolError = 0x82;
const badFilter = 0x8f;
const badTopicName = 0x90;

test('[MQTT-4.7.0-1] wildcards are for filters: a topic name with one ends the connection', async () => {
  await using broker = await startBroker();
  for (const topic of ['+', '#', 'sport/+', 'sport/#', 'sport+', 'a/b#/c']) {
    const client = await broker.connect();
    await client.subscribe(['sport/+', '#']);
    client.send(packet(0x30, field(topic), properties()));
    await client.expectDisconnected(badTopicName, malformed, protocolError);
  }
});

/** A filter that cannot be is refused in SUBACK or ends the connection; both are allowed. */
async function expectFilterRefused(filter: string): Promise<void> {
  await using broker = await startBroker();
  const client = await broker.connect();
  client.send(packet(0x82, u16(1), properties(), field(filter), 0));
  const answer = await client.next();
  if (answer.type === 'suback') {
    assert.deepEqual(answer.reasonCodes, [badFilter], `filter "${filter}"`);
    await client.expectNothing();
  } else {
    assert.equal(answer.type, 'disconnect');
    const code = 'reasonCode' in answer ? answer.reasonCode : 0;
    assert.ok(
      [badFilter, malformed, protocolError].includes(code),
      `filter "${filter}": code ${code}`,
    );
    await client.expectClosed();
  }
}

test('[MQTT-4.7.1-1] "#" stands alone or after a separator, and last', async () => {
  for (const filter of ['sport/tennis#', 'sport/#/ranking', '##', '#/a', 'a/#b']) {
    await expectFilterRefused(filter);
  }
  await using broker = await startBroker();
  const client = await broker.connect();
  assert.deepEqual(
    (await client.subscribe(['#', 'sport/#', '/#', '+/#'])).reasonCodes,
    [0, 0, 0, 0],
  );
});

test('[MQTT-4.7.1-1] "#" matches its parent level and everything below', async () => {
  await using broker = await startBroker();
  const client = await broker.connect();
  await client.subscribe('sport/tennis/#');
  const matching = ['sport/tennis', 'sport/tennis/', 'sport/tennis/a', 'sport/tennis/a/b'];
  for (const topic of ['sport', 'sport/tennis2', 'sport/tenni', ...matching])
    await client.publish(topic, topic);
  assert.deepEqual(await client.receivePayloads(matching.length), matching);
  await client.expectNothing();
});

test('[MQTT-4.7.1-2] "+" stands for one whole level', async () => {
  for (const filter of ['sport+', 'sport/+a', 'a+/b', '++']) await expectFilterRefused(filter);
  await using broker = await startBroker();
  const client = await broker.connect();
  await client.subscribe(['+', 'a/+/c', '/+', 'b/+']);
  const matching = ['one', 'a/b/c', 'a//c', '/x', '/', 'b/'];
  for (const topic of ['one/two', 'a/b/b/c', 'a/c', 'b/x/', '//', ...matching])
    await client.publish(topic, topic);
  assert.deepEqual(await client.receivePayloads(matching.length), matching);
  await client.expectNothing();
});

test('[MQTT-4.7.2-1] a filter that begins with a wildcard does not match topics that begin with "$"', async () => {
  await using broker = await startBroker();
  const client = await broker.connect();
  await client.publish('$private/kept', 'retained', { retain: true });
  await client.subscribe(['#', '+/monitor/Clients', '+/kept']);
  await client.publish('$private', 'live');
  await client.publish('$private/monitor/Clients', 'live');
  await client.expectNothing();
  await client.subscribe('$private/#');
  assert.deepEqual(await client.receivePayloads(1), ['retained']);
  await client.publish('$private/monitor/Clients', 'live');
  assert.deepEqual(await client.receivePayloads(1), ['live']);
  await client.expectNothing();
});

test('[MQTT-4.7.3-1] empty topic names and filters are refused', async () => {
  await expectFilterRefused('');
  await using broker = await startBroker();
  for (const version of [4, 5] as const) {
    const client = await broker.connect({ version });
    client.send(packet(0x30, field(''), ...(version === 5 ? [properties()] : [])));
    await client.expectDisconnected(badTopicName, malformed, protocolError);
  }
});

test('[MQTT-4.7.3-2] topic names and filters with the null character end the connection', async () => {
  await using broker = await startBroker();
  for (const bytes of [
    packet(0x30, field('a\0'), properties()),
    packet(0x82, u16(1), properties(), field('\0'), 0),
    packet(0xa2, u16(1), properties(), field('a/\0/b')),
  ]) {
    const client = await broker.connect();
    client.send(bytes);
    await client.expectDisconnected(malformed);
  }
});

test('[MQTT-4.7.3-3] topics up to 65 535 bytes work, and the server never sends a longer one', async () => {
  await using broker = await startBroker();
  const client = await broker.connect();
  const longest = 'x'.repeat(65_535);
  assert.deepEqual((await client.subscribe([longest, 'x/#'])).reasonCodes, [0, 0]);
  await client.publish(longest, 'arrived');
  const received = await client.receive();
  assert.equal(received.topic, longest);
});

test('[MQTT-4.7.3-4] topics are compared as they are: no normalisation, no folding', async () => {
  await using broker = await startBroker();
  const client = await broker.connect();
  const composed = 'caf\u00e9';
  const decomposed = 'cafe\u0301';
  await client.subscribe([composed, 'Case', 'a/b', ' space', 'x\ufffdy', '\u{1f600}']);
  for (const topic of [
    decomposed,
    'case',
    'CASE',
    '/a/b',
    'a/b/',
    'a//b',
    'space',
    ' space ',
    'xy',
  ]) {
    await client.publish(topic, topic);
  }
  await client.expectNothing();
  for (const topic of [composed, 'Case', ' space', 'x\ufffdy', '\u{1f600}']) {
    await client.publish(topic, topic);
    assert.equal((await client.receive()).topic, topic);
  }
});
