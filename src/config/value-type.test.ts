import assert from 'node:assert/strict';
import test from 'node:test';
import {
  accessRule,
  address,
  bytesAndBurst,
  countPerDuration,
  tlsVersions,
  topicPriorities,
} from './compound-type.ts';
import {
  byteSize,
  decimalAbove,
  durationMs,
  durationSeconds,
  flag,
  int,
  matching,
  oneOf,
  text,
  truth,
  type ValueType,
} from './value-type.ts';

interface Case {
  readonly name: string;
  readonly type: ValueType<unknown>;
  readonly good: readonly (readonly [string, unknown])[];
  readonly bad: readonly string[];
}

const cases: readonly Case[] = [
  {
    name: 'flag',
    type: flag,
    good: [
      ['on', true],
      ['off', false],
      ['true', true],
    ],
    bad: ['', 'ON', 'yes', '1'],
  },
  {
    name: 'truth',
    type: truth,
    good: [
      ['true', true],
      ['false', false],
      ['off', false],
    ],
    bad: ['', 'True', '0'],
  },
  {
    name: 'int',
    type: int(-1, 10),
    good: [
      ['-1', -1],
      ['10', 10],
      ['007', 7],
    ],
    bad: ['', '-2', '11', '1.5', '1e1', '0x1', ' 1'],
  },
  {
    name: 'decimalAbove',
    type: decimalAbove(0.5, 2),
    good: [
      ['0.75', 0.75],
      ['2', 2],
    ],
    bad: ['', '0.5', '2.1', '.75', '-1', '1e0'],
  },
  {
    name: 'durationMs',
    type: durationMs(1),
    good: [
      ['1h30m', 5_400_000],
      ['24d', 2_073_600_000],
    ],
    bad: ['', '0', '25d', '15', '1.5s', '-1s'],
  },
  {
    name: 'durationSeconds',
    type: durationSeconds(1, 65_535),
    good: [
      ['60', 60],
      ['2m', 120],
      ['1500ms', 2],
    ],
    bad: ['', '0', '1d', '65536', '1.5'],
  },
  {
    name: 'byteSize',
    type: byteSize(64, 1024 ** 2),
    good: [
      ['64', 64],
      ['1MB', 1_048_576],
      ['16kb', 16_384],
    ],
    bad: ['', '63', '2MB', '1.5KB', '-64'],
  },
  { name: 'oneOf', type: oneOf('a', 'b'), good: [['a', 'a']], bad: ['', 'A', 'c'] },
  { name: 'text', type: text(), good: [['x y', 'x y']], bad: [''] },
  { name: 'matching', type: matching(/^x+$/, 'x'), good: [['xx', 'xx']], bad: ['', 'y'] },
  {
    name: 'address',
    type: address,
    good: [
      ['off', 'off'],
      ['1883', { host: undefined, port: 1883, text: '1883' }],
      ['0.0.0.0:0', { host: '0.0.0.0', port: 0, text: '0.0.0.0:0' }],
      ['[::1]:1883', { host: '::1', port: 1883, text: '[::1]:1883' }],
      ['localhost:65535', { host: 'localhost', port: 65_535, text: 'localhost:65535' }],
    ],
    bad: [
      '',
      'on',
      '65536',
      '1.2.3:1',
      '256.0.0.1:1',
      '::1:1883',
      '[1.2.3.4]:1',
      'a:b',
      ':1',
      'a b:1',
    ],
  },
  {
    name: 'countPerDuration',
    type: countPerDuration,
    good: [
      ['10,1m', { count: 10, perMs: 60_000 }],
      ['10, 1m', { count: 10, perMs: 60_000 }],
    ],
    bad: ['', '10', '0,1m', '10,0', '10,60', 'x,1m', '10,1m,2'],
  },
  {
    name: 'bytesAndBurst',
    type: bytesAndBurst,
    good: [['1KB,4096', { bytesPerSecond: 1024, burst: 4096 }]],
    bad: ['', '1KB', '0,1KB', '2KB,1KB', '1KB,2KB,3KB', 'x,y'],
  },
  {
    name: 'accessRule',
    type: accessRule,
    good: [
      ['allow all', { allow: true, range: 'all' }],
      ['deny  10.0.0.0/8', { allow: false, range: '10.0.0.0/8' }],
      ['allow 2001:db8::/32', { allow: true, range: '2001:db8::/32' }],
      ['allow 127.0.0.1', { allow: true, range: '127.0.0.1' }],
    ],
    bad: [
      '',
      'all',
      'allow',
      'permit all',
      'allow 10.0.0.0/33',
      'allow ::/129',
      'allow 10/8',
      'allow a b',
    ],
  },
  {
    name: 'tlsVersions',
    type: tlsVersions,
    good: [
      ['tlsv1.3', { min: 'TLSv1.3', max: 'TLSv1.3' }],
      ['tlsv1.3, tlsv1.2', { min: 'TLSv1.2', max: 'TLSv1.3' }],
      ['tlsv1.2,tlsv1.1,tlsv1', { min: 'TLSv1', max: 'TLSv1.2' }],
    ],
    bad: ['', 'tlsv1.1,tlsv1.3', 'sslv3', 'tlsv1.2,sslv3', 'TLSv1.2'],
  },
  {
    name: 'topicPriorities',
    type: topicPriorities,
    good: [
      ['none', new Map()],
      [
        'a/b=1, c=255',
        new Map([
          ['a/b', 1],
          ['c', 255],
        ]),
      ],
      ['a=b=7', new Map([['a=b', 7]])],
    ],
    bad: ['', 'a', 'a=0', 'a=256', '=1', 'a=1,,b=2'],
  },
];

for (const { name, type, good, bad } of cases) {
  test(`${name} reads what it allows`, () => {
    for (const [written, value] of good) assert.deepEqual(type.parse(written), value, written);
  });
  test(`${name} refuses everything else`, () => {
    for (const written of bad) assert.equal(type.parse(written), undefined, `"${written}"`);
  });
}
