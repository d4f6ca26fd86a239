// The PROXY protocol header, versions 1 and 2, by which a load balancer tells whose connection it
// carries. Knows bytes only: it is asked again with more bytes until it answers or throws.

import { isIPv4, isIPv6 } from 'node:net';

export interface ProxyHeader {
  /** Bytes of the header; what follows belongs to the client. */
  readonly consumed: number;
  /** Absent when the proxy speaks for itself (health check) or knows no address. */
  readonly source?: { readonly address: string; readonly port: number } | undefined;
  readonly destination?: { readonly address: string; readonly port: number } | undefined;
  /** Common name of the client certificate that the proxy has verified. */
  readonly commonName?: string | undefined;
}

export class BadProxyHeader extends Error {
  override readonly name = 'BadProxyHeader';
}

const signature = Buffer.from('\r\n\r\n\0\r\nQUIT\n', 'latin1');
const v1Max = 107;
const v2Max = 4096;
const sslType = 0x20;
const commonNameType = 0x22;
const certificateSeen = 0x06;

export function parseProxyHeader(bytes: Buffer): ProxyHeader | 'more' {
  const first = bytes[0];
  if (first === undefined) return 'more';
  if (first === 0x50) return parseV1(bytes);
  if (first === 0x0d) return parseV2(bytes);
  throw new BadProxyHeader(`Cannot read PROXY header: it begins with byte ${first}`);
}

function parseV1(bytes: Buffer): ProxyHeader | 'more' {
  const end = bytes.indexOf('\r\n', 0, 'latin1');
  if (end > v1Max - 2 || (end < 0 && bytes.length >= v1Max)) {
    throw new BadProxyHeader(`Cannot read PROXY header: no line end within ${v1Max} bytes`);
  }
  const prefix = 'PROXY ';
  if (!prefix.startsWith(bytes.toString('latin1', 0, Math.min(bytes.length, prefix.length)))) {
    throw new BadProxyHeader('Cannot read PROXY header: it does not begin with "PROXY "');
  }
  if (end < 0) return 'more';
  const line = bytes.toString('latin1', 0, end);
  const words = line.split(' ');
  const family = words[1];
  if (family === 'UNKNOWN') return { consumed: end + 2 };
  const isAddress = family === 'TCP4' ? isIPv4 : family === 'TCP6' ? isIPv6 : undefined;
  const [, , from = '', to = '', fromPort = '', toPort = ''] = words;
  if (isAddress === undefined || words.length !== 6 || !isAddress(from) || !isAddress(to)) {
    throw new BadProxyHeader(`Cannot read PROXY header: "${line}" is not "PROXY TCP4|TCP6 …"`);
  }
  return {
    consumed: end + 2,
    source: { address: from, port: readPort(fromPort) },
    destination: { address: to, port: readPort(toPort) },
  };
}

function readPort(text: string): number {
  const port = /^\d{1,5}$/.test(text) ? Number(text) : Number.NaN;
  if (port <= 65535) return port;
  throw new BadProxyHeader(`Cannot read PROXY header: port "${text}" is not 0 to 65535`);
}

function parseV2(bytes: Buffer): ProxyHeader | 'more' {
  const seen = Math.min(bytes.length, signature.length);
  if (bytes.compare(signature, 0, seen, 0, seen) !== 0) {
    throw new BadProxyHeader('Cannot read PROXY header: bad version 2 signature');
  }
  if (bytes.length < 16) return 'more';
  const command = bytes.readUInt8(12);
  const consumed = 16 + bytes.readUInt16BE(14);
  if (command !== 0x20 && command !== 0x21) {
    throw new BadProxyHeader(
      `Cannot read PROXY header: version and command ${command} are unknown`,
    );
  }
  if (consumed > v2Max) {
    throw new BadProxyHeader(`Cannot read PROXY header: ${consumed} bytes, the limit is ${v2Max}`);
  }
  if (bytes.length < consumed) return 'more';
  const family = bytes.readUInt8(13);
  const width = family === 0x11 ? 4 : family === 0x21 ? 16 : 0;
  // LOCAL (0x20), UNSPEC, UDP and unix addresses: the address of the socket itself stays.
  if (command === 0x20 || width === 0) return { consumed };
  const tail = 16 + 2 * width + 4;
  if (tail > consumed)
    throw new BadProxyHeader('Cannot read PROXY header: addresses are cut short');
  return {
    consumed,
    source: { address: readAddress(bytes, 16, width), port: bytes.readUInt16BE(tail - 4) },
    destination: {
      address: readAddress(bytes, 16 + width, width),
      port: bytes.readUInt16BE(tail - 2),
    },
    commonName: readCommonName(bytes.subarray(tail, consumed)),
  };
}

function readAddress(bytes: Buffer, at: number, width: number): string {
  if (width === 4) return bytes.subarray(at, at + 4).join('.');
  const groups: string[] = [];
  for (let i = at; i < at + 16; i += 2) groups.push(bytes.readUInt16BE(i).toString(16));
  // The URL parser writes IPv6 addresses in their canonical short form.
  return new URL(`http://[${groups.join(':')}]`).hostname.slice(1, -1);
}

function readCommonName(extensions: Buffer): string | undefined {
  for (const [type, value] of extensionsOf(extensions)) {
    if (type !== sslType || value.length < 5) continue;
    const verified = (value.readUInt8(0) & certificateSeen) !== 0 && value.readUInt32BE(1) === 0;
    if (!verified) return undefined;
    for (const [inner, name] of extensionsOf(value.subarray(5))) {
      if (inner === commonNameType) return name.toString('utf8');
    }
  }
  return undefined;
}

function* extensionsOf(bytes: Buffer): Generator<[type: number, value: Buffer]> {
  let at = 0;
  while (at < bytes.length) {
    const end = at + 3 <= bytes.length ? at + 3 + bytes.readUInt16BE(at + 1) : Infinity;
    if (end > bytes.length)
      throw new BadProxyHeader('Cannot read PROXY header: extension cut short');
    yield [bytes.readUInt8(at), bytes.subarray(at + 3, end)];
    at = end;
  }
}
