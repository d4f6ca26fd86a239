// One client with very many questions about its rights: whoever answers them has others to answer, too.

import assert from 'node:assert/strict';
import test from 'node:test';
import type { AclAnswer } from '#hooks/table';
import { startBroker } from '#test/broker';
import { settled } from './event-turns.ts';

const plain = { qos: 0, noLocal: false, retainAsPublished: false, retainHandling: 0 } as const;

test('few filters of one SUBSCRIBE are asked about at once, and all of them in the end', async () => {
  await using broker = await startBroker({ workers: 0, zone: { enableAcl: true } });
  let underWay = 0;
  let most = 0;
  broker.hook(
    'client.check_acl',
    async (_client, _action, topic) => {
      most = Math.max(most, ++underWay);
      await settled();
      underWay--;
      return topic.endsWith('7') ? 'deny' : 'allow';
    },
    'slow',
  );
  const client = await broker.connect({ clientId: 'many' });
  const filters = Array.from({ length: 300 }, (_, i) => ({ ...plain, filter: `f/${i}` }));
  client.send({ type: 'subscribe', packetId: 1, filters, properties: {} });
  const { reasonCodes } = await client.next('suback');
  assert.deepEqual(
    reasonCodes,
    filters.map(({ filter }) => (filter.endsWith('7') ? 0x87 : 0)),
  );
  assert.ok(most > 1 && most <= 16, `${most} at once`);
});

test('a client that is gone is not asked about any longer', async () => {
  await using broker = await startBroker({ workers: 0, zone: { enableAcl: true } });
  const gate = Promise.withResolvers<AclAnswer>();
  let questions = 0;
  broker.hook(
    'client.check_acl',
    () => {
      questions++;
      return gate.promise;
    },
    'slow',
  );
  const client = await broker.connect({ clientId: 'gone' });
  const filters = Array.from({ length: 300 }, (_, i) => ({ ...plain, filter: `f/${i}` }));
  client.send({ type: 'subscribe', packetId: 1, filters, properties: {} });
  await settled();
  assert.equal(questions, 16);
  assert.ok(broker.broker.kick('gone'));
  gate.resolve('allow');
  await settled();
  assert.equal(questions, 16);
});
