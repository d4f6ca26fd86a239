// The properties of MQTT 5.0, read, sized and written by `property-table.ts`. Reading is strict:
// unknown, misplaced, repeated and out-of-range properties are refused. Writing keeps the order of
// the object's keys (so that few properties cost little) and leaves out what the packet cannot carry
// (so that a will's properties can serve as those of the PUBLISH it becomes).

import type { Properties } from './packet.ts';
import { PacketReader } from './packet-reader.ts';
import { binarySize, writeBinary } from './packet-writer.ts';
import {
  type PropertyKind,
  type PropertyOwner,
  type PropertyRow,
  propertyById,
  rowsOf,
} from './property-table.ts';
import { ProtocolError } from './protocol-error.ts';
import { Reason } from './reason-codes.ts';
import { utf8Size, writeUtf8 } from './utf8.ts';
import { varintSize, writeVarint } from './varint.ts';

/** A property of any kind: the table says which kind belongs to which name. */
type Values = Record<string, Properties[keyof Properties]>;

/** Reads property length and properties from where the reader stands. */
export function takeProperties(reader: PacketReader, owner: PropertyOwner): Properties {
  const length = reader.varint();
  if (length > reader.left) {
    throw new ProtocolError(
      Reason.malformedPacket,
      `Cannot read properties of ${owner}: ${length} bytes announced, ${reader.left} left`,
    );
  }
  const start = reader.at;
  reader.at = start + length;
  return readProperties(reader.bytes, start, start + length, owner);
}

/** The properties in `bytes[at..end)`, which is the block after the property length. */
export function readProperties(
  bytes: Buffer,
  at: number,
  end: number,
  owner: PropertyOwner,
): Properties {
  const properties: Properties = {};
  if (at === end) return properties;
  const reader = new PacketReader(bytes, at, end);
  while (reader.left > 0) {
    const id = reader.varint();
    const row = propertyById(id);
    if (row === undefined) {
      throw new ProtocolError(Reason.malformedPacket, `Cannot read property ${id}: unknown`);
    }
    if (!row.owners.includes(owner)) throw refused(row, `not allowed in ${owner}`);
    readValue(reader, row, properties, owner);
  }
  if (properties.authData !== undefined && properties.authMethod === undefined) {
    throw new ProtocolError(
      Reason.protocolError,
      `Cannot read properties of ${owner}: authData without authMethod`,
    );
  }
  return properties;
}

function readValue(
  reader: PacketReader,
  row: PropertyRow,
  properties: Properties,
  owner: PropertyOwner,
): void {
  if (row.kind === 'pairs') {
    properties.userProperties ??= [];
    // [MQTT-1.5.7-1] Both halves are strings like all others.
    properties.userProperties.push([reader.text(), reader.text()]);
    return;
  }
  const values = properties as Values;
  // A PUBLISH names every subscription it goes to; everything else may stand once only.
  if (values[row.name] !== undefined && !(row.kind === 'varints' && owner === 'publish')) {
    throw refused(row, 'more than once');
  }
  if (row.kind === 'varints') {
    properties.subscriptionIds ??= [];
    properties.subscriptionIds.push(readNumber(reader, row));
  } else if (row.kind === 'text') {
    values[row.name] = reader.text();
  } else if (row.kind === 'binary') {
    values[row.name] = reader.binary();
  } else {
    const value = readNumber(reader, row);
    values[row.name] = row.kind === 'flag' ? value === 1 : value;
  }
}

function readNumber(reader: PacketReader, row: PropertyRow): number {
  let value: number;
  if (row.kind === 'uint16') value = reader.uint16();
  else if (row.kind === 'uint32') value = reader.uint32();
  else if (row.kind === 'varints') value = reader.varint();
  else {
    value = reader.byte();
    if (value > 1) throw refused(row, `${value} is neither 0 nor 1`);
  }
  if (value === 0 && row.zero !== undefined) throw refused(row, '0 is not allowed', row.zero);
  return value;
}

function refused(
  row: PropertyRow,
  why: string,
  code: number = Reason.protocolError,
): ProtocolError {
  return new ProtocolError(code, `Cannot read property ${row.name}: ${why}`);
}

/** Bytes of the block after the property length. */
export function propertiesSize(properties: Properties, owner: PropertyOwner): number {
  const values = properties as Values;
  let size = 0;
  for (const name in values) {
    const value = values[name];
    const row = rowsOf[owner].get(name);
    if (value !== undefined && row !== undefined) size += valueSize(row.kind, value);
  }
  return size;
}

/**
 * Writes property length and properties; answers where the next byte goes. `size` is what
 * `propertiesSize` said. [MQTT-2.2.2-1] No properties are a length of zero, never nothing.
 */
export function writeProperties(
  bytes: Buffer,
  at: number,
  properties: Properties,
  owner: PropertyOwner,
  size: number,
): number {
  at = writeVarint(bytes, at, size);
  if (size === 0) return at;
  const values = properties as Values;
  for (const name in values) {
    const value = values[name];
    const row = rowsOf[owner].get(name);
    if (value !== undefined && row !== undefined) at = writeValue(bytes, at, row, value);
  }
  return at;
}

type Value = NonNullable<Properties[keyof Properties]>;

/** Size with the id, which is one byte for every property there is. */
function valueSize(kind: PropertyKind, value: Value): number {
  switch (kind) {
    case 'bit':
    case 'flag':
      return 2;
    case 'uint16':
      return 3;
    case 'uint32':
      return 5;
    case 'text':
      return 3 + utf8Size(value as string);
    case 'binary':
      return 3 + binarySize(value as Buffer);
    case 'varints': {
      let size = 0;
      for (const id of value as number[]) size += 1 + varintSize(id);
      return size;
    }
    case 'pairs': {
      let size = 0;
      for (const [name, text] of value as [string, string][]) {
        size += 5 + utf8Size(name) + utf8Size(text);
      }
      return size;
    }
  }
}

function writeValue(bytes: Buffer, at: number, row: PropertyRow, value: Value): number {
  switch (row.kind) {
    case 'varints':
      for (const id of value as number[]) {
        bytes[at] = row.id;
        at = writeVarint(bytes, at + 1, id);
      }
      return at;
    case 'pairs':
      for (const [name, text] of value as [string, string][]) {
        bytes[at] = row.id;
        at = writeUtf8(bytes, at + 1, name, utf8Size(name));
        at = writeUtf8(bytes, at, text, utf8Size(text));
      }
      return at;
    default:
      bytes[at] = row.id;
      return writeSingle(bytes, at + 1, row.kind, value);
  }
}

function writeSingle(
  bytes: Buffer,
  at: number,
  kind: Exclude<PropertyKind, 'varints' | 'pairs'>,
  value: Value,
): number {
  switch (kind) {
    case 'bit':
      return bytes.writeUInt8(value as number, at);
    case 'flag':
      return bytes.writeUInt8(value === true ? 1 : 0, at);
    case 'uint16':
      return bytes.writeUInt16BE(value as number, at);
    case 'uint32':
      return bytes.writeUInt32BE(value as number, at);
    case 'text':
      return writeUtf8(bytes, at, value as string, utf8Size(value as string));
    case 'binary':
      return writeBinary(bytes, at, value as Buffer);
  }
}
