// What explain foresees is what then happens: random companies of subscribers, plain and shared, some of
// them away, slow or with full queues; a publish is explained, then done, and its way compared.

import assert from 'node:assert/strict';
import test from 'node:test';
import type { QoS } from '#wire/packet';
import { explainPublish, type PublishExplained, type ReceiverRow } from '#admin/explain';
import { fuzzSeed, Random } from '../fuzz/random.ts';
import { startBroker, type TestBroker } from '../helpers/broker.ts';
import type { RawClient } from '../helpers/raw-client.ts';
import { until } from '../regression/event-turns.ts';
import { workersOf } from './trace-fixture.ts';

const topics = ['a', 'a/b', 'b'];
const plainFilters = ['a', 'a/b', 'a/#', '+', '#', 'b'];
const sharedFilters = ['$share/g/a', '$share/g/#', '$share/h/+'];
const clients = 14;
const publishes = 30;

const random = new Random(fuzzSeed);

for (const workers of [0, 2]) {
  for (const strategy of ['round_robin', 'hash', 'random', 'sticky'] as const) {
    test(`explain foresees what then happens: ${workers} workers, ${strategy}`, async (t) => {
      t.diagnostic(`FUZZ_SEED=${fuzzSeed}`);
      const zone = { maxMqueueLen: 2, mqueueStoreQos0: random.chance(50) };
      const sharedDispatchAckEnabled = random.chance(50);
      const shared = { sharedSubscriptionStrategy: strategy, sharedDispatchAckEnabled };
      await using broker = await startBroker({ workers, zone, broker: shared });
      const writer = await company(broker);
      const parts = { workers: workersOf(broker), settings: broker.broker.core.settings };
      const seen = watch(broker);
      for (let i = 0; i < publishes; i++) {
        const topic = random.pick(topics);
        const qos = random.below(3) as QoS;
        const publish = { topic, qos, retain: false, payloadBytes: 1 };
        const said = await explainPublish(parts, { clientId: 'writer' }, publish, 100);
        seen.clear();
        await writer.publish(topic, 'x', { qos });
        await until(
          `what was foreseen of publish ${i} to ${topic} with QoS ${qos}`,
          () => differencesOf(said, seen).length === 0,
          5000,
        ).catch(() => assert.deepEqual(differencesOf(said, seen), []));
      }
    });
  }
}

/** What became of the message of the moment, by client: sent, or queued, or dropped. */
type Seen = Map<string, { readonly would: string; readonly qos: number | undefined }>;

function differencesOf(said: PublishExplained, seen: Seen): unknown[] {
  const left = new Map(seen);
  const take = (rows: readonly ReceiverRow[]): boolean => {
    const found = rows.find(({ client_id: clientId, would, qos }) => {
      const fate = left.get(clientId);
      return fate?.would === would && (fate.qos ?? qos) === qos;
    });
    return found !== undefined && left.delete(found.client_id);
  };
  const missing = [
    ...said.receivers.filter((row) => !take([row])),
    ...said.groups.filter(({ candidates }) => !take(candidates)),
  ];
  return [...missing, ...left];
}

/** NOTE: what a message pushes out of a queue is another one, and QoS 2 is queued until it is stored. */
function watch(broker: TestBroker): Seen {
  const seen: Seen = new Map();
  let current = '';
  const note = (id: string, client: string, would: string, qos?: number): void => {
    if (id === current) seen.set(client, { would, qos });
  };
  const owner = 'watch';
  broker.hook('message.received', ({ id }) => void (current = id), owner);
  broker.hook(
    'message.sent',
    ({ clientId }, { id }, qos) => note(id, clientId, 'send', qos),
    owner,
  );
  broker.hook('message.queued', (clientId, { id }) => note(id, clientId, 'queue'), owner);
  broker.hook(
    'message.dropped',
    ({ id }, _, clientId) => {
      if (clientId !== undefined) note(id, clientId, 'drop');
    },
    owner,
  );
  return seen;
}

/** Each subscribes plainly or in one group, so that it gets one copy. */
async function company(broker: TestBroker): Promise<RawClient> {
  const writer = await broker.connect({ clientId: 'writer' });
  for (let i = 0; i < clients; i++) {
    const clientId = `c${i}`;
    const properties = { sessionExpirySeconds: 1000, receiveMaximum: 1 + random.below(10) };
    const client = await broker.connect({ clientId, properties });
    const isMember = random.chance(50);
    const filters = isMember ? [random.pick(sharedFilters)] : some(plainFilters);
    for (const filter of filters) await client.subscribe(filter, { qos: random.below(3) as QoS });
    if (random.chance(30)) await broker.lose(client, clientId);
  }
  // It would hear itself by the second alone.
  await writer.subscribe('a/#', { qos: 1, noLocal: true });
  await writer.subscribe('a', { qos: 0 });
  return writer;
}

function some<T>(all: readonly T[]): T[] {
  return all.filter(() => random.chance(40));
}
