// mqtt.*: limits and abilities of the protocol for all clients. A zone can override each.

import { type Key, type KeysOf, key } from './key.ts';
import type { ZoneSettings } from './settings.ts';
import { byteSize, int, oneOf, truth, type ValueType } from './value-type.ts';

type MqttFields =
  | 'maxPacketBytes'
  | 'maxClientIdBytes'
  | 'maxTopicLevels'
  | 'maxQosAllowed'
  | 'maxTopicAlias'
  | 'retainAvailable'
  | 'wildcardSubscription'
  | 'sharedSubscription'
  | 'ignoreLoopDeliver';

const qosWords = oneOf('0', '1', '2');
const qos: ValueType<0 | 1 | 2> = {
  ...qosWords,
  parse(text) {
    const word = qosWords.parse(text);
    return word === undefined ? undefined : (Number(word) as 0 | 1 | 2);
  },
};

function ability(pattern: string, text: string): Key<boolean> {
  return key(pattern, truth, 'true', { shipped: 'true', text });
}

export const mqttKeys: KeysOf<Pick<ZoneSettings, MqttFields>> = {
  maxPacketBytes: key('mqtt.max_packet_size', byteSize(64, 256 * 1024 ** 2), '1MB', {
    shipped: '1MB',
    text: 'Largest packet that a client may send; announced to MQTT 5 clients. A larger one ends the connection.',
  }),
  maxClientIdBytes: key('mqtt.max_clientid_len', int(1, 65_535), '65535', {
    shipped: '65535',
    text: 'Longest client id, in bytes of UTF-8. The protocol asks for 23 at least.',
  }),
  maxTopicLevels: key('mqtt.max_topic_levels', int(0, 65_535), '0', {
    shipped: '0',
    text: 'Most levels of a topic or filter. 0: no limit.',
  }),
  maxQosAllowed: key('mqtt.max_qos_allowed', qos, '2', {
    shipped: '2',
    text: 'Highest QoS that a client may publish with and that a subscription is granted.',
  }),
  maxTopicAlias: key('mqtt.max_topic_alias', int(0, 65_535), '0', {
    shipped: '0',
    text: 'How many topic aliases an MQTT 5 client may use towards the broker. 0: none.',
  }),
  retainAvailable: ability(
    'mqtt.retain_available',
    'Whether clients may publish retained messages.',
  ),
  wildcardSubscription: ability(
    'mqtt.wildcard_subscription',
    'Whether filters may hold the wildcards + and #.',
  ),
  sharedSubscription: ability(
    'mqtt.shared_subscription',
    'Whether clients may use shared subscriptions ($share/<group>/<filter>, $queue/<filter>).',
  ),
  ignoreLoopDeliver: key('mqtt.ignore_loop_deliver', truth, 'false', {
    shipped: 'false',
    text: 'Whether clients before MQTT 5 get none of their own messages; those of MQTT 5 say so by No Local. Shared subscriptions are not concerned.',
  }),
};
