// Every reason code of MQTT 5.0, once: number, text of the standard, word for counters and logs, and
// the packets that may carry it. The wire, the logs and the refusals all read this table. Law: the
// word is the name in snake case. Three names share 0x00; the packet tells them apart.

import { type PacketType, packetTypes } from './packet.ts';

interface ReasonRow {
  readonly code: number;
  readonly text: string;
  readonly word: string;
  readonly packets: readonly PacketType[];
}

// biome-ignore format: a table reads best as one row a line
export const reasonCodes = {
  success: { code: 0x00, text: 'Success', word: 'success', packets: ['connack', 'puback', 'pubrec', 'pubrel', 'pubcomp', 'unsuback', 'auth'] },
  normalDisconnection: { code: 0x00, text: 'Normal disconnection', word: 'normal_disconnection', packets: ['disconnect'] },
  grantedQos0: { code: 0x00, text: 'Granted QoS 0', word: 'granted_qos0', packets: ['suback'] },
  grantedQos1: { code: 0x01, text: 'Granted QoS 1', word: 'granted_qos1', packets: ['suback'] },
  grantedQos2: { code: 0x02, text: 'Granted QoS 2', word: 'granted_qos2', packets: ['suback'] },
  disconnectWithWillMessage: { code: 0x04, text: 'Disconnect with Will Message', word: 'disconnect_with_will_message', packets: ['disconnect'] },
  noMatchingSubscribers: { code: 0x10, text: 'No matching subscribers', word: 'no_matching_subscribers', packets: ['puback', 'pubrec'] },
  noSubscriptionExisted: { code: 0x11, text: 'No subscription existed', word: 'no_subscription_existed', packets: ['unsuback'] },
  continueAuthentication: { code: 0x18, text: 'Continue authentication', word: 'continue_authentication', packets: ['auth'] },
  reAuthenticate: { code: 0x19, text: 'Re-authenticate', word: 're_authenticate', packets: ['auth'] },
  unspecifiedError: { code: 0x80, text: 'Unspecified error', word: 'unspecified_error', packets: ['connack', 'puback', 'pubrec', 'suback', 'unsuback', 'disconnect'] },
  malformedPacket: { code: 0x81, text: 'Malformed Packet', word: 'malformed_packet', packets: ['connack', 'disconnect'] },
  protocolError: { code: 0x82, text: 'Protocol Error', word: 'protocol_error', packets: ['connack', 'disconnect'] },
  implementationSpecificError: { code: 0x83, text: 'Implementation specific error', word: 'implementation_specific_error', packets: ['connack', 'puback', 'pubrec', 'suback', 'unsuback', 'disconnect'] },
  unsupportedProtocolVersion: { code: 0x84, text: 'Unsupported Protocol Version', word: 'unsupported_protocol_version', packets: ['connack'] },
  clientIdentifierNotValid: { code: 0x85, text: 'Client Identifier not valid', word: 'client_identifier_not_valid', packets: ['connack'] },
  badUsernameOrPassword: { code: 0x86, text: 'Bad User Name or Password', word: 'bad_username_or_password', packets: ['connack'] },
  notAuthorized: { code: 0x87, text: 'Not authorized', word: 'not_authorized', packets: ['connack', 'puback', 'pubrec', 'suback', 'unsuback', 'disconnect'] },
  serverUnavailable: { code: 0x88, text: 'Server unavailable', word: 'server_unavailable', packets: ['connack'] },
  serverBusy: { code: 0x89, text: 'Server busy', word: 'server_busy', packets: ['connack', 'disconnect'] },
  banned: { code: 0x8a, text: 'Banned', word: 'banned', packets: ['connack'] },
  serverShuttingDown: { code: 0x8b, text: 'Server shutting down', word: 'server_shutting_down', packets: ['disconnect'] },
  badAuthenticationMethod: { code: 0x8c, text: 'Bad authentication method', word: 'bad_authentication_method', packets: ['connack', 'disconnect'] },
  keepaliveTimeout: { code: 0x8d, text: 'Keep Alive timeout', word: 'keepalive_timeout', packets: ['disconnect'] },
  sessionTakenOver: { code: 0x8e, text: 'Session taken over', word: 'session_taken_over', packets: ['disconnect'] },
  topicFilterInvalid: { code: 0x8f, text: 'Topic Filter invalid', word: 'topic_filter_invalid', packets: ['suback', 'unsuback', 'disconnect'] },
  topicNameInvalid: { code: 0x90, text: 'Topic Name invalid', word: 'topic_name_invalid', packets: ['connack', 'puback', 'pubrec', 'disconnect'] },
  packetIdentifierInUse: { code: 0x91, text: 'Packet Identifier in use', word: 'packet_identifier_in_use', packets: ['puback', 'pubrec', 'suback', 'unsuback'] },
  packetIdentifierNotFound: { code: 0x92, text: 'Packet Identifier not found', word: 'packet_identifier_not_found', packets: ['pubrel', 'pubcomp'] },
  receiveMaximumExceeded: { code: 0x93, text: 'Receive Maximum exceeded', word: 'receive_maximum_exceeded', packets: ['disconnect'] },
  topicAliasInvalid: { code: 0x94, text: 'Topic Alias invalid', word: 'topic_alias_invalid', packets: ['disconnect'] },
  packetTooLarge: { code: 0x95, text: 'Packet too large', word: 'packet_too_large', packets: ['connack', 'disconnect'] },
  messageRateTooHigh: { code: 0x96, text: 'Message rate too high', word: 'message_rate_too_high', packets: ['disconnect'] },
  quotaExceeded: { code: 0x97, text: 'Quota exceeded', word: 'quota_exceeded', packets: ['connack', 'puback', 'pubrec', 'suback', 'disconnect'] },
  administrativeAction: { code: 0x98, text: 'Administrative action', word: 'administrative_action', packets: ['disconnect'] },
  payloadFormatInvalid: { code: 0x99, text: 'Payload format invalid', word: 'payload_format_invalid', packets: ['connack', 'puback', 'pubrec', 'disconnect'] },
  retainNotSupported: { code: 0x9a, text: 'Retain not supported', word: 'retain_not_supported', packets: ['connack', 'disconnect'] },
  qosNotSupported: { code: 0x9b, text: 'QoS not supported', word: 'qos_not_supported', packets: ['connack', 'disconnect'] },
  useAnotherServer: { code: 0x9c, text: 'Use another server', word: 'use_another_server', packets: ['connack', 'disconnect'] },
  serverMoved: { code: 0x9d, text: 'Server moved', word: 'server_moved', packets: ['connack', 'disconnect'] },
  sharedSubscriptionsNotSupported: { code: 0x9e, text: 'Shared Subscriptions not supported', word: 'shared_subscriptions_not_supported', packets: ['suback', 'disconnect'] },
  connectionRateExceeded: { code: 0x9f, text: 'Connection rate exceeded', word: 'connection_rate_exceeded', packets: ['connack', 'disconnect'] },
  maximumConnectTime: { code: 0xa0, text: 'Maximum connect time', word: 'maximum_connect_time', packets: ['disconnect'] },
  subscriptionIdentifiersNotSupported: { code: 0xa1, text: 'Subscription Identifiers not supported', word: 'subscription_identifiers_not_supported', packets: ['suback', 'disconnect'] },
  wildcardSubscriptionsNotSupported: { code: 0xa2, text: 'Wildcard Subscriptions not supported', word: 'wildcard_subscriptions_not_supported', packets: ['suback', 'disconnect'] },
} as const;

export type ReasonName = keyof typeof reasonCodes;

const rows: readonly [ReasonName, ReasonRow][] = Object.entries(reasonCodes) as [
  ReasonName,
  ReasonRow,
][];

/** The numbers alone, for use in code: `Reason.notAuthorized`. */
export const Reason: { readonly [N in ReasonName]: (typeof reasonCodes)[N]['code'] } =
  Object.fromEntries(rows.map(([name, row]) => [name, row.code])) as {
    [N in ReasonName]: (typeof reasonCodes)[N]['code'];
  };

/** First row of each number, and for each number a bit per packet type that may carry it. */
const rowOfCode: Map<number, ReasonRow> = new Map();
const carriersOfCode: Uint16Array = new Uint16Array(256);
for (const [, row] of rows) {
  if (!rowOfCode.has(row.code)) rowOfCode.set(row.code, row);
  for (const type of row.packets) {
    carriersOfCode[row.code] = (carriersOfCode[row.code] as number) | (1 << packetTypes[type]);
  }
}

/** The snake_case word of a code. 0x00 is `success` unless the packet that carried it is named. */
export function reasonWord(code: number, type?: PacketType): string {
  return rowFor(code, type)?.word ?? 'unknown_reason';
}

/** The code in the standard's words. 0x00 is `Success` unless the packet that carried it is named. */
export function reasonText(code: number, type?: PacketType): string {
  return rowFor(code, type)?.text ?? 'Unknown reason';
}

/** Whether MQTT 5.0 lets a packet of this type carry this code. */
export function isAllowedReason(type: PacketType, code: number): boolean {
  return (((carriersOfCode[code] ?? 0) >> packetTypes[type]) & 1) === 1;
}

/** The CONNACK return code that tells a 3.1 or 3.1.1 client what this 5.0 reason code says. */
export function connackCodeV3(code5: number): number {
  if (code5 < Reason.unspecifiedError) return 0;
  if (code5 <= Reason.unsupportedProtocolVersion) return 1;
  switch (code5) {
    case Reason.clientIdentifierNotValid:
      return 2;
    case Reason.badUsernameOrPassword:
      return 4;
    case Reason.notAuthorized:
    case Reason.banned:
    case Reason.badAuthenticationMethod:
      return 5;
    default:
      // "Server unavailable": the only code of 3.1.1 that does not blame the client.
      return 3;
  }
}

function rowFor(code: number, type: PacketType | undefined): ReasonRow | undefined {
  if (code === 0 && type === 'disconnect') return reasonCodes.normalDisconnection;
  if (code === 0 && type === 'suback') return reasonCodes.grantedQos0;
  return rowOfCode.get(code);
}
