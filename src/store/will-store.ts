// Wills in the engine, by client id. A will is written while its client is connected and cannot be
// taken back by anybody who waits, so every write here is a lasting one.

import { PacketReader } from '#wire/packet-reader';
import type { Properties, QoS } from '#wire/packet';
import { propertiesSize, takeProperties, writeProperties } from '#wire/properties';
import { ProtocolError } from '#wire/protocol-error';
import { varintSize } from '#wire/varint';
import type { Publisher } from '#core/message';
import type { StoredWill, WillStore } from '#core/store-port';
import { Table } from './table.ts';
import type { Journal } from './journal.ts';
import { shortKey, numberMax } from './keys.ts';
import { RecordReader, RecordWriter } from './record-bytes.ts';
import { StoreDamaged } from './store-damaged.ts';

const format = 1;
/** Stands for "while the client is connected". */
const notDue = numberMax;
const lowestKey: Buffer = Buffer.of(0);

const record = new RecordWriter();

export class WillTable implements WillStore {
  readonly #journal: Journal;

  constructor(journal: Journal) {
    this.#journal = journal;
  }

  put(clientId: string, will: StoredWill): void {
    this.#journal.open.put(Table.wills, shortKey(clientId), willRecord(clientId, will), true);
  }

  delete(clientId: string): void {
    this.#journal.open.remove(Table.wills, shortKey(clientId), true);
  }

  sent(clientId: string): void {
    this.#journal.open.remove(Table.wills, shortKey(clientId));
  }

  all(
    isWanted: (clientId: string) => boolean = () => true,
  ): (readonly [clientId: string, will: StoredWill])[] {
    const wills: (readonly [string, StoredWill])[] = [];
    const { engine } = this.#journal;
    engine.renew();
    engine.range(Table.wills, lowestKey, undefined, (_, value) => {
      if (isWanted(clientIdOf(value))) wills.push(readWill(value));
      return true;
    });
    return wills;
  }
}

/** Format and flags stand before it. */
function clientIdOf(bytes: Buffer): string {
  return new RecordReader(bytes, 2).text();
}

function willRecord(clientId: string, will: StoredWill): Buffer {
  const { from } = will;
  record
    .start()
    .u8(format)
    .u8(will.qos | (will.retain ? 4 : 0))
    .text(clientId)
    .text(will.topic)
    .bytes(will.payload)
    .bytes(propertiesBytes(will.properties))
    .u48(will.delaySeconds)
    .u48(will.dueAtMs ?? notDue)
    .text(from.clientId)
    .text(from.username)
    .text(from.address)
    .u16(from.port);
  // What rights are asked with stands behind the rest: older records end here.
  if (from.zone !== undefined) {
    record.text(from.isSuperuser === true ? undefined : from.zone).text(from.mountpoint ?? '');
  }
  return record.done();
}

function readWill(bytes: Buffer): readonly [clientId: string, will: StoredWill] {
  const reader = new RecordReader(bytes);
  const found = reader.u8();
  if (found !== format) {
    throw new StoreDamaged(`Cannot read a will: its format is ${found}, known is ${format}`);
  }
  const flags = reader.u8();
  if (flags > 7 || (flags & 3) === 3) throw new StoreDamaged(`Cannot read a will: flags ${flags}`);
  const clientId = reader.text();
  const topic = reader.text();
  const payload = reader.blob();
  const properties = readWillProperties(reader.blob());
  const delaySeconds = reader.u48();
  const dueAtMs = reader.u48();
  const will: StoredWill = {
    topic,
    payload,
    qos: (flags & 3) as QoS,
    retain: (flags & 4) !== 0,
    properties,
    from: {
      clientId: reader.text(),
      username: reader.maybeText(),
      address: reader.text(),
      port: reader.u16(),
      ...(reader.at < bytes.length && readOrigin(reader)),
    },
    delaySeconds,
    dueAtMs: dueAtMs === notDue ? undefined : dueAtMs,
  };
  return [clientId, will];
}

/** Nobody asks for the rights of a superuser. */
function readOrigin(reader: RecordReader): Pick<Publisher, 'zone' | 'mountpoint'> {
  const zone = reader.maybeText();
  return { ...(zone !== undefined && { zone }), mountpoint: reader.text() };
}

function propertiesBytes(properties: Properties): Buffer {
  const size = propertiesSize(properties, 'will');
  const bytes = Buffer.allocUnsafe(varintSize(size) + size);
  writeProperties(bytes, 0, properties, 'will', size);
  return bytes;
}

function readWillProperties(bytes: Buffer): Properties {
  const reader = new PacketReader(bytes, 0, bytes.length);
  try {
    const properties = takeProperties(reader, 'will');
    reader.finish();
    return properties;
  } catch (cause) {
    if (!(cause instanceof ProtocolError)) throw cause;
    throw new StoreDamaged(`Cannot read the properties of a will: ${cause.message}`, { cause });
  }
}
