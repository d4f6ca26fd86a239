// The counters of the platform interface, by their keys, in one typed array: counting is an addition
// to `counts[i]`, reading is a loop. The array is a shared one when workers are threads.

/** Names for the code that counts → keys of the interface. The order is the order of the array. */
export const metricTable = {
  bytesReceived: 'bytes/received',
  bytesSent: 'bytes/sent',
  packetsReceived: 'packets/received',
  packetsSent: 'packets/sent',
  connect: 'packets/connect',
  connack: 'packets/connack',
  publishReceived: 'packets/publish/received',
  publishSent: 'packets/publish/sent',
  pubackReceived: 'packets/puback/received',
  pubackSent: 'packets/puback/sent',
  pubackMissed: 'packets/puback/missed',
  pubrecReceived: 'packets/pubrec/received',
  pubrecSent: 'packets/pubrec/sent',
  pubrecMissed: 'packets/pubrec/missed',
  pubrelReceived: 'packets/pubrel/received',
  pubrelSent: 'packets/pubrel/sent',
  pubrelMissed: 'packets/pubrel/missed',
  pubcompReceived: 'packets/pubcomp/received',
  pubcompSent: 'packets/pubcomp/sent',
  pubcompMissed: 'packets/pubcomp/missed',
  subscribe: 'packets/subscribe',
  suback: 'packets/suback',
  unsubscribe: 'packets/unsubscribe',
  unsuback: 'packets/unsuback',
  pingreq: 'packets/pingreq',
  pingresp: 'packets/pingresp',
  disconnectReceived: 'packets/disconnect/received',
  disconnectSent: 'packets/disconnect/sent',
  auth: 'packets/auth',
  messagesReceived: 'messages/received',
  messagesSent: 'messages/sent',
  messagesExpired: 'messages/expired',
  messagesRetained: 'messages/retained',
  messagesDropped: 'messages/dropped',
  messagesForward: 'messages/forward',
  qos0Received: 'messages/qos0/received',
  qos0Sent: 'messages/qos0/sent',
  qos1Received: 'messages/qos1/received',
  qos1Sent: 'messages/qos1/sent',
  qos2Received: 'messages/qos2/received',
  qos2Sent: 'messages/qos2/sent',
  qos2Expired: 'messages/qos2/expired',
  qos2Dropped: 'messages/qos2/dropped',
} as const;
export type MetricName = keyof typeof metricTable;
export type MetricKey = (typeof metricTable)[MetricName];

export const metricKeys: readonly MetricKey[] = Object.values(metricTable);

/** Places in the array. */
export const Metric: { readonly [N in MetricName]: number } = Object.fromEntries(
  Object.keys(metricTable).map((name, index) => [name, index]),
) as { [N in MetricName]: number };

export class Metrics {
  /** Doubles: exact to 2^53, and an addition to them needs no conversion. */
  readonly counts: Float64Array = new Float64Array(metricKeys.length);

  add(index: number, by = 1): void {
    this.counts[index] = (this.counts[index] ?? 0) + by;
  }

  /** One message that came in or went out, by its QoS (the three keys lie two apart). */
  received(qos: number): void {
    this.add(Metric.messagesReceived);
    this.add(Metric.qos0Received + 2 * qos);
  }

  sent(qos: number): void {
    this.add(Metric.messagesSent);
    this.add(Metric.qos0Sent + 2 * qos);
  }

  get(key: MetricKey): number {
    return this.counts[metricKeys.indexOf(key)] ?? 0;
  }

  snapshot(): Record<MetricKey, number> {
    return Object.fromEntries(metricKeys.map((key, i) => [key, this.counts[i] ?? 0])) as Record<
      MetricKey,
      number
    >;
  }
}
