import assert from 'node:assert/strict';
import test from 'node:test';
import { datagramBytesMax, datagramsOf, StatsdLines } from './statsd-lines.ts';

test('counters are told by what they have grown, levels as they are', () => {
  const lines = new StatsdLines('node1', { 'bytes/sent': 5 });
  const first = { 'bytes/sent': 7, 'packets/publish/sent': 0, 'messages/retained': 3 };
  assert.deepEqual(lines.lines(first, { 'connections/count': 0 }), [
    'node1.bytes.sent:2|c',
    'node1.messages.retained:3|g',
    'node1.connections.count:0|g',
  ]);
  assert.deepEqual(lines.lines(first, {}).length, 2, 'told again, for they were not sent');
  lines.sent(first);
  const later = { ...first, 'packets/publish/sent': 4, 'messages/retained': 1 };
  assert.deepEqual(lines.lines(later, {}), [
    'node1.packets.publish.sent:4|c',
    'node1.messages.retained:1|g',
  ]);
});

test('a counter that began anew is told whole', () => {
  const lines = new StatsdLines('b', { a: 100 });
  assert.deepEqual(lines.lines({ a: 3 }, {}), ['b.a:3|c']);
});

test('no character of a name ends it', () => {
  const lines = new StatsdLines('b', {});
  assert.deepEqual(lines.lines({}, { 'a:b|c@d/e f': 1 }), ['b.a_b_c_d.e_f:1|g']);
});

test('datagrams are as few as hold all lines, and whole', () => {
  const lines = Array.from({ length: 100 }, (_, i) => `broker.some.name.of.a.level.${i}:1|g`);
  const datagrams = datagramsOf(lines);
  assert.ok(datagrams.every(({ length }) => length <= datagramBytesMax));
  assert.deepEqual(datagrams.join('\n').split('\n'), lines);
  assert.equal(datagrams.length, Math.ceil(lines.join('\n').length / datagramBytesMax));
  assert.deepEqual(datagramsOf([]), []);
});
