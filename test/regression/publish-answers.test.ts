// What a message.publish hook can answer besides a change: that it takes the message upon itself, or that
// the message is refused, and what publishers of each version are told.

import assert from 'node:assert/strict';
import test from 'node:test';
import { Message } from '#core/message';
import { Reason } from '#wire/reason-codes';
import { startBroker, type TestBroker } from '#test/broker';

const refusal = { refuse: Reason.quotaExceeded, text: 'Cannot accept: enough' };

/** Answers by topic. */
function hookAnswers(broker: TestBroker): void {
  broker.hook('message.publish', async ({ topic }) => {
    if (topic === 'taken') return 'taken';
    if (topic === 'fault') return { ...refusal, isFault: true };
    return topic === 'refused' ? refusal : undefined;
  });
}

test('a message that a hook takes is acknowledged, goes to nobody and is not counted as dropped', async () => {
  await using broker = await startBroker({ workers: 0 });
  hookAnswers(broker);
  const reader = await broker.connect();
  await reader.subscribe('#');
  const writer = await broker.connect({ version: 5 });
  const ack = await writer.publish('taken', 'x', { qos: 1 });
  assert.equal(ack?.reasonCode, Reason.success);
  assert.equal(broker.metric('messages/dropped'), 0);
  await reader.expectNothing();
});

test('a message that a hook refuses is refused with its reason, and told to be', async () => {
  await using broker = await startBroker({ workers: 0 });
  hookAnswers(broker);
  const told: unknown[] = [];
  broker.hook('message.refused', ({ topic }, code, text) => void told.push([topic, code, text]));
  const reader = await broker.connect();
  await reader.subscribe('#');
  const writer = await broker.connect({ version: 5 });
  const ack = await writer.publish('refused', 'x', { qos: 1 });
  assert.equal(ack?.reasonCode, Reason.quotaExceeded);
  assert.equal(ack?.properties.reasonString, refusal.text);
  const received = await writer.publish('refused', 'x', { qos: 2 });
  assert.equal(received?.reasonCode, Reason.quotaExceeded);
  assert.deepEqual(told, Array(2).fill(['refused', refusal.refuse, refusal.text]));
  await reader.expectNothing();
});

test('before MQTT 5 a refusal is a plain acknowledgement, and a fault ends the connection', async () => {
  await using broker = await startBroker({ workers: 0 });
  hookAnswers(broker);
  const writer = await broker.connect({ version: 4 });
  const ack = await writer.publish('refused', 'x', { qos: 1 });
  assert.equal(ack?.type, 'puback');
  writer.sendPublish('fault', 'x', { qos: 1 });
  await writer.expectClosed();
  const modern = await broker.connect({ version: 5 });
  const told = await modern.publish('fault', 'x', { qos: 1 });
  assert.equal(told?.reasonCode, Reason.quotaExceeded);
});

test('a message from inside that a hook refuses is an error for whoever publishes it', async () => {
  await using broker = await startBroker({ workers: 0 });
  hookAnswers(broker);
  const from = { clientId: 'api', username: undefined, address: '', port: 0 };
  const message = new Message('refused', Buffer.from('x'), 1, false, undefined, from, 0);
  await assert.rejects(broker.broker.publish(message), {
    name: 'PublishRefused',
    code: Reason.quotaExceeded,
    message: refusal.text,
  });
});
