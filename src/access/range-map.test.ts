import assert from 'node:assert/strict';
import test from 'node:test';
import { addressBits, parseRange } from '#base/address-range';
import { RangeMap } from './range-map.ts';

const range = (text: string): Exclude<ReturnType<typeof parseRange>, string> => {
  const parsed = parseRange(text);
  assert.ok(typeof parsed !== 'string', text);
  return parsed;
};

/** Values of all ranges that the address lies in, narrowest first. */
function found(map: RangeMap<string>, address: string): string[] {
  const values: string[] = [];
  map.some(addressBits(address) ?? -1n, (value) => values.push(value) < 0);
  return values;
}

test('a range map finds every range that an address lies in, narrowest first', () => {
  const map = new RangeMap<string>();
  for (const text of ['10.0.0.0/8', '::/0', '10.1.0.0/16', '10.1.2.3', '2001:db8::/32']) {
    map.set(range(text), text);
  }
  assert.deepEqual(found(map, '10.1.2.3'), ['10.1.2.3', '10.1.0.0/16', '10.0.0.0/8', '::/0']);
  assert.deepEqual(found(map, '::ffff:10.2.0.1'), ['10.0.0.0/8', '::/0']);
  assert.deepEqual(found(map, '2001:db8:1::'), ['2001:db8::/32', '::/0']);
  assert.deepEqual(found(map, '11.0.0.1'), ['::/0']);
  assert.equal(map.size, 5);
});

test('a range map ends its search at the first value that is wanted', () => {
  const map = new RangeMap<string>();
  map.set(range('10.1.2.3'), 'narrow');
  map.set(range('10.0.0.0/8'), 'wide');
  const bits = addressBits('10.1.2.3') ?? 0n;
  const seen: string[] = [];
  assert.equal(
    map.some(bits, (value) => seen.push(value) > 0),
    true,
  );
  assert.deepEqual(seen, ['narrow']);
  assert.equal(
    map.some(bits, (value) => value === 'other'),
    false,
  );
});

test('a range map replaces, takes away and forgets', () => {
  const map = new RangeMap<string>();
  map.set(range('10.0.0.0/8'), 'old');
  map.set(range('10.9.9.9/8'), 'new');
  map.set(range('11.0.0.0/8'), 'other');
  assert.equal(map.size, 2);
  assert.deepEqual(found(map, '10.1.1.1'), ['new']);
  map.delete(range('10.0.0.0/8'));
  map.delete(range('10.0.0.0/8'));
  map.delete(range('10.0.0.0/9'));
  assert.equal(map.size, 1);
  assert.deepEqual(found(map, '10.1.1.1'), []);
  assert.deepEqual(found(map, '11.1.1.1'), ['other']);
  map.delete(range('11.0.0.0/8'));
  map.set(range('::1'), 'again');
  assert.deepEqual(found(map, '::1'), ['again']);
  map.clear();
  assert.equal(map.size, 0);
  assert.deepEqual(found(map, '::1'), []);
});
