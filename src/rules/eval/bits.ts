// Some bits out of bytes: integers of any length, floats, or bytes again. Law: what is not there is missing,
// what cannot be (a float of 7 bits) raises.
//
//   bit   1 … 8  9 … 16      counted from 1, the highest bit of the first byte first

import { raise } from './raise.ts';
import { finite, integerBitsMax, integerOf, textOrBytes, type Value } from './value.ts';

export type BitsType = 'integer' | 'float' | 'bits';
export type BitsSign = 'unsigned' | 'signed';

export function subbits(
  data: Buffer,
  start: number,
  length: number,
  type: BitsType,
  sign: BitsSign,
  endian: 'big' | 'little',
): Value {
  if (start < 1 || length < 1)
    raise(() => `cannot take ${length} bits from ${start} on: 1 or more are wanted`);
  if (start - 1 + length > data.length * 8) return undefined;
  if (type !== 'integer' && length % 8 !== 0)
    raise(() => `${type} of ${length} bits: whole bytes are wanted`);
  if (endian === 'little' && length % 8 !== 0)
    raise(() => `little endian of ${length} bits: whole bytes are wanted`);
  if (type === 'integer' && length > integerBitsMax)
    raise(() => `an integer has at most ${integerBitsMax} bits`);
  const taken = bytesAt(data, start - 1, length);
  if (type === 'bits') return textOrBytes(taken);
  if (endian === 'little') taken.reverse();
  return type === 'float' ? floatOf(taken) : integer(taken, length, sign);
}

/** A copy, filled up with zeros in front where the bits are no whole bytes. */
function bytesAt(data: Buffer, offset: number, length: number): Buffer {
  const end = offset + length;
  const from = offset >> 3;
  const bytes = Buffer.from(data.subarray(from, (end + 7) >> 3));
  const behind = (8 - (end & 7)) & 7;
  // Shifted to the right, so that the last bit wanted is the last of all.
  if (behind > 0) {
    for (let i = bytes.length - 1; i >= 0; i--) {
      const before = i === 0 ? 0 : (bytes[i - 1] as number);
      bytes[i] = ((bytes[i] as number) >> behind) | ((before << (8 - behind)) & 0xff);
    }
  }
  const wanted = bytes.subarray(bytes.length - ((length + 7) >> 3));
  if (length % 8 !== 0) wanted[0] = (wanted[0] as number) & ((1 << (length % 8)) - 1);
  return wanted;
}

function integer(bytes: Buffer, bits: number, sign: BitsSign): number | bigint {
  const unsigned = BigInt(`0x${bytes.toString('hex')}`);
  return integerOf(sign === 'signed' ? BigInt.asIntN(bits, unsigned) : unsigned);
}

function floatOf(bytes: Buffer): number {
  if (bytes.length === 4) return finite(bytes.readFloatBE());
  if (bytes.length === 8) return finite(bytes.readDoubleBE());
  return raise(() => `a float of ${bytes.length * 8} bits: 32 or 64 are wanted`);
}
