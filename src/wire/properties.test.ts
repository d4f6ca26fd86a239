// Every property against every packet: read and written where it belongs, refused elsewhere.

import assert from 'node:assert/strict';
import test from 'node:test';
import { type PacketType, type Properties, packetTypes } from './packet.ts';
import { propertiesSize, readProperties, writeProperties } from './properties.ts';
import { type PropertyKind, type PropertyOwner, propertyTable } from './property-table.ts';
import { ProtocolError } from './protocol-error.ts';
import { raw } from './wire-case.ts';

const owners: readonly PropertyOwner[] = [...(Object.keys(packetTypes) as PacketType[]), 'will'];

const samples: Record<PropertyKind, [value: unknown, bytes: string]> = {
  bit: [1, '01'],
  flag: [true, '01'],
  uint16: [0x1234, '1234'],
  uint32: [0x89abcdef, '89abcdef'],
  text: ['é', '0002 c3a9'],
  binary: [raw('00ff'), '0002 00ff'],
  varints: [[300], 'ac02'],
  pairs: [[['k', 'v']], "0001 'k' 0001 'v'"],
};

function blockOf(id: number, value: string): Buffer {
  return raw(`${id.toString(16).padStart(2, '0')} ${value}`);
}

for (const { id, name, kind, owners: carriers } of propertyTable) {
  for (const owner of owners) {
    const [value, notation] = samples[kind];
    const block = blockOf(id, notation);
    // Authentication data means nothing without its method.
    const needsMethod = name === 'authData';
    const bytes = needsMethod ? Buffer.concat([raw("15 0001 'm'"), block]) : block;
    const wanted = { ...(needsMethod && { authMethod: 'm' }), [name]: value } as Properties;

    if (carriers.includes(owner)) {
      test(`property ${name} in ${owner} is read and written`, () => {
        assert.deepEqual(readProperties(bytes, 0, bytes.length, owner), wanted);
        const size = propertiesSize(wanted, owner);
        assert.equal(size, bytes.length);
        const out = Buffer.alloc(size + 1);
        assert.equal(writeProperties(out, 0, wanted, owner, size), size + 1);
        assert.deepEqual(out.subarray(1), bytes);
        assert.equal(out[0], size);
      });
    } else {
      test(`property ${name} in ${owner} is refused and not written`, () => {
        assert.throws(
          () => readProperties(block, 0, block.length, owner),
          (error) => error instanceof ProtocolError && error.reasonCode === 0x82,
        );
        assert.equal(propertiesSize({ [name]: value } as Properties, owner), 0);
      });
    }
  }
}

for (const { id, name, kind, owners: carriers } of propertyTable) {
  const mayRepeat = kind === 'pairs' || (kind === 'varints' && carriers.includes('publish'));
  test(`property ${name} that stands twice is ${mayRepeat ? 'read' : 'refused'}`, () => {
    const block = blockOf(id, samples[kind][1]);
    const bytes = Buffer.concat([block, block]);
    const owner = carriers[0] as PropertyOwner;
    const read = (): Properties => readProperties(bytes, 0, bytes.length, owner);
    if (mayRepeat) assert.equal((read()[name] as unknown[]).length, 2);
    else assert.throws(read, (error) => (error as ProtocolError).reasonCode === 0x82);
  });
}

test('user properties named like members of Object leave the properties an ordinary object', () => {
  const bytes = raw("26 0009 '__proto__' 0001 'x' 26 0008 'toString' 0001 'y'");
  const properties = readProperties(bytes, 0, bytes.length, 'publish');
  assert.equal(Object.getPrototypeOf(properties), Object.prototype);
  assert.deepEqual(Object.keys(properties), ['userProperties']);
});

test('writing a number that its property cannot hold is refused', () => {
  const out = Buffer.alloc(16);
  assert.throws(() => writeProperties(out, 0, { topicAlias: 65536 }, 'publish', 3), RangeError);
  assert.throws(() => propertiesSize({ subscriptionIds: [268_435_456] }, 'publish'), RangeError);
});
