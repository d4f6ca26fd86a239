// Publishing on behalf of a client, or of the node: through hooks and rules, past access control.
// Confirmed when it is safe, also where nobody subscribes.

import { type Static, Type } from 'typebox';
import type { QoS } from '#wire/packet';
import { topicNameFault } from '#topics/topic';
import { OperatingError } from '../failures.ts';
import {
  type BatchItem,
  checkClientId,
  checkTopicCount,
  entriesMax,
  isOfBroker,
  itemOf,
  operating,
  topicParams,
  topicsOf,
  validTopics,
} from '../on-behalf.ts';
import { type AnyOperation, define } from '../operation.ts';
import type { AdminParts } from '../parts.ts';

const publishParams = Type.Object({
  ...topicParams,
  payload: Type.Optional(Type.String({ description: 'Default: empty' })),
  encoding: Type.Optional(
    Type.Union([Type.Literal('plain'), Type.Literal('base64')], {
      description: 'Of the payload. Default: plain, its text as UTF-8',
    }),
  ),
  qos: Type.Optional(Type.Integer({ minimum: 0, maximum: 2, description: 'Default: 0' })),
  retain: Type.Optional(Type.Boolean({ description: 'Default: false' })),
  client_id: Type.Optional(
    Type.String({ description: 'Whose message it is. Default: the one of the node' }),
  ),
});

type PublishEntry = Static<typeof publishParams>;

export function publishOperations({ node }: Pick<AdminParts, 'node'>): AnyOperation[] {
  const { workers } = node;
  const publish = async (entry: PublishEntry): Promise<void> => {
    const { retain = false, client_id } = entry;
    const payload = payloadOf(entry);
    const qos = (entry.qos ?? 0) as QoS;
    const clientId = client_id === '' ? undefined : client_id;
    if (clientId !== undefined) checkClientId(clientId);
    // All at once: they arrive in this order, and one flush is enough for all.
    const published = validTopics(topicsOf(entry), publishFault).map((topic) =>
      workers.anywhere('publish', [{ topic, payload, qos, retain, clientId }]),
    );
    await operating(Promise.all(published));
  };
  return [
    define({
      name: 'mqtt_publish',
      descr: 'Publish a MQTT message',
      tag: 'Messages',
      http: { method: 'POST', path: '/mqtt/publish' },
      params: publishParams,
      async run(entry) {
        checkTopicCount([entry]);
        await publish(entry);
      },
    }),
    define({
      name: 'mqtt_publish_batch',
      descr: 'Batch publish MQTT messages',
      tag: 'Messages',
      http: { method: 'POST', path: '/mqtt/publish_batch', bodyAs: 'entries' },
      params: Type.Object({ entries: Type.Array(publishParams, { maxItems: entriesMax }) }),
      result: Type.Array(
        Type.Object({
          ...topicParams,
          code: Type.Integer({ description: '0: published; 115: no valid topic' }),
          message: Type.Optional(Type.String()),
        }),
      ),
      run({ entries }): Promise<BatchItem[]> {
        checkTopicCount(entries);
        return Promise.all(entries.map((entry) => itemOf(entry, publish(entry))));
      },
    }),
  ];
}

function publishFault(topic: string): string | undefined {
  return isOfBroker(topic) ? 'it is of the broker' : topicNameFault(topic);
}

function payloadOf({ payload = '', encoding = 'plain' }: PublishEntry): Uint8Array {
  if (encoding === 'plain') return new TextEncoder().encode(payload);
  try {
    return Uint8Array.fromBase64(payload);
  } catch (cause) {
    throw new OperatingError('invalid', 'Cannot use payload: expected base64', { cause });
  }
}
