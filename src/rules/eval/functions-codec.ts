// Hashes, base64, JSON, compression and bits. Laws: what is decoded is text where it is UTF-8 and bytes
// otherwise; unpacking stops at a bound, so that no small payload becomes a large one.

import { hash } from 'node:crypto';
import { deflateRawSync, gunzipSync, gzipSync, inflateRawSync } from 'node:zlib';
import { type BitsSign, type BitsType, subbits } from './bits.ts';
import { bounded, parseJson, toJson } from './json.ts';
import { raise } from './raise.ts';
import { type SqlFunction, sqlFunction } from './sql-function.ts';
import { textMax, textOrBytes } from './value.ts';

export const codecFunctions: readonly SqlFunction[] = [
  digest(
    'md5',
    {
      "md5('')": '"d41d8cd98f00b204e9800998ecf8427e"',
      "md5('a')": '"0cc175b9c0f1b6a831c399e269772661"',
    },
    'md5',
  ),
  digest(
    'sha',
    { "sha('a')": '"86f7e437faa5a7fce15d1ddcb9eaeaea377667b8"', "strlen(sha('b'))": '40' },
    'sha1',
  ),
  digest(
    'sha256',
    {
      "sha256('a')": '"ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb"',
      "strlen(sha256('b'))": '64',
    },
    'sha256',
  ),
  sqlFunction('Hash and codec', 'base64_encode', {
    params: { data: 'bytes' },
    text: 'In base64.',
    examples: { "base64_encode('hello')": '"aGVsbG8="', "base64_encode('')": '""' },
    call: ({ data }) => bounded(data.toString('base64')),
  }),
  sqlFunction('Hash and codec', 'base64_decode', {
    params: { text: 'text' },
    text: 'What base64 stands for.',
    examples: { "base64_decode('aGVsbG8=')": '"hello"', "base64_decode('')": '""' },
    call: ({ text }) => {
      if (text.length % 4 !== 0 || !/^[A-Za-z0-9+/]*={0,2}$/.test(text))
        raise(() => 'it is no base64');
      return textOrBytes(Buffer.from(text, 'base64'));
    },
  }),
  sqlFunction('Hash and codec', 'json_encode', {
    params: { value: 'any' },
    text: 'As JSON.',
    examples: {
      "json_encode([1, 'a', null])": '"[1,\\"a\\",null]"',
      "json_encode('a')": '"\\"a\\""',
    },
    call: ({ value }) => toJson(value),
  }),
  sqlFunction('Hash and codec', 'json_decode', {
    params: { text: 'text' },
    text: 'What JSON stands for.',
    examples: {
      'json_decode(\'{"a": [1]}\')': '{"a":[1]}',
      'json_decode(payload)': '{"msg":"hello"}',
    },
    call: ({ text }) => parseJson(text),
  }),
  packer(
    'gzip',
    'Packed as by gzip.',
    { "gunzip(gzip('a'))": '"a"', "subbits(gzip('a'), 16)": '8075' },
    (data) => gzipSync(data),
  ),
  packer(
    'gunzip',
    'Unpacked from gzip.',
    { "gunzip(gzip('hello'))": '"hello"', "strlen(gunzip(gzip('')))": '0' },
    (data) => gunzipSync(data, { maxOutputLength: textMax }),
  ),
  packer(
    'zip',
    'Packed as by deflate, without a header.',
    { "bin2hexstr(zip('a'))": '"4B0400"', "unzip(zip('hello'))": '"hello"' },
    (data) => deflateRawSync(data),
  ),
  packer(
    'unzip',
    'Unpacked from deflate, without a header.',
    { "unzip(zip('hello'))": '"hello"', "unzip(hexstr2bin('4B0400'))": '"a"' },
    (data) => inflateRawSync(data, { maxOutputLength: textMax }),
  ),
  sqlFunction('Binary', 'bin2hexstr', {
    params: { data: 'bytes' },
    text: 'In hexadecimal.',
    examples: { "bin2hexstr('abc')": '"616263"', "bin2hexstr(hexstr2bin('ff00'))": '"FF00"' },
    call: ({ data }) => bounded(data.toString('hex').toUpperCase()),
  }),
  sqlFunction('Binary', 'hexstr2bin', {
    params: { text: 'text' },
    text: 'The bytes that hexadecimal digits stand for.',
    examples: { "hexstr2bin('616263')": '"abc"', "bitsize(hexstr2bin('ff00'))": '16' },
    call: ({ text }) => {
      if (text.length % 2 !== 0 || !/^[0-9a-fA-F]*$/.test(text))
        raise(() => 'pairs of hexadecimal digits are wanted');
      return textOrBytes(Buffer.from(text, 'hex'));
    },
  }),
  sqlFunction('Binary', 'bitsize', {
    params: { data: 'bytes' },
    text: 'How many bits it has.',
    examples: { "bitsize('abc')": '24', "bitsize('')": '0' },
    call: ({ data }) => data.length * 8,
  }),
  sqlFunction('Binary', 'subbits', {
    params: {
      data: 'bytes',
      start: 'count',
      length: 'count?',
      type: 'text?',
      sign: 'text?',
      endian: 'text?',
    },
    text: "Some bits as a number: subbits(data, length), subbits(data, start, length) counted from 1, and all of 'integer', 'float' or 'bits', 'unsigned' or 'signed', 'big' or 'little'.",
    examples: {
      "subbits('abc', 8)": '97',
      "subbits('abc', 9, 16)": '25187',
      "subbits(hexstr2bin('ff00'), 1, 16, 'integer', 'signed', 'big')": '-256',
      "subbits('abc', 1, 16, 'integer', 'unsigned', 'little')": '25185',
    },
    call: ({ data, start, length, type, sign, endian }) => {
      if (length === undefined) return subbits(data, 1, start, 'integer', 'unsigned', 'big');
      return subbits(
        data,
        start,
        length,
        oneOf<BitsType>(type, ['integer', 'float', 'bits']),
        oneOf<BitsSign>(sign, ['unsigned', 'signed']),
        oneOf(endian, ['big', 'little']),
      );
    },
  }),
];

/** The first of them without a word. */
function oneOf<T extends string>(word: string | undefined, words: readonly T[]): T {
  const found = word === undefined ? words[0] : words.find((each) => each === word);
  return found ?? raise(() => `"${word}" is none of ${words.join(', ')}`);
}

function digest(
  name: string,
  examples: Readonly<Record<string, string>>,
  algorithm: string,
): SqlFunction {
  return sqlFunction('Hash and codec', name, {
    params: { data: 'bytes' },
    text: `The hash ${algorithm.toUpperCase()} in hexadecimal.`,
    examples,
    call: ({ data }) => hash(algorithm, data, 'hex'),
  });
}

function packer(
  name: string,
  text: string,
  examples: Readonly<Record<string, string>>,
  pack: (data: Buffer) => Buffer,
): SqlFunction {
  return sqlFunction('Binary', name, {
    params: { data: 'bytes' },
    text,
    examples,
    call: ({ data }) => {
      if (data.length > textMax) raise(() => `there are more than ${textMax} bytes`);
      try {
        return textOrBytes(pack(data));
      } catch (error) {
        // Of what zlib throws, all is about the data: it is damaged, or unpacks to too much.
        return raise(() => (error as Error).message);
      }
    },
  });
}
