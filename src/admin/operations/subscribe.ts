// Subscribing and unsubscribing on behalf of a client: at its session, whether it is connected or not.

import { type Static, Type } from 'typebox';
import type { QoS } from '#wire/packet';
import { filterFault } from '#topics/topic';
import {
  atSession,
  type BatchItem,
  checkTopicCount,
  entriesMax,
  itemOf,
  operating,
  type SessionParts,
  type TopicParams,
  topicParams,
  topicsOf,
  validTopics,
} from '../on-behalf.ts';
import { type AnyOperation, define } from '../operation.ts';
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

const items = Type.Array(
  Type.Object({
    client_id: Type.String(),
    ...topicParams,
    code: Type.Integer({ description: '0: done; 112: no session; 115: no valid topic' }),
    message: Type.Optional(Type.String()),
  }),
);

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
  return [
    define({
      name: 'mqtt_subscribe',
      descr: 'Subscribe a topic',
      tag: 'Messages',
      http: { method: 'POST', path: '/mqtt/subscribe' },
      params: subscribeParams,
      async run(entry) {
        checkTopicCount([entry]);
        await subscribe(entry);
      },
    }),
    define({
      name: 'mqtt_subscribe_batch',
      descr: 'Batch subscribes topics',
      tag: 'Messages',
      http: { method: 'POST', path: '/mqtt/subscribe_batch', bodyAs: 'entries' },
      params: Type.Object({ entries: Type.Array(subscribeParams, { maxItems: entriesMax }) }),
      result: items,
      run: ({ entries }) => all(entries, subscribe),
    }),
  ];
}

function unsubscribing(parts: SessionParts): AnyOperation[] {
  const unsubscribe = async (entry: Static<typeof unsubscribeParams>): Promise<void> => {
    const { client_id: client } = entry;
    const filters = validTopics(topicsOf(entry, true), filterFault);
    const calls = filters.map((filter) => [client, filter] as const);
    await operating(atSession(parts, client, 'unsubscribe', calls));
  };
  return [
    define({
      name: 'mqtt_unsubscribe',
      descr: 'Unsubscribe a topic',
      tag: 'Messages',
      http: { method: 'POST', path: '/mqtt/unsubscribe' },
      params: unsubscribeParams,
      async run(entry) {
        checkTopicCount([entry]);
        await unsubscribe(entry);
      },
    }),
    define({
      name: 'mqtt_unsubscribe_batch',
      descr: 'Batch unsubscribes topics',
      tag: 'Messages',
      http: { method: 'POST', path: '/mqtt/unsubscribe_batch', bodyAs: 'entries' },
      params: Type.Object({ entries: Type.Array(unsubscribeParams, { maxItems: entriesMax }) }),
      result: items,
      run: ({ entries }) => all(entries, unsubscribe),
    }),
  ];
}

/** All at once: to one session they come in this order. */
function all<E extends TopicParams & { readonly client_id: string }>(
  entries: readonly E[],
  change: (entry: E) => Promise<void>,
): Promise<BatchItem[]> {
  checkTopicCount(entries);
  return Promise.all(
    entries.map((entry) => itemOf(entry, change(entry), { client_id: entry.client_id })),
  );
}
