// Publishing on behalf of a client, or of the node: through hooks and rules, past access control.
// Confirmed when it is safe, also where nobody subscribes.

import { type Static, Type } from 'typebox';
import type { QoS } from '#wire/packet';
import { topicNameFault } from '#topics/topic';
import { isSystemTopic } from '#core/system-topics';
import { OperatingError } from '../failures.ts';
import { oneAndBatch } from '../batch.ts';
import { checkClientId, topicParams, topicsOf, validTopics } from '../on-behalf.ts';
import { operating } from '../operating.ts';
import type { AnyOperation } from '../operation.ts';
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
  return oneAndBatch({
    verb: 'publish',
    descr: 'Publish a MQTT message',
    batchDescr: 'Batch publish MQTT messages',
    codes: '0: published; 115: no valid topic',
    params: publishParams,
    run: publish,
  });
}

/** Nobody speaks for the broker about itself. */
function publishFault(topic: string): string | undefined {
  const isOfBroker = topic === '$SYS' || isSystemTopic(topic);
  return isOfBroker ? 'it is of the broker' : topicNameFault(topic);
}

function payloadOf({ payload = '', encoding = 'plain' }: PublishEntry): Uint8Array {
  if (encoding === 'plain') return new TextEncoder().encode(payload);
  try {
    return Uint8Array.fromBase64(payload);
  } catch (cause) {
    throw new OperatingError('invalid', 'Cannot use payload: expected base64', { cause });
  }
}
