// Writes PROXY protocol version 2 headers for the tests.

import { isIPv4 } from 'node:net';

export function proxyV2(
  source: { readonly address: string; readonly port: number },
  commonName?: string,
  verifyResult = 0,
): Buffer {
  const four = isIPv4(source.address);
  const from = four
    ? Buffer.from(source.address.split('.').map(Number))
    : Buffer.from(
        source.address.split(':').flatMap((group) => {
          const value = Number.parseInt(group, 16);
          return [value >> 8, value & 0xff];
        }),
      );
  const ports = Buffer.alloc(4);
  ports.writeUInt16BE(source.port, 0);
  ports.writeUInt16BE(1883, 2);
  const extensions = commonName === undefined ? [] : [ssl(commonName, verifyResult)];
  const body = Buffer.concat([from, Buffer.alloc(from.length, 1), ports, ...extensions]);
  const head = Buffer.from('\r\n\r\n\0\r\nQUIT\n\x21\x00\x00\x00', 'latin1');
  head[13] = four ? 0x11 : 0x21;
  head.writeUInt16BE(body.length, 14);
  return Buffer.concat([head, body]);
}

function ssl(commonName: string, verifyResult: number): Buffer {
  const fixed = Buffer.alloc(5);
  fixed[0] = 0x07;
  fixed.writeUInt32BE(verifyResult, 1);
  const inner = [extension(0x21, Buffer.from('TLSv1.3')), extension(0x22, Buffer.from(commonName))];
  return extension(0x20, Buffer.concat([fixed, ...inner]));
}

function extension(type: number, value: Buffer): Buffer {
  const head = Buffer.of(type, value.length >> 8, value.length & 0xff);
  return Buffer.concat([head, value]);
}
