// IP addresses and ranges of them as numbers of 128 bits, where IPv4 has its place inside IPv6
// (::ffff:0:0/96). So an address is the same however a socket writes it, and `::/0` is everybody.

import { isIP } from 'node:net';

/** The `prefix` highest bits of its addresses are those of `network`, whose other bits are 0. */
export interface AddressRange {
  readonly network: bigint;
  /** 0 to 128, also for IPv4: 10.0.0.0/8 has 104. */
  readonly prefix: number;
}

const addressBitsMax = 128;
const mappedPrefix = 96;
const mapped = 0xffffn << 32n;

/** Undefined: the text is no IP address. What stands behind `%` names an interface, not an address. */
export function addressBits(text: string): bigint | undefined {
  switch (isIP(text)) {
    case 4:
      return mapped | bitsOfV4(text);
    case 6:
      return bitsOfV6(text);
    default:
      return undefined;
  }
}

/** `<address>` or `<address>/<prefix>`. A string says what is wrong, worded to follow a colon. */
export function parseRange(text: string): AddressRange | string {
  const slash = text.indexOf('/');
  const address = slash < 0 ? text : text.slice(0, slash);
  const bits = addressBits(address);
  if (bits === undefined) return 'want an address or a CIDR';
  const isV4 = isIP(address) === 4;
  const widest = isV4 ? addressBitsMax - mappedPrefix : addressBitsMax;
  const written = slash < 0 ? String(widest) : text.slice(slash + 1);
  const length = Number(written);
  if (!/^\d{1,3}$/.test(written) || length > widest) return `want a prefix of 0 to ${widest}`;
  const prefix = isV4 ? mappedPrefix + length : length;
  return { network: networkOf(bits, prefix), prefix };
}

/** The address without what tells those of one network from each other. */
export function networkOf(bits: bigint, prefix: number): bigint {
  const rest = BigInt(addressBitsMax - prefix);
  return (bits >> rest) << rest;
}

export function isInRange(bits: bigint, { network, prefix }: AddressRange): boolean {
  return networkOf(bits, prefix) === network;
}

/** One text for each range, which sorts as addresses do. */
export function rangeKey({ network, prefix }: AddressRange): string {
  return `${network.toString(16).padStart(32, '0')}/${prefix}`;
}

function bitsOfV4(text: string): bigint {
  return text.split('.').reduce((bits, part) => (bits << 8n) | BigInt(part), 0n);
}

/** Of a text that is an address: eight groups, of which `::` stands for those that are 0. */
function bitsOfV6(text: string): bigint {
  const [address = ''] = text.split('%');
  const [left = '', right] = address.split('::');
  const high = groupsOf(left);
  const low = right === undefined ? [] : groupsOf(right);
  const zeros = new Array<bigint>(8 - high.length - low.length).fill(0n);
  return [...high, ...zeros, ...low].reduce((bits, group) => (bits << 16n) | group, 0n);
}

function groupsOf(text: string): bigint[] {
  if (text === '') return [];
  return text.split(':').flatMap((group) => {
    if (!group.includes('.')) return [BigInt(`0x${group}`)];
    const bits = bitsOfV4(group);
    return [bits >> 16n, bits & 0xffffn];
  });
}
