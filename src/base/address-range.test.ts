import assert from 'node:assert/strict';
import { BlockList, isIP } from 'node:net';
import test from 'node:test';
import { addressBits, isInRange, parseRange, rangeKey } from './address-range.ts';

function rangeOf(text: string): Exclude<ReturnType<typeof parseRange>, string> {
  const range = parseRange(text);
  assert.ok(typeof range !== 'string', text);
  return range;
}

function isIn(address: string, range: string): boolean {
  const bits = addressBits(address);
  assert.ok(bits !== undefined, address);
  return isInRange(bits, rangeOf(range));
}

test('an address is the same however it is written', () => {
  const same = [
    ['1.2.3.4', '::ffff:1.2.3.4', '::ffff:102:304', '0:0:0:0:0:FFFF:1.2.3.4'],
    ['2001:db8::1', '2001:DB8:0:0:0:0:0:1', '2001:0db8::0001'],
    ['::', '0:0:0:0:0:0:0:0', '0::0'],
    ['fe80::1', 'fe80::1%eth0'],
  ];
  for (const [first = '', ...others] of same) {
    for (const other of others) assert.equal(addressBits(other), addressBits(first), other);
  }
  assert.equal(addressBits('1.2.3.4'), 0xffff01020304n);
  assert.equal(addressBits('1:2:3:4:5:6:7:8'), 0x00010002000300040005000600070008n);
});

test('what is no address has no bits', () => {
  for (const text of [
    '',
    'localhost',
    '1.2.3',
    '1.2.3.4.5',
    '256.1.1.1',
    '1::2::3',
    '10.0.0.0/8',
  ]) {
    assert.equal(addressBits(text), undefined, text);
  }
});

test('a range has the addresses that begin as it does', () => {
  assert.ok(isIn('10.255.0.1', '10.0.0.0/8'));
  assert.ok(isIn('10.255.0.1', '10.1.2.3/8'), 'what stands behind the prefix does not count');
  assert.ok(!isIn('11.0.0.1', '10.0.0.0/8'));
  assert.ok(isIn('::ffff:10.1.1.1', '10.0.0.0/8'));
  assert.ok(isIn('10.1.1.1', '::ffff:10.0.0.0/104'));
  assert.ok(isIn('2001:db8:ffff::1', '2001:db8::/32'));
  assert.ok(!isIn('2001:db9::1', '2001:db8::/32'));
  assert.ok(!isIn('10.0.0.1', '2001:db8::/32'));
  assert.ok(isIn('1.2.3.4', '1.2.3.4'));
  assert.ok(!isIn('1.2.3.5', '1.2.3.4'));
  assert.ok(isIn('9.9.9.9', '::/0'));
  assert.ok(!isIn('::1', '0.0.0.0/0'));
});

test('a range says what is wrong with it', () => {
  for (const text of ['localhost', '', '/8', 'all']) {
    assert.equal(parseRange(text), 'want an address or a CIDR', text);
  }
  for (const text of ['10.0.0.0/33', '10.0.0.0/', '10.0.0.0/x', '10.0.0.0/ 8', '10.0.0.0/8/8']) {
    assert.equal(parseRange(text), 'want a prefix of 0 to 32', text);
  }
  for (const text of ['::/129', '::/-1', '::/1e1']) {
    assert.equal(parseRange(text), 'want a prefix of 0 to 128', text);
  }
});

test('ranges that mean the same have the same key', () => {
  const key = (text: string): string => rangeKey(rangeOf(text));
  assert.equal(key('10.1.2.3/8'), key('::ffff:10.0.0.0/104'));
  assert.equal(key('1.2.3.4'), key('1.2.3.4/32'));
  assert.notEqual(key('10.0.0.0/8'), key('10.0.0.0/9'));
  assert.ok(key('9.0.0.0/8') < key('10.0.0.0/8'), 'in the order of addresses');
});

test('a range has the addresses that the runtime says it has', () => {
  const addresses = ['1.2.3.4', '10.0.0.1', '::1', '::ffff:10.9.9.9', '2001:db8::8', 'ff02::1'];
  const ranges = ['10.0.0.0/8', '1.2.3.0/30', '::/0', '2001:db8::/33', '::/127', 'ff00::/8'];
  for (const range of ranges) {
    const [network = '', prefix] = range.split('/');
    const list = new BlockList();
    list.addSubnet(network, Number(prefix), isIP(network) === 6 ? 'ipv6' : 'ipv4');
    for (const address of addresses) {
      const wanted = list.check(address, isIP(address) === 6 ? 'ipv6' : 'ipv4');
      assert.equal(isIn(address, range), wanted, `${address} in ${range}`);
    }
  }
});
