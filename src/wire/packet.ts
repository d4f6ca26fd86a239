// The fifteen MQTT packets as one union, for all versions. Values only: how they look as bytes is
// decode*.ts and encode*.ts. A field that a version lacks is simply absent (`properties` is empty
// before 5.0, `reasonCode` is 0).

export type ProtocolVersion = 3 | 4 | 5;
export type QoS = 0 | 1 | 2;

/** Packet types by their number on the wire (high nibble of the first byte). */
export const packetTypes = {
  connect: 1,
  connack: 2,
  publish: 3,
  puback: 4,
  pubrec: 5,
  pubrel: 6,
  pubcomp: 7,
  subscribe: 8,
  suback: 9,
  unsubscribe: 10,
  unsuback: 11,
  pingreq: 12,
  pingresp: 13,
  disconnect: 14,
  auth: 15,
} as const;
export type PacketType = keyof typeof packetTypes;

/** Every property of MQTT 5.0 by its domain name; `wire/properties.ts` has the ids and types. */
export interface Properties {
  payloadFormat?: number | undefined;
  messageExpirySeconds?: number | undefined;
  contentType?: string | undefined;
  responseTopic?: string | undefined;
  correlationData?: Buffer | undefined;
  subscriptionIds?: number[] | undefined;
  sessionExpirySeconds?: number | undefined;
  assignedClientId?: string | undefined;
  serverKeepaliveSeconds?: number | undefined;
  authMethod?: string | undefined;
  authData?: Buffer | undefined;
  requestProblemInfo?: boolean | undefined;
  willDelaySeconds?: number | undefined;
  requestResponseInfo?: boolean | undefined;
  responseInfo?: string | undefined;
  serverReference?: string | undefined;
  reasonString?: string | undefined;
  receiveMaximum?: number | undefined;
  topicAliasMaximum?: number | undefined;
  topicAlias?: number | undefined;
  maximumQos?: number | undefined;
  retainAvailable?: boolean | undefined;
  userProperties?: [name: string, value: string][] | undefined;
  maximumPacketSize?: number | undefined;
  wildcardAvailable?: boolean | undefined;
  subscriptionIdAvailable?: boolean | undefined;
  sharedAvailable?: boolean | undefined;
}

export interface Will {
  topic: string;
  payload: Buffer;
  qos: QoS;
  retain: boolean;
  properties: Properties;
}

export interface ConnectPacket {
  type: 'connect';
  version: ProtocolVersion;
  /** The high bit of the version byte, set by bridges of several brokers. */
  isBridge: boolean;
  cleanStart: boolean;
  keepaliveSeconds: number;
  clientId: string;
  username?: string | undefined;
  password?: Buffer | undefined;
  will?: Will | undefined;
  properties: Properties;
}

export interface ConnackPacket {
  type: 'connack';
  sessionPresent: boolean;
  /** The number as it stands on the wire: a v3 return code before 5.0, a reason code in 5.0. */
  reasonCode: number;
  properties: Properties;
}

export interface PublishPacket {
  type: 'publish';
  topic: string;
  payload: Buffer;
  qos: QoS;
  dup: boolean;
  retain: boolean;
  /** 0 for QoS 0, where the packet carries none. */
  packetId: number;
  properties: Properties;
}

export interface AckPacket {
  type: 'puback' | 'pubrec' | 'pubrel' | 'pubcomp';
  packetId: number;
  reasonCode: number;
  properties: Properties;
}

export interface SubscribeFilter {
  filter: string;
  qos: QoS;
  noLocal: boolean;
  retainAsPublished: boolean;
  retainHandling: 0 | 1 | 2;
}

export interface SubscribePacket {
  type: 'subscribe';
  packetId: number;
  filters: SubscribeFilter[];
  properties: Properties;
}

export interface UnsubscribePacket {
  type: 'unsubscribe';
  packetId: number;
  filters: string[];
  properties: Properties;
}

export interface SubackPacket {
  type: 'suback' | 'unsuback';
  packetId: number;
  /** One per filter, in order; a v3 UNSUBACK carries none. */
  reasonCodes: number[];
  properties: Properties;
}

export interface PingPacket {
  type: 'pingreq' | 'pingresp';
}

export interface DisconnectPacket {
  type: 'disconnect';
  reasonCode: number;
  properties: Properties;
}

export interface AuthPacket {
  type: 'auth';
  reasonCode: number;
  properties: Properties;
}

export type Packet =
  | ConnectPacket
  | ConnackPacket
  | PublishPacket
  | AckPacket
  | SubscribePacket
  | SubackPacket
  | UnsubscribePacket
  | PingPacket
  | DisconnectPacket
  | AuthPacket;
