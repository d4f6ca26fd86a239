import assert from 'node:assert/strict';
import test from 'node:test';
import { innerTopic, readDelayedTopic } from './delayed-topic.ts';

const nowMs = 1_800_000_000_250;

/** The topic and how far away it is, or why not. */
function read(written: string): [string, number] | string {
  const found = readDelayedTopic(written, nowMs);
  return 'refuse' in found ? found.text : [found.topic, found.dueAtMs - nowMs];
}

test('a small number is a delay, a large one a time', () => {
  assert.deepEqual(read('$delayed/0/t'), ['t', 0]);
  assert.deepEqual(read('$delayed/005/a/b'), ['a/b', 5000]);
  assert.deepEqual(read('$delayed/4294966/t'), ['t', 4_294_966_000]);
  assert.deepEqual(read('$delayed/1800000010/t'), ['t', 9750]);
  assert.deepEqual(read('$delayed/1804294967/t'), ['t', 4_294_966_750]);
});

test('a time that has passed is past, however long ago', () => {
  assert.deepEqual(read('$delayed/1799999999/t'), ['t', -1250]);
  assert.deepEqual(read('$delayed/1000000000/t'), ['t', 1_000_000_000_000 - nowMs]);
});

test('a delay that is too long is refused and no time of 1970', () => {
  const wanted = 'a delay below 4294967 or a Unix time at most so far ahead';
  for (const digits of ['4294967', '999999999', '1804294968', '999999999999999']) {
    assert.equal(
      read(`$delayed/${digits}/t`),
      `Cannot delay the message to "$delayed/${digits}/t": found ${digits} seconds, expected ${wanted}`,
    );
  }
});

test('what is no number or no topic is refused', () => {
  for (const [rest, why] of [
    ['x/t', 'expected $delayed/<seconds>/<topic>'],
    ['', 'expected $delayed/<seconds>/<topic>'],
    ['5', 'expected $delayed/<seconds>/<topic>'],
    ['5/', 'expected $delayed/<seconds>/<topic>'],
    ['/t', 'expected $delayed/<seconds>/<topic>'],
    ['-1/t', 'expected $delayed/<seconds>/<topic>'],
    ['1e3/t', 'expected $delayed/<seconds>/<topic>'],
    ['0x10/t', 'expected $delayed/<seconds>/<topic>'],
    ['1.5/t', 'expected $delayed/<seconds>/<topic>'],
    ['1111111111111111/t', 'expected $delayed/<seconds>/<topic>'],
    ['5/a/#', 'wildcard "#" is not allowed in a topic name'],
    ['5/$SYS/brokers', 'topics under $SYS/ are of the broker'],
    ['5/$delayed/5/t', 'a delay inside a delay is not allowed'],
  ]) {
    assert.equal(
      read(`$delayed/${rest}`),
      `Cannot delay the message to "$delayed/${rest}": ${why}`,
    );
  }
  const found = readDelayedTopic('$delayed/x/t', nowMs);
  assert.equal('refuse' in found && found.refuse, 0x90);
});

test('rights are asked about the topic inside, whatever the number is', () => {
  assert.equal(innerTopic('$delayed/5/a/b'), 'a/b');
  assert.equal(innerTopic('$delayed/x/a'), 'a');
  assert.equal(innerTopic('$delayed/5//a'), '/a');
  for (const none of ['a/$delayed/5/b', '$delayed/5', '$delayed/5/', '$delayed/5/$delayed/5/b']) {
    assert.equal(innerTopic(none), undefined);
  }
});
