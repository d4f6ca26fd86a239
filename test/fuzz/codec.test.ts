// The codec against packets and bytes nobody thought of. Laws: what is written is read again as the
// same packet; whatever the bytes, reading ends with a packet or a ProtocolError; nothing outside the
// body is looked at (each body lies between poison of two kinds, and both readings must agree).
// FUZZ_SEED repeats a run.

import assert from 'node:assert/strict';
import test, { type TestContext } from 'node:test';
import fc from 'fast-check';
import { cases } from '#wire/cases';
import { decodePacket } from '#wire/decode';
import { encodePacket } from '#wire/encode';
import { type Packet, type ProtocolVersion, type QoS, packetTypes } from '#wire/packet';
import { type PropertyKind, type PropertyOwner, rowsOf } from '#wire/property-table';
import { ProtocolError } from '#wire/protocol-error';
import { isAllowedReason } from '#wire/reason-codes';

const versions: readonly ProtocolVersion[] = [3, 4, 5];

const given = process.env['FUZZ_SEED'];
const seed: number = given === undefined ? (Math.random() * 0x7fff_ffff) | 0 : Number(given);

/** How many tries; the seed is printed by each test, so that any one of them can be repeated. */
function effort(t: TestContext, numRuns: number): { seed: number; numRuns: number } {
  t.diagnostic(`FUZZ_SEED=${seed}`);
  return { seed, numRuns };
}

/** Any well-formed text without U+0000: mostly short, sometimes past the borders of the fast paths. */
const text: fc.Arbitrary<string> = fc
  .oneof(
    fc.string({ unit: 'binary', maxLength: 60 }),
    fc.string({ unit: 'binary-ascii', maxLength: 60 }),
  )
  .map((drawn) => drawn.replaceAll('\0', 'a'));
const name: fc.Arbitrary<string> = text.filter((drawn) => drawn !== '');
const binary: fc.Arbitrary<Buffer> = fc
  .uint8Array({ maxLength: 300 })
  .map((drawn) => Buffer.from(drawn));
const qos: fc.Arbitrary<QoS> = fc.constantFrom<QoS>(0, 1, 2);
const uint16: fc.Arbitrary<number> = fc.integer({ min: 0, max: 0xffff });
const packetId: fc.Arbitrary<number> = fc.integer({ min: 1, max: 0xffff });

/** A record as the codec makes it: every key, an ordinary prototype. */
function exact<T>(model: { [K in keyof T]: fc.Arbitrary<T[K]> }): fc.Arbitrary<T> {
  return fc.record(model, { noNullPrototype: true });
}

function valueOf(kind: PropertyKind, owner: PropertyOwner): fc.Arbitrary<unknown> {
  switch (kind) {
    case 'bit':
      return fc.constantFrom(0, 1);
    case 'flag':
      return fc.boolean();
    case 'uint16':
      return packetId; // the range that every such property allows
    case 'uint32':
      return fc.integer({ min: 1, max: 0xffff_ffff });
    case 'text':
      return text;
    case 'binary':
      return binary;
    case 'varints':
      return fc.array(fc.integer({ min: 1, max: 268_435_455 }), {
        minLength: 1,
        maxLength: owner === 'publish' ? 5 : 1,
      });
    case 'pairs':
      return fc.array(fc.tuple(text, text), { minLength: 1, maxLength: 5 });
  }
}

function propertiesOf(
  owner: PropertyOwner,
  version: ProtocolVersion,
): fc.Arbitrary<Record<string, unknown>> {
  if (version !== 5) return fc.constant({});
  const model: Record<string, fc.Arbitrary<unknown>> = {};
  for (const row of rowsOf[owner].values()) model[row.name] = valueOf(row.kind, owner);
  return fc.record(model, { requiredKeys: [], noNullPrototype: true }).map((drawn) => {
    if ('authMethod' in drawn) return drawn;
    const { authData: _, ...others } = drawn;
    return others;
  });
}

function codesOf(type: Packet['type'], version: ProtocolVersion): fc.Arbitrary<number> {
  const codes: number[] = [];
  for (let code = 0; code < 256; code++) if (isAllowedReason(type, code)) codes.push(code);
  if (codes.length === 0) return fc.constant(0);
  if (version === 5) return fc.constantFrom(...codes);
  if (type === 'connack') return fc.integer({ min: 0, max: 5 });
  return type === 'suback' ? fc.constantFrom(0, 1, 2, 0x80) : fc.constant(0);
}

function connectOf(version: ProtocolVersion): fc.Arbitrary<unknown> {
  const will = exact({
    topic: name,
    payload: binary,
    qos,
    retain: fc.boolean(),
    properties: propertiesOf('will', version),
  });
  const packet = {
    type: fc.constant('connect'),
    version: fc.constant(version),
    isBridge: version === 5 ? fc.constant(false) : fc.boolean(),
    cleanStart: fc.boolean(),
    keepaliveSeconds: uint16,
    clientId: text,
    will,
    username: text,
    password: binary,
    properties: propertiesOf('connect', version),
  };
  const { will: _will, username: _username, password: _password, ...required } = packet;
  const requiredKeys = Object.keys(required) as (keyof typeof required)[];
  return fc.record(packet, { requiredKeys, noNullPrototype: true }).map((drawn) => {
    if (version === 5 || drawn.username !== undefined) return drawn;
    const { password: _, ...others } = drawn;
    return others;
  });
}

function publishOf(version: ProtocolVersion): fc.Arbitrary<unknown> {
  return qos.chain((level) =>
    exact({
      type: fc.constant('publish'),
      topic: name,
      payload: binary,
      qos: fc.constant(level),
      dup: level === 0 ? fc.constant(false) : fc.boolean(),
      retain: fc.boolean(),
      packetId: level === 0 ? fc.constant(0) : packetId,
      properties: propertiesOf('publish', version),
    }),
  );
}

function subscribeOf(version: ProtocolVersion): fc.Arbitrary<unknown> {
  const isV5 = version === 5;
  const filter = exact({
    filter: name.filter((drawn) => !drawn.startsWith('$share/')),
    qos,
    noLocal: isV5 ? fc.boolean() : fc.constant(false),
    retainAsPublished: isV5 ? fc.boolean() : fc.constant(false),
    retainHandling: isV5 ? fc.constantFrom(0, 1, 2) : fc.constant(0),
  });
  return exact({
    type: fc.constant('subscribe'),
    packetId,
    filters: fc.array(filter, { minLength: 1, maxLength: 5 }),
    properties: propertiesOf('subscribe', version),
  });
}

function packetOf(type: Packet['type'], version: ProtocolVersion): fc.Arbitrary<unknown> {
  const properties = propertiesOf(type, version);
  const reasonCode = codesOf(type, version);
  const codes = fc.array(reasonCode, { minLength: 1, maxLength: 5 });
  switch (type) {
    case 'connect':
      return connectOf(version);
    case 'publish':
      return publishOf(version);
    case 'subscribe':
      return subscribeOf(version);
    case 'unsubscribe': {
      const filters = fc.array(text, { minLength: 1, maxLength: 5 });
      return exact({ type: fc.constant(type), packetId, filters, properties });
    }
    case 'suback':
    case 'unsuback': {
      const isBare = type === 'unsuback' && version !== 5;
      const reasonCodes = isBare ? fc.constant([]) : codes;
      return exact({ type: fc.constant(type), packetId, reasonCodes, properties });
    }
    case 'pingreq':
    case 'pingresp':
      return exact({ type: fc.constant(type) });
    case 'connack': {
      const sessionPresent = fc.boolean();
      return exact({ type: fc.constant(type), sessionPresent, reasonCode, properties });
    }
    case 'disconnect':
    case 'auth':
      return exact({ type: fc.constant(type), reasonCode, properties });
    default:
      return exact({ type: fc.constant(type), packetId, reasonCode, properties });
  }
}

type Outcome = { packet: Packet } | { failure: number; message: string };

/** Reads a body between two stretches of poison; anything but a packet or a ProtocolError escapes. */
function outcomeOf(
  header: number,
  body: Uint8Array,
  version: ProtocolVersion,
  poison: number,
): Outcome {
  const margin = 32;
  const bytes = Buffer.alloc(body.length + 2 * margin, poison);
  bytes.set(body, margin);
  try {
    return { packet: decodePacket(header, bytes, margin, margin + body.length, version) };
  } catch (error) {
    if (!(error instanceof ProtocolError)) throw error;
    return { failure: error.reasonCode, message: error.message };
  }
}

/** The laws of reading, for bytes of any origin. What was read must also survive being written. */
function holdLaws(header: number, body: Uint8Array, version: ProtocolVersion): Outcome {
  const outcome = outcomeOf(header, body, version, 0x00);
  assert.deepEqual(outcomeOf(header, body, version, 0x41), outcome);
  assert.deepEqual(outcomeOf(header, body, version, 0xff), outcome);
  if ('packet' in outcome) {
    const again = bodyOf(encodePacket(outcome.packet, version));
    // The type alone: DUP on a 3.1 PUBREL, SUBSCRIBE or UNSUBSCRIBE is read and forgotten.
    assert.equal(again.header >>> 4, header >>> 4);
    assert.deepEqual(outcomeOf(again.header, again.body, version, 0x00), outcome);
  }
  return outcome;
}

function bodyOf(bytes: Buffer): { header: number; body: Buffer } {
  let at = 1;
  while ((bytes[at] as number) >= 0x80) at++;
  return { header: bytes[0] as number, body: bytes.subarray(at + 1) };
}

for (const version of versions) {
  for (const type of Object.keys(packetTypes) as Packet['type'][]) {
    if (type === 'auth' && version !== 5) continue;
    test(`codec reads ${type} of level ${version} as it was written`, (t) => {
      const law = fc.property(packetOf(type, version), (drawn) => {
        const packet = drawn as Packet;
        const { header, body } = bodyOf(encodePacket(packet, version));
        assert.deepEqual(holdLaws(header, body, version), { packet });
      });
      fc.assert(law, effort(t, 100));
    });
  }
}

test('codec answers random bytes with a packet or a ProtocolError', (t) => {
  const law = fc.property(
    fc.integer({ min: 0, max: 255 }),
    fc.uint8Array({ maxLength: 64 }),
    fc.constantFrom(...versions),
    (header, body, version) => {
      holdLaws(header, body, version);
    },
  );
  fc.assert(law, effort(t, 10_000));
});

test('codec answers mutated packets with a packet or a ProtocolError', (t) => {
  const mutation = exact({
    at: fc.nat({ max: 200 }),
    kind: fc.constantFrom('set', 'flip', 'insert', 'remove', 'cut'),
    byte: fc.oneof(fc.integer({ min: 0, max: 255 }), fc.constantFrom(0, 1, 0x7f, 0x80, 0xff)),
  });
  const law = fc.property(
    fc.constantFrom(...cases),
    fc.array(mutation, { minLength: 1, maxLength: 4 }),
    fc.constantFrom(...versions),
    fc.boolean(),
    (row, mutations, otherVersion, isOther) => {
      const { header, body } = bodyOf(row.bytes);
      const bytes = [header, ...body];
      for (const { at, kind, byte } of mutations) {
        const place = at % (bytes.length + 1);
        if (kind === 'set') bytes[place] = byte;
        else if (kind === 'flip') bytes[place] = (bytes[place] ?? 0) ^ (1 << (byte & 7));
        else if (kind === 'insert') bytes.splice(place, 0, byte);
        else if (kind === 'remove') bytes.splice(place, 1);
        else bytes.length = place;
      }
      const [first = 0, ...rest] = bytes;
      holdLaws(first, Uint8Array.from(rest), isOther ? otherVersion : row.version);
    },
  );
  fc.assert(law, effort(t, 10_000));
});
