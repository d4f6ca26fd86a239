import assert from 'node:assert/strict';
import test from 'node:test';
import type { ListenerReport } from '#net/listener';
import { inOrder, sumsOf } from './listener-list.ts';

function report(
  protocol: string,
  currentConns = 0,
  ends: Record<string, number> = {},
): ListenerReport {
  const shutdownCount = new Map(Object.entries(ends));
  return { protocol, listenOn: '1883', acceptors: 8, currentConns, maxConns: 9, shutdownCount };
}

test('sumsOf adds what the workers have of each listener', () => {
  const sums = sumsOf([
    [report('mqtt:tcp', 1, { closed: 2 }), report('mqtt:ws', 3)],
    [],
    [report('mqtt:tcp', 10, { closed: 1, kicked: 1 }), report('mqtt:ws', 30, { closed: 1 })],
  ]);
  assert.deepEqual(sums, [
    report('mqtt:tcp', 11, { closed: 3, kicked: 1 }),
    report('mqtt:ws', 33, { closed: 1 }),
  ]);
});

test('inOrder puts TCP and TLS first, then what speaks HTTP by its protocol', () => {
  const given = [
    'mqtt:wss',
    'mqtt:tcp',
    'mqtt:ws',
    'mqtt:ssl',
    'mqtt:tcp',
    'http:management',
    'https:management',
    'http:dashboard',
  ];
  assert.deepEqual(
    inOrder(given.map((protocol) => report(protocol))).map(({ protocol }) => protocol),
    [
      'mqtt:tcp',
      'mqtt:ssl',
      'mqtt:tcp',
      'http:dashboard',
      'http:management',
      'https:management',
      'mqtt:ws',
      'mqtt:wss',
    ],
  );
});
