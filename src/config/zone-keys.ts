// zone.<name>.*: the rules for the clients of one group of listeners. Looked up in this order: the
// key of the zone, the key of the whole broker that it overrides, what holds when it is absent.

import { accessKeys } from './access-keys.ts';
import { countPerDuration, topicPriorities } from './compound-type.ts';
import { type KeysOf, key, optionalKey, overriding } from './key.ts';
import { mqttKeys } from './mqtt-keys.ts';
import type { ZoneSettings } from './settings.ts';
import {
  byteSize,
  decimalAbove,
  durationMs,
  durationSeconds,
  flag,
  int,
  oneOf,
  text,
  truth,
} from './value-type.ts';

const both = (value: string): Record<string, string> => ({ external: value, internal: value });
const external = (value: string): Record<string, string> => ({ external: value });

export const zoneKeys: KeysOf<Omit<ZoneSettings, 'name'>> = {
  idleTimeoutMs: key('zone.$.idle_timeout', durationMs(1), '15s', {
    shipped: external('15s'),
    text: 'A connection ends when its CONNECT has not arrived after this time.',
  }),
  publishLimit: optionalKey('zone.$.publish_limit', countPerDuration, {
    sample: '10,1m',
    text: 'Most messages that one client may publish in a time; reading from it pauses when it does more.',
  }),
  allowAnonymous: overriding('zone.$.allow_anonymous', accessKeys.allowAnonymous, {
    sample: 'true',
    shipped: { internal: 'true' },
  }),
  aclNomatch: overriding('zone.$.acl_nomatch', accessKeys.aclNomatch, { sample: 'deny' }),
  aclDenyAction: overriding('zone.$.acl_deny_action', accessKeys.aclDenyAction, {
    sample: 'ignore',
  }),
  // The closed answer when absent: a zone of one's own must not be without access rules by a
  // forgotten line.
  enableAcl: key('zone.$.enable_acl', flag, 'on', {
    shipped: { external: 'on', internal: 'off' },
    text: 'Whether publishes and subscribes are checked against the access rules.',
  }),
  enableBan: key('zone.$.enable_ban', flag, 'off', {
    shipped: external('on'),
    text: 'Whether banned clients are refused, and ended when their ban comes.',
  }),
  enableFlappingDetect: key('zone.$.enable_flapping_detect', flag, 'off', {
    shipped: external('off'),
    text:
      'Whether clients that connect and disconnect too often are banned by their client id. Wants ' +
      'enable_ban. Connects that are refused do not count.',
  }),
  flappingThreshold: key('zone.$.flapping_threshold', countPerDuration, '10,1m', {
    shipped: external('10, 1m'),
    text:
      'Most connects and disconnects of one client id in a time, each counted as one. The time begins ' +
      'with the first of them.',
  }),
  flappingBanSeconds: key(
    'zone.$.flapping_banned_expiry_interval',
    durationSeconds(1, 315_360_000),
    '1h',
    { shipped: external('1h'), text: 'How long a client is banned that does more.' },
  ),
  maxPacketBytes: overriding('zone.$.max_packet_size', mqttKeys.maxPacketBytes, { sample: '64KB' }),
  maxClientIdBytes: overriding('zone.$.max_clientid_len', mqttKeys.maxClientIdBytes, {
    sample: '1024',
  }),
  maxTopicLevels: overriding('zone.$.max_topic_levels', mqttKeys.maxTopicLevels, { sample: '7' }),
  maxQosAllowed: overriding('zone.$.max_qos_allowed', mqttKeys.maxQosAllowed, { sample: '2' }),
  maxTopicAlias: overriding('zone.$.max_topic_alias', mqttKeys.maxTopicAlias, { sample: '16' }),
  retainAvailable: overriding('zone.$.retain_available', mqttKeys.retainAvailable, {
    sample: 'false',
  }),
  wildcardSubscription: overriding('zone.$.wildcard_subscription', mqttKeys.wildcardSubscription, {
    sample: 'false',
  }),
  sharedSubscription: overriding('zone.$.shared_subscription', mqttKeys.sharedSubscription, {
    sample: 'false',
  }),
  ignoreLoopDeliver: overriding('zone.$.ignore_loop_deliver', mqttKeys.ignoreLoopDeliver, {
    sample: 'true',
  }),
  serverKeepaliveSeconds: optionalKey('zone.$.server_keepalive', durationSeconds(1, 65_535), {
    sample: '60',
    text: 'Longest keepalive that an MQTT 5 client may ask for; a longer one is replaced by it.',
  }),
  keepaliveBackoff: key('zone.$.keepalive_backoff', decimalAbove(0.5, 10), '0.75', {
    shipped: external('0.75'),
    text: 'A connection ends after keepalive × backoff × 2 without a packet.',
  }),
  maxSubscriptions: key('zone.$.max_subscriptions', int(0), '0', {
    shipped: both('0'),
    text: 'Most subscriptions of one client. 0: no limit.',
  }),
  upgradeQos: key('zone.$.upgrade_qos', flag, 'off', {
    shipped: external('off'),
    text:
      'Whether a message is delivered with the QoS of the subscription when that is higher than ' +
      'the one it was published with.',
  }),
  maxInflight: key('zone.$.max_inflight', int(0, 65_535), '0', {
    shipped: both('32'),
    text:
      'Most QoS 1 and 2 messages sent to a client before MQTT 5 and not yet acknowledged. 0: no limit ' +
      "but the protocol's 65535. A client of MQTT 5 says it itself, by its Receive Maximum.",
  }),
  retryIntervalMs: key('zone.$.retry_interval', durationMs(), '20s', {
    shipped: external('20s'),
    text: 'An unacknowledged message is sent again to an MQTT 3 client after this time. 0: only when it reconnects.',
  }),
  receiveMaximum: optionalKey('zone.$.receive_maximum', int(1, 65_535), {
    sample: '100',
    text:
      'Most QoS 1 and 2 messages of an MQTT 5 client that the broker has not acknowledged; ' +
      'announced to the client. One more ends the connection.',
  }),
  maxAwaitingRel: key('zone.$.max_awaiting_rel', int(0, 65_535), '0', {
    shipped: both('100'),
    text: 'Most QoS 2 messages of a client whose PUBREL has not come yet. 0: no limit.',
  }),
  awaitRelTimeoutMs: key('zone.$.await_rel_timeout', durationMs(1), '300s', {
    shipped: external('300s'),
    text: 'A QoS 2 message whose PUBREL has not come after this time is forgotten.',
  }),
  sessionExpirySeconds: key(
    'zone.$.session_expiry_interval',
    durationSeconds(0, 4_294_967_295),
    '2h',
    {
      shipped: external('2h'),
      text: 'How long the session of an MQTT 3 client without clean session outlives its connection.',
    },
  ),
  sessionDurability: key('zone.$.session_durability', oneOf('sync', 'async', 'memory'), 'sync', {
    shipped: both('sync'),
    text:
      'What an acknowledgement means for the messages and subscriptions of sessions that outlive ' +
      'their connection. sync: they are on disk, flushed. async: they are written soon, and a crash ' +
      'may lose the last moments. memory: they end with the process.',
  }),
  maxMqueueLen: key('zone.$.max_mqueue_len', int(0), '1000', {
    shipped: both('1000'),
    text: 'Most messages that wait for one client, for each priority; over it the oldest goes. 0: no limit.',
  }),
  mqueuePriorities: key('zone.$.mqueue_priorities', topicPriorities, 'none', {
    shipped: external('none'),
    text: 'Topics whose waiting messages go first, the highest priority before the others.',
  }),
  mqueueDefaultPriority: key(
    'zone.$.mqueue_default_priority',
    oneOf('highest', 'lowest'),
    'lowest',
    {
      shipped: external('highest'),
      text: 'Priority of the topics that mqueue_priorities does not name.',
    },
  ),
  mqueueStoreQos0: key('zone.$.mqueue_store_qos0', truth, 'true', {
    shipped: both('true'),
    text: 'Whether QoS 0 messages wait as well for a client that is away or slow.',
  }),
  mountpoint: optionalKey('zone.$.mountpoint', text('the beginning of a topic'), {
    sample: 'devices/%c/',
    text:
      'Put before every topic and filter of the clients, and taken off again before they see it. ' +
      '%c is the client id, %u the username.',
  }),
  useUsernameAsClientId: key('zone.$.use_username_as_clientid', truth, 'false', {
    shipped: both('false'),
    text: 'Whether the username, where there is one, takes the place of the client id.',
  }),
  maxOutboxBytes: key('zone.$.max_outbox_bytes', byteSize(1024, 2 ** 30), '4MB', {
    shipped: both('4MB'),
    text: 'Most bytes that wait for the socket of one client. Over it, its QoS 0 messages are dropped.',
  }),
  responseInformation: optionalKey(
    'zone.$.response_information',
    text('the beginning of a topic'),
    {
      sample: 'replies/%c/',
      text: 'Sent as Response Information to MQTT 5 clients that ask for it. %c is the client id, %u the username.',
    },
  ),
  serverReference: optionalKey('zone.$.server_reference', text('<host>:<port> of another server'), {
    sample: 'other.example.org:1883',
    text: 'Told to MQTT 5 clients as Server Reference when the broker shuts down.',
  }),
};
