// The properties of MQTT 5.0: number on the wire, name in our words, type, and the packets that may
// carry it. `properties.ts` reads and writes by this table alone.

import { type PacketType, type Properties, packetTypes } from './packet.ts';
import { Reason } from './reason-codes.ts';

/** Where a property stands: in a packet, or in the will inside a CONNECT. */
export type PropertyOwner = PacketType | 'will';

/** `bit` is a byte 0 or 1 kept as a number, `flag` one kept as a boolean; the last two may repeat. */
export type PropertyKind =
  | 'bit'
  | 'flag'
  | 'uint16'
  | 'uint32'
  | 'text'
  | 'binary'
  | 'varints'
  | 'pairs';

export interface PropertyRow {
  readonly id: number;
  readonly name: keyof Properties;
  readonly kind: PropertyKind;
  readonly owners: readonly PropertyOwner[];
  /** The reason code that refuses a value of 0, where the standard does not allow it. */
  readonly zero?: number;
}

// biome-ignore format: a table reads best as one row a line
export const propertyTable: readonly PropertyRow[] = [
  { id: 0x01, name: 'payloadFormat', kind: 'bit', owners: ['publish', 'will'] },
  { id: 0x02, name: 'messageExpirySeconds', kind: 'uint32', owners: ['publish', 'will'] },
  { id: 0x03, name: 'contentType', kind: 'text', owners: ['publish', 'will'] },
  { id: 0x08, name: 'responseTopic', kind: 'text', owners: ['publish', 'will'] },
  { id: 0x09, name: 'correlationData', kind: 'binary', owners: ['publish', 'will'] },
  { id: 0x0b, name: 'subscriptionIds', kind: 'varints', owners: ['publish', 'subscribe'], zero: Reason.protocolError },
  { id: 0x11, name: 'sessionExpirySeconds', kind: 'uint32', owners: ['connect', 'connack', 'disconnect'] },
  { id: 0x12, name: 'assignedClientId', kind: 'text', owners: ['connack'] },
  { id: 0x13, name: 'serverKeepaliveSeconds', kind: 'uint16', owners: ['connack'] },
  { id: 0x15, name: 'authMethod', kind: 'text', owners: ['connect', 'connack', 'auth'] },
  { id: 0x16, name: 'authData', kind: 'binary', owners: ['connect', 'connack', 'auth'] },
  { id: 0x17, name: 'requestProblemInfo', kind: 'flag', owners: ['connect'] },
  { id: 0x18, name: 'willDelaySeconds', kind: 'uint32', owners: ['will'] },
  { id: 0x19, name: 'requestResponseInfo', kind: 'flag', owners: ['connect'] },
  { id: 0x1a, name: 'responseInfo', kind: 'text', owners: ['connack'] },
  { id: 0x1c, name: 'serverReference', kind: 'text', owners: ['connack', 'disconnect'] },
  { id: 0x1f, name: 'reasonString', kind: 'text', owners: ['connack', 'puback', 'pubrec', 'pubrel', 'pubcomp', 'suback', 'unsuback', 'disconnect', 'auth'] },
  { id: 0x21, name: 'receiveMaximum', kind: 'uint16', owners: ['connect', 'connack'], zero: Reason.protocolError },
  { id: 0x22, name: 'topicAliasMaximum', kind: 'uint16', owners: ['connect', 'connack'] },
  { id: 0x23, name: 'topicAlias', kind: 'uint16', owners: ['publish'], zero: Reason.topicAliasInvalid }, // [MQTT-3.3.2-8]
  { id: 0x24, name: 'maximumQos', kind: 'bit', owners: ['connack'] },
  { id: 0x25, name: 'retainAvailable', kind: 'flag', owners: ['connack'] },
  { id: 0x26, name: 'userProperties', kind: 'pairs', owners: ['connect', 'connack', 'publish', 'will', 'puback', 'pubrec', 'pubrel', 'pubcomp', 'subscribe', 'suback', 'unsubscribe', 'unsuback', 'disconnect', 'auth'] },
  { id: 0x27, name: 'maximumPacketSize', kind: 'uint32', owners: ['connect', 'connack'], zero: Reason.protocolError },
  { id: 0x28, name: 'wildcardAvailable', kind: 'flag', owners: ['connack'] },
  { id: 0x29, name: 'subscriptionIdAvailable', kind: 'flag', owners: ['connack'] },
  { id: 0x2a, name: 'sharedAvailable', kind: 'flag', owners: ['connack'] },
];

/** What each owner may carry, by name. */
export const rowsOf: Readonly<Record<PropertyOwner, ReadonlyMap<string, PropertyRow>>> = (() => {
  const rows = { will: rowsWith('will') } as Record<PropertyOwner, Map<string, PropertyRow>>;
  for (const type of Object.keys(packetTypes) as PacketType[]) rows[type] = rowsWith(type);
  return rows;
})();

const rowById: ReadonlyMap<number, PropertyRow> = new Map(
  propertyTable.map((row) => [row.id, row]),
);

export function propertyById(id: number): PropertyRow | undefined {
  return rowById.get(id);
}

function rowsWith(owner: PropertyOwner): Map<string, PropertyRow> {
  const rows = propertyTable.filter((row) => row.owners.includes(owner));
  return new Map(rows.map((row) => [row.name, row]));
}
