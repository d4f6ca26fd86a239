// Decisions about rights and the fast ways past them: what was allowed once is not asked again, what
// was revoked is, and nothing slips through the express lane.

import assert from 'node:assert/strict';
import test from 'node:test';
import type { AclAnswer } from '#hooks/table';
import { startBroker, type TestBroker } from '#test/broker';
import { settled } from './event-turns.ts';

interface Asked {
  readonly questions: string[];
  answer: AclAnswer;
}

function ask(broker: TestBroker, answer: AclAnswer): Asked {
  const asked: Asked = { questions: [], answer };
  broker.hook(
    'client.check_acl',
    (client, action, topic) => {
      asked.questions.push(`${client.clientId} ${action} ${topic}`);
      return asked.answer;
    },
    'rules',
  );
  return asked;
}

for (const qos of [0, 1, 2] as const) {
  test(`a right to publish with QoS ${qos} is asked for once and remembered`, async () => {
    await using broker = await startBroker({ workers: 0, zone: { enableAcl: true } });
    const asked = ask(broker, 'allow');
    const reader = await broker.connect({ clientId: 'r' });
    await reader.subscribe('t/#');
    const writer = await broker.connect({ clientId: 'w' });
    for (let i = 0; i < 5; i++) await writer.publish('t/1', `${i}`, { qos });
    for (let i = 0; i < 5; i++) {
      assert.equal((await reader.receive()).payload.toString(), `${i}`);
    }
    assert.deepEqual(asked.questions, ['r subscribe t/#', 'w publish t/1']);
  });

  test(`a publish with QoS ${qos} that is denied reaches nobody, and the denial is remembered`, async () => {
    await using broker = await startBroker({ workers: 0, zone: { enableAcl: true } });
    const asked = ask(broker, 'allow');
    const reader = await broker.connect({ clientId: 'r' });
    await reader.subscribe('#');
    asked.answer = 'deny';
    const denied: string[] = [];
    broker.hook(
      'client.denied',
      (_client, action, topic) => void denied.push(`${action} ${topic}`),
      'w',
    );
    const writer = await broker.connect({ clientId: 'w' });
    for (let i = 0; i < 3; i++) await writer.publish('t', `${i}`, { qos });
    await settled();
    asked.answer = 'allow';
    await writer.publish('u', 'through', { qos });
    assert.equal((await reader.receive()).topic, 'u');
    assert.deepEqual(denied, ['publish t', 'publish t', 'publish t'], 'each is told once');
    assert.deepEqual(
      asked.questions.filter((question) => question === 'w publish t'),
      ['w publish t'],
    );
  });
}

test('a right is asked for again when its time is over, when hooks change, and when it is forgotten', async () => {
  await using broker = await startBroker({ workers: 0, zone: { enableAcl: true } });
  const asked = ask(broker, 'allow');
  const writer = await broker.connect({ clientId: 'w' });
  const publish = (): Promise<unknown> => writer.publish('t', 'x', { qos: 1 });
  await publish();
  await publish();
  assert.equal(asked.questions.length, 1);
  broker.advance(60_000);
  await publish();
  assert.equal(asked.questions.length, 2);
  broker.hook('client.check_acl', () => 'ignore', 'another');
  await publish();
  assert.equal(asked.questions.length, 3);
  broker.broker.forgetRights('somebody else');
  await publish();
  assert.equal(asked.questions.length, 3);
  broker.broker.forgetRights('w');
  await publish();
  await publish();
  assert.equal(asked.questions.length, 4);
});

test('a right that is revoked holds for the very next publish, also on the express lane', async () => {
  await using broker = await startBroker({ workers: 0, zone: { enableAcl: true } });
  const asked = ask(broker, 'allow');
  const reader = await broker.connect({ clientId: 'r' });
  await reader.subscribe('#');
  const writer = await broker.connect({ clientId: 'w' });
  await writer.publish('t', 'before');
  assert.equal((await reader.receive()).payload.toString(), 'before');
  asked.answer = 'deny';
  broker.broker.forgetRights();
  await writer.publish('t', 'after');
  await settled();
  asked.answer = 'allow';
  broker.broker.forgetRights();
  await writer.publish('t', 'again');
  assert.equal((await reader.receive()).payload.toString(), 'again');
});

test('an answer that takes time is asked for once by a client that goes on publishing', async () => {
  await using broker = await startBroker({ workers: 0, zone: { enableAcl: true } });
  let questions = 0;
  const gate = Promise.withResolvers<AclAnswer>();
  broker.hook(
    'client.check_acl',
    (_client, action) => {
      if (action === 'subscribe') return 'allow';
      questions++;
      return gate.promise;
    },
    'slow',
  );
  const reader = await broker.connect({ clientId: 'r' });
  await reader.subscribe('t');
  const writer = await broker.connect({ clientId: 'w' });
  const done = [0, 1, 2].map((i) => writer.publish('t', `${i}`));
  await settled();
  gate.resolve('allow');
  await Promise.all(done);
  for (let i = 0; i < 3; i++) {
    assert.equal((await reader.receive()).payload.toString(), `${i}`);
  }
  assert.equal(questions, 1);
});

test('a denial because nobody could answer is not remembered', async () => {
  await using broker = await startBroker({ workers: 0, zone: { enableAcl: true } });
  const asked = ask(broker, 'unavailable');
  const writer = await broker.connect({ clientId: 'w', version: 5 });
  assert.equal((await writer.publish('t', 'x', { qos: 1 }))?.reasonCode, 0x87);
  asked.answer = 'allow';
  assert.equal((await writer.publish('t', 'x', { qos: 1 }))?.reasonCode, 0x10);
});

test('without a hook the settings decide, and no publish is express that they deny', async () => {
  await using broker = await startBroker({
    workers: 0,
    zone: { enableAcl: true, aclNomatch: 'deny' },
  });
  const writer = await broker.connect({ clientId: 'w', version: 5 });
  assert.equal((await writer.publish('t', 'x', { qos: 1 }))?.reasonCode, 0x87);
  await writer.publish('t', 'x');
  assert.equal(broker.broker.core.metrics.snapshot()['messages/dropped'], 0, 'it went nowhere');
});
