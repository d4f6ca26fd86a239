// Which key of the platform interface stands under which name for Prometheus. Law: names and labels are
// kept; dashboards and alerts of users are built on them. A new key gets a row here, and one row only.
//
// The interface also has sums of its own keys (`packets/received`): in Prometheus those are the sum over
// a label, and a sample of their own would be counted twice there.

import type { Labels } from './prometheus-text.ts';

export interface CounterRow {
  readonly name: string;
  readonly help: string;
  /** Label and the keys of the interface by its values; '' for no label. */
  readonly label: string;
  readonly keys: Readonly<Record<string, string>>;
}

function one(name: string, key: string, help: string): CounterRow {
  return { name, help, label: '', keys: { '': key } };
}

export const counterRows: readonly CounterRow[] = [
  one('broker_bytes_received_total', 'bytes/received', 'Bytes of MQTT packets received.'),
  one('broker_bytes_sent_total', 'bytes/sent', 'Bytes of MQTT packets sent.'),
  {
    name: 'broker_packets_received_total',
    help: 'MQTT packets received, by type; AUTH packets are counted by broker_packets_auth_total.',
    label: 'type',
    keys: {
      connect: 'packets/connect',
      publish: 'packets/publish/received',
      puback: 'packets/puback/received',
      pubrec: 'packets/pubrec/received',
      pubrel: 'packets/pubrel/received',
      pubcomp: 'packets/pubcomp/received',
      subscribe: 'packets/subscribe',
      unsubscribe: 'packets/unsubscribe',
      pingreq: 'packets/pingreq',
      disconnect: 'packets/disconnect/received',
    },
  },
  {
    name: 'broker_packets_sent_total',
    help: 'MQTT packets sent, by type; AUTH packets are counted by broker_packets_auth_total.',
    label: 'type',
    keys: {
      connack: 'packets/connack',
      publish: 'packets/publish/sent',
      puback: 'packets/puback/sent',
      pubrec: 'packets/pubrec/sent',
      pubrel: 'packets/pubrel/sent',
      pubcomp: 'packets/pubcomp/sent',
      suback: 'packets/suback',
      unsuback: 'packets/unsuback',
      pingresp: 'packets/pingresp',
      disconnect: 'packets/disconnect/sent',
    },
  },
  {
    name: 'broker_packets_missed_total',
    help: 'Acknowledgements received for packet ids that nothing was sent with, by type.',
    label: 'type',
    keys: {
      puback: 'packets/puback/missed',
      pubrec: 'packets/pubrec/missed',
      pubrel: 'packets/pubrel/missed',
      pubcomp: 'packets/pubcomp/missed',
    },
  },
  one('broker_packets_auth_total', 'packets/auth', 'AUTH packets of MQTT 5, received and sent.'),
  {
    name: 'broker_messages_received_total',
    help: 'Messages received from clients, by QoS.',
    label: 'qos',
    keys: {
      0: 'messages/qos0/received',
      1: 'messages/qos1/received',
      2: 'messages/qos2/received',
    },
  },
  {
    name: 'broker_messages_sent_total',
    help: 'Messages sent to clients, by QoS.',
    label: 'qos',
    keys: { 0: 'messages/qos0/sent', 1: 'messages/qos1/sent', 2: 'messages/qos2/sent' },
  },
  one(
    'broker_messages_dropped_total',
    'messages/dropped',
    'Messages that a receiver did not get, or that had no receiver.',
  ),
  one('broker_messages_expired_total', 'messages/expired', 'Messages dropped for their age.'),
  one('broker_messages_forwarded_total', 'messages/forward', 'Messages handed on to other nodes.'),
  one(
    'broker_messages_qos2_expired_total',
    'messages/qos2/expired',
    'QoS 2 messages whose PUBREL did not come in time.',
  ),
  one(
    'broker_messages_qos2_dropped_total',
    'messages/qos2/dropped',
    'QoS 2 messages refused because too many waited for their PUBREL.',
  ),
  one('broker_overload_episodes_total', 'overload/episodes', 'Times the node was overloaded.'),
  one('broker_overload_paused_total', 'overload/paused', 'Publishers paused for overload.'),
  one('broker_overload_refused_total', 'overload/refused', 'Connections refused for overload.'),
];

/** Keys of the interface that other samples tell, and how. */
export const toldElsewhere: Readonly<Record<string, string>> = {
  'packets/received': 'sum(broker_packets_received_total)',
  'packets/sent': 'sum(broker_packets_sent_total)',
  'messages/received': 'sum(broker_messages_received_total)',
  'messages/sent': 'sum(broker_messages_sent_total)',
  'messages/retained': 'broker_retained_messages',
};

export interface GaugeRow {
  readonly name: string;
  /** Of the stats: `<key>/count` is this gauge, `<key>/max` the same with `_max`. */
  readonly key: string;
  readonly help: string;
}

export const gaugeRows: readonly GaugeRow[] = [
  { name: 'broker_connections', key: 'connections', help: 'Clients connected' },
  { name: 'broker_sessions', key: 'sessions', help: 'Sessions, connected or not' },
  {
    name: 'broker_sessions_persistent',
    key: 'sessions/persistent',
    help: 'Sessions that outlive their connection',
  },
  { name: 'broker_subscriptions', key: 'subscriptions', help: 'Subscriptions' },
  {
    name: 'broker_subscriptions_shared',
    key: 'subscriptions/shared',
    help: 'Shared subscriptions',
  },
  { name: 'broker_subscribers', key: 'subscribers', help: 'Receivers that filters have' },
  {
    name: 'broker_topics',
    key: 'topics',
    help: 'Different filters that somebody has subscribed to',
  },
  { name: 'broker_routes', key: 'routes', help: 'Routes from filters to nodes' },
  { name: 'broker_retained_messages', key: 'retained', help: 'Retained messages' },
];

export function labelsOf(label: string, value: string): Labels {
  return label === '' ? {} : { [label]: value };
}
