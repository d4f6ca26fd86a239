import assert from 'node:assert/strict';
import test from 'node:test';
import { BadProxyHeader, parseProxyHeader } from './proxy-protocol.ts';
import { proxyV2 } from './proxy-v2-fixture.ts';

const v1 = 'PROXY TCP4 192.0.2.7 198.51.100.1 56324 1883\r\n';

test('a version 1 header tells both ends and where it stops', () => {
  assert.deepEqual(parseProxyHeader(Buffer.from(`${v1}rest`)), {
    consumed: v1.length,
    source: { address: '192.0.2.7', port: 56324 },
    destination: { address: '198.51.100.1', port: 1883 },
  });
  const six = parseProxyHeader(Buffer.from('PROXY TCP6 2001:db8::7 ::1 1 65535\r\n'));
  assert.ok(six !== 'more');
  assert.deepEqual(six.source, { address: '2001:db8::7', port: 1 });
});

test('a version 1 header of an unknown client keeps the address of the socket', () => {
  const short = 'PROXY UNKNOWN\r\n';
  assert.deepEqual(parseProxyHeader(Buffer.from(short)), { consumed: short.length });
  const long = 'PROXY UNKNOWN ffff::1 ffff::2 1 2\r\n';
  assert.deepEqual(parseProxyHeader(Buffer.from(long)), { consumed: long.length });
});

test('a header that is cut anywhere asks for more', () => {
  const v2 = proxyV2({ address: '192.0.2.7', port: 9 }, 'device-1');
  for (const whole of [Buffer.from(v1), v2]) {
    for (let length = 0; length < whole.length; length++) {
      assert.equal(parseProxyHeader(whole.subarray(0, length)), 'more', `${length} bytes`);
    }
    assert.notEqual(parseProxyHeader(whole), 'more');
  }
});

test('a version 2 header tells address, port and verified common name', () => {
  const bytes = proxyV2({ address: '192.0.2.7', port: 4711 }, 'device-1');
  const header = parseProxyHeader(Buffer.concat([bytes, Buffer.from('rest')]));
  assert.ok(header !== 'more');
  assert.equal(header.consumed, bytes.length);
  assert.deepEqual(header.source, { address: '192.0.2.7', port: 4711 });
  assert.equal(header.commonName, 'device-1');
});

test('a version 2 header carries IPv6 in short form', () => {
  const header = parseProxyHeader(proxyV2({ address: '2001:db8:0:0:0:0:0:7', port: 1 }));
  assert.ok(header !== 'more');
  assert.equal(header.source?.address, '2001:db8::7');
  assert.equal(header.commonName, undefined);
});

test('a version 2 header does not tell a common name that the proxy could not verify', () => {
  const bytes = proxyV2({ address: '192.0.2.7', port: 1 }, 'mallory', 1);
  const header = parseProxyHeader(bytes);
  assert.ok(header !== 'more');
  assert.equal(header.commonName, undefined);
});

test('a version 2 LOCAL header keeps the address of the socket', () => {
  const bytes = proxyV2({ address: '192.0.2.7', port: 1 });
  bytes[12] = 0x20;
  assert.deepEqual(parseProxyHeader(bytes), { consumed: bytes.length });
});

test('a bad header is refused as soon as it can be', () => {
  const v2 = proxyV2({ address: '192.0.2.7', port: 1 }, 'x');
  const changed = (at: number, value: number): Buffer => {
    const copy = Buffer.from(v2);
    copy[at] = value;
    return copy;
  };
  const bad: readonly Buffer[] = [
    Buffer.of(0x10, 0x0e),
    Buffer.from('PROXZ'),
    Buffer.from('PROXY TCP4 1.2.3.4 5.6.7.8 1\r\n'),
    Buffer.from('PROXY TCP4 ::1 ::1 1 2\r\n'),
    Buffer.from('PROXY UDP4 1.2.3.4 5.6.7.8 1 2\r\n'),
    Buffer.from('PROXY TCP4 1.2.3.4 5.6.7.8 1 65536\r\n'),
    Buffer.from('PROXY TCP4 1.2.3.4 5.6.7.8 -1 2\r\n'),
    Buffer.from(`PROXY ${'x'.repeat(120)}`),
    changed(3, 0),
    changed(12, 0x31),
    changed(12, 0x22),
    changed(14, 0xff),
    changed(15, 4).subarray(0, 20),
    changed(v2.length - 2, 9),
  ];
  for (const [i, bytes] of bad.entries()) {
    assert.throws(() => parseProxyHeader(bytes), BadProxyHeader, `case ${i}`);
  }
});
