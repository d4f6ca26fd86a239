// Subscribing and unsubscribing on behalf of a client: at its session, whether it is connected or not.

import { type Static, Type } from 'typebox';
import type { QoS } from '#wire/packet';
import { filterFault } from '#topics/topic';
import { oneAndBatch } from '../batch.ts';
import { atSession, type SessionParts, topicParams, topicsOf, validTopics } from '../on-behalf.ts';
import { operating } from '../operating.ts';
import type { AnyOperation } from '../operation.ts';
import type { AdminParts } from '../parts.ts';

const clientId = Type.String({ minLength: 1, description: 'Whose session' });

const subscribeParams = Type.Object({
  ...topicParams,
  qos: Type.Optional(Type.Integer({ minimum: 0, maximum: 2, description: 'Default: 0' })),
  client_id: clientId,
});

const unsubscribeParams = Type.Object({
  ...topicParams,
  topic: Type.Optional(Type.String({ description: 'One topic, as it was subscribed to' })),
  client_id: clientId,
});

const codes = '0: done; 112: no session; 115: no valid topic';
const repeated = { client_id: Type.String() };

export function subscribeOperations({
  node,
  clock,
}: Pick<AdminParts, 'node' | 'clock'>): AnyOperation[] {
  const parts = { workers: node.workers, clock };
  return [...subscribing(parts), ...unsubscribing(parts)];
}

function subscribing(parts: SessionParts): AnyOperation[] {
  const subscribe = async (entry: Static<typeof subscribeParams>): Promise<void> => {
    const { client_id: client } = entry;
    const qos = (entry.qos ?? 0) as QoS;
    const filters = validTopics(topicsOf(entry), filterFault);
    const calls = filters.map((filter) => [client, filter, qos] as const);
    await operating(atSession(parts, client, 'subscribe', calls));
  };
  return oneAndBatch({
    verb: 'subscribe',
    descr: 'Subscribe a topic',
    batchDescr: 'Batch subscribes topics',
    codes,
    repeated,
    params: subscribeParams,
    run: subscribe,
  });
}

function unsubscribing(parts: SessionParts): AnyOperation[] {
  const unsubscribe = async (entry: Static<typeof unsubscribeParams>): Promise<void> => {
    const { client_id: client } = entry;
    const filters = validTopics(topicsOf(entry, true), filterFault);
    const calls = filters.map((filter) => [client, filter] as const);
    await operating(atSession(parts, client, 'unsubscribe', calls));
  };
  return oneAndBatch({
    verb: 'unsubscribe',
    descr: 'Unsubscribe a topic',
    batchDescr: 'Batch unsubscribes topics',
    codes,
    repeated,
    params: unsubscribeParams,
    run: unsubscribe,
  });
}
