import assert from 'node:assert/strict';
import test from 'node:test';
import { cases } from './cases.ts';
import { decodePacket } from './decode.ts';
import { encodePublish } from './encode-publish.ts';
import {
  type Properties,
  type ProtocolVersion,
  type PublishPacket,
  packetTypes,
} from './packet.ts';
import { PacketReader } from './packet-reader.ts';
import { readProperties } from './properties.ts';
import { ProtocolError } from './protocol-error.ts';
import { type PublishParts, scanPublish } from './publish-scan.ts';
import { Reason } from './reason-codes.ts';
import { readUtf8 } from './utf8.ts';

interface Read {
  readonly topic: string;
  readonly packetId: number;
  readonly properties: Properties;
  readonly payload: string;
}
type Outcome = Read | { readonly failure: number };

const publishCases = cases.filter(({ bytes }) => (bytes[0] as number) >> 4 === packetTypes.publish);

function outcomeOf(read: () => Read): Outcome {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof ProtocolError)) throw error;
    return { failure: error.reasonCode };
  }
}

/** The packet value, reduced to what the scan finds. */
function decoded(
  header: number,
  bytes: Buffer,
  start: number,
  end: number,
  v: ProtocolVersion,
): Read {
  const packet = decodePacket(header, bytes, start, end, v) as PublishPacket;
  const { topic, packetId, properties, payload } = packet;
  return { topic, packetId, properties, payload: payload.toString('hex') };
}

/** The scan, then each part read as the data path reads it. */
function scanned(
  header: number,
  bytes: Buffer,
  start: number,
  end: number,
  v: ProtocolVersion,
): Read {
  const parts: PublishParts = {
    topicStart: -1,
    topicEnd: -1,
    packetId: -1,
    propertiesStart: -1,
    propertiesEnd: -1,
    payloadStart: -1,
  };
  scanPublish(parts, header, bytes, start, end, v === 5);
  const topic = readUtf8(bytes, parts.topicStart, parts.topicEnd);
  const { propertiesStart, propertiesEnd } = parts;
  const properties =
    propertiesStart === propertiesEnd
      ? {}
      : readProperties(bytes, propertiesStart, propertiesEnd, 'publish');
  if (topic === '' && properties.topicAlias === undefined) {
    throw new ProtocolError(Reason.protocolError, 'Cannot publish to an empty topic');
  }
  const payload = bytes.toString('hex', parts.payloadStart, end);
  return { topic, packetId: parts.packetId, properties, payload };
}

function assertAgreement(row: { bytes: Buffer; version: ProtocolVersion }, end: number): void {
  const { bytes, version } = row;
  const header = bytes[0] as number;
  const whole = new PacketReader(bytes, 1, bytes.length);
  whole.varint();
  const start = whole.at;
  if (end < start) return;
  // Poison behind the end: a part that reaches out of the packet shows.
  const cut = Buffer.concat([bytes.subarray(0, end), Buffer.alloc(8, 0x01)]);
  assert.deepEqual(
    outcomeOf(() => scanned(header, cut, start, end, version)),
    outcomeOf(() => decoded(header, cut, start, end, version)),
  );
}

for (const row of publishCases) {
  test(`publish scan agrees with the decoder: ${row.name}`, () => {
    assertAgreement(row, row.bytes.length);
  });
}

test('publish scan agrees with the decoder on every prefix of every case', () => {
  assert.ok(publishCases.length > 20);
  for (const row of publishCases) {
    for (let end = 2; end < row.bytes.length; end++) assertAgreement(row, end);
  }
});

test('publish scan finds the payload behind a property length of two bytes', () => {
  const userProperties: [string, string][] = [['key', 'v'.repeat(200)]];
  const packet: PublishPacket = {
    type: 'publish',
    topic: 'a/b',
    payload: Buffer.from('pay'),
    qos: 1,
    dup: true,
    retain: true,
    packetId: 0xabcd,
    properties: { userProperties },
  };
  const bytes = encodePublish(packet, 5);
  const reader = new PacketReader(bytes, 1, bytes.length);
  reader.varint();
  assert.deepEqual(scanned(bytes[0] as number, bytes, reader.at, bytes.length, 5), {
    topic: 'a/b',
    packetId: 0xabcd,
    properties: { userProperties },
    payload: Buffer.from('pay').toString('hex'),
  });
});
