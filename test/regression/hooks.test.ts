// Listeners that misbehave: they reject where nobody waits, keep what they were shown, kick the client
// whose packet is under way, or answer nonsense. The broker goes on, and the owner is named.

import assert from 'node:assert/strict';
import test from 'node:test';
import { encodePacket } from '#wire/encode';
import type { MessageView } from '#hooks/table';
import { startBroker } from '#test/broker';
import { settled, until } from './event-turns.ts';
import { publishFrame } from './publish-frame.ts';

/** What the log says about a listener that failed. */
const failed = (hook: string, error: string): object => ({
  event: 'hook.failed',
  hook,
  owner: 'bad',
  error,
});

test('a told hook that rejects is reported, and the process lives', async () => {
  await using broker = await startBroker();
  const late = (async () => {
    throw new Error('late');
  }) as () => void;
  broker.hook('client.connected', late, 'bad');
  await broker.connect();
  await settled();
  assert.deepEqual(broker.takeFaults(), [failed('client.connected', 'late')]);
});

test('an asynchronous message.publish hook sees the payload it was given, whatever is read meanwhile', async () => {
  await using broker = await startBroker();
  const thinking = Promise.withResolvers<void>();
  const seen: string[] = [];
  let asked = 0;
  broker.hook(
    'message.publish',
    async ({ topic, payload }) => {
      asked += 1;
      if (topic === 't') await thinking.promise;
      seen.push(payload.toString());
      return undefined;
    },
    'slow',
  );
  const one = await broker.connect();
  const other = await broker.connect();
  const publishing = one.publish('t', 'the original payload', { qos: 1 });
  await until('the hook asked', () => asked === 1);
  await other.publish('u', 'z'.repeat(100), { qos: 1 });
  thinking.resolve();
  await publishing;
  assert.deepEqual(seen, ['z'.repeat(100), 'the original payload']);
});

test('a message that a told hook keeps stays as it was', async () => {
  await using broker = await startBroker();
  const kept: MessageView[] = [];
  broker.hook('message.dropped', (message) => void kept.push(message), 'keeper');
  const writer = await broker.connect();
  await writer.publish('t', 'the original payload', { qos: 1 });
  await writer.publish('u', 'z'.repeat(100), { qos: 1 });
  assert.deepEqual(
    kept.map(({ payload }) => payload.toString()),
    ['the original payload', 'z'.repeat(100)],
  );
});

test('a client kicked inside message.publish gets nothing more of its read routed', async () => {
  await using broker = await startBroker();
  broker.hook(
    'message.publish',
    ({ topic, clientId }) => {
      if (topic === 'bad') broker.kick(clientId);
      return undefined;
    },
    'guard',
  );
  const subscriber = await broker.connect();
  await subscriber.subscribe('#');
  const client = await broker.connect();
  client.send(
    Buffer.concat([
      publishFrame('good'),
      publishFrame('bad'),
      publishFrame('after'),
      publishFrame('after', '', { qos: 1, packetId: 6 }),
      publishFrame('after', '', { qos: 2, packetId: 7 }),
    ]),
  );
  await client.expectDisconnected(0x98);
  assert.equal((await subscriber.receive()).topic, 'good');
  await subscriber.expectNothing();
});

test('a client kicked inside a told hook gets nothing more of its read routed', async () => {
  await using broker = await startBroker();
  broker.hook(
    'message.acked',
    ({ clientId }) => {
      broker.kick(clientId);
    },
    'guard',
  );
  const subscriber = await broker.connect();
  await subscriber.subscribe('after');
  const client = await broker.connect({ properties: { sessionExpirySeconds: 100 } });
  await client.subscribe('t', { qos: 1 });
  await subscriber.publish('t', 'x', { qos: 1 });
  const { packetId } = await client.next('publish');
  // Without a hook that sees messages, QoS 0 takes the express lane.
  const puback = encodePacket({ type: 'puback', packetId, reasonCode: 0, properties: {} }, 5);
  client.send(Buffer.concat([puback, publishFrame('after'), publishFrame('after')]));
  await client.expectDisconnected(0x98);
  await subscriber.expectNothing();
});

for (const answer of [undefined, 'drop'] as const) {
  test(`a receiver kicked inside message.deliver does not concern the publisher, answer ${answer}`, async () => {
    await using broker = await startBroker();
    const receiver = await broker.connect({ clientId: 'receiver' });
    await receiver.subscribe('t', { qos: 1 });
    const writer = await broker.connect();
    broker.hook(
      'message.deliver',
      ({ clientId }) => {
        broker.kick(clientId);
        return answer;
      },
      'guard',
    );
    assert.equal((await writer.publish('t', 'x', { qos: 1 }))?.reasonCode, 0);
    await receiver.expectDisconnected(0x98);
    broker.unhook('guard');
    await broker.expectService();
  });
}

test('a receiver kicked inside message.deliver while it takes its queue does not stop the broker', async () => {
  await using broker = await startBroker();
  const durable = { clientId: 's', properties: { sessionExpirySeconds: 100 } };
  const absent = await broker.connect(durable);
  await absent.subscribe('t', { qos: 1 });
  await broker.lose(absent, 's');
  const writer = await broker.connect();
  for (const payload of ['one', 'two']) await writer.publish('t', payload, { qos: 1 });
  broker.hook(
    'message.deliver',
    ({ clientId }) => {
      broker.kick(clientId);
      return undefined;
    },
    'guard',
  );
  const back = await broker.connect({ ...durable, cleanStart: false });
  await back.expectDisconnected(0x98);
  broker.unhook('guard');
  await broker.expectService();
});

test('a topic from a hook that is no topic name is refused, and not remembered as valid', async () => {
  await using broker = await startBroker();
  broker.hook(
    'message.publish',
    ({ topic }) => (topic === 'in' ? { topic: 'a/#' } : undefined),
    'bad',
  );
  const subscriber = await broker.connect();
  await subscriber.subscribe('in');
  const writer = await broker.connect();
  await writer.publish('in', 'as it was', { qos: 1 });
  assert.deepEqual(await subscriber.receivePayloads(1), ['as it was']);
  assert.equal(broker.takeFaults().length, 1);
  broker.unhook('bad');
  writer.sendPublish('a/#', 'x', { qos: 1 });
  await writer.expectDisconnected(0x90);
});

test('a message.publish hook that answers nonsense late is skipped and reported', async () => {
  await using broker = await startBroker();
  broker.hook('message.publish', (async () => null) as never, 'bad');
  const subscriber = await broker.connect();
  await subscriber.subscribe('t');
  const writer = await broker.connect();
  assert.equal((await writer.publish('t', 'as it was', { qos: 1 }))?.reasonCode, 0);
  assert.deepEqual(await subscriber.receivePayloads(1), ['as it was']);
  await until('the report', () => broker.takeFaults().length === 1);
});

test('a client kicked inside session.subscribed leaves no subscription behind', async () => {
  await using broker = await startBroker();
  broker.hook('session.subscribed', ({ clientId }) => void broker.kick(clientId));
  const client = await broker.connect({ clientId: 'c' });
  client.send(
    encodePacket(
      {
        type: 'subscribe',
        packetId: 1,
        filters: ['a', 'b', 'c/+'].map((filter) => ({
          filter,
          qos: 1 as const,
          noLocal: false,
          retainAsPublished: false,
          retainHandling: 0 as const,
        })),
        properties: {},
      },
      5,
    ),
  );
  await client.expectClosed();
  assert.equal(broker.stat('subscriptions'), 0);
  assert.deepEqual(broker.filterNames(), []);
});

test('a client kicked inside message.acked ends in order', async () => {
  await using broker = await startBroker();
  const client = await broker.connect({ clientId: 'c' });
  await client.subscribe('t', { qos: 1 });
  broker.hook('message.acked', () => void broker.kick('c'), 'kicker');
  await (await broker.connect()).publish('t', 'x', { qos: 1 });
  client.ack('puback', (await client.next('publish')).packetId);
  await client.expectClosed();
  assert.equal(broker.session('c'), undefined);
});

test('a QoS 1 message whose receiver is kicked inside message.deliver reaches it when it is back', async () => {
  await using broker = await startBroker();
  const durable = { clientId: 'c', cleanStart: false, properties: { sessionExpirySeconds: 100 } };
  const client = await broker.connect(durable);
  await client.subscribe('t', { qos: 1 });
  let kicks = 0;
  broker.hook(
    'message.deliver',
    () => {
      if (kicks++ === 0) broker.kick('c');
      return undefined;
    },
    'kicker',
  );
  await (await broker.connect()).publish('t', 'kept', { qos: 1 });
  await client.expectClosed();
  const back = await broker.connect(durable);
  assert.equal((await back.next('publish')).payload.toString(), 'kept');
});
