import assert from 'node:assert/strict';
import test from 'node:test';
import { type Options, parseOptions } from './options.ts';

const known = ['s1', 'idle'];

test('without names all loads run on both brokers, and threads do not', () => {
  const { loads, threads, brokers } = parsed();
  assert.deepEqual(
    { loads, threads, brokers },
    {
      loads: known,
      threads: undefined,
      brokers: ['ours', 'mosquitto'],
    },
  );
});

test('threads run all their parts on our broker, or those that --only names, in their own order', () => {
  assert.equal(parsed('threads').threads?.length, 8);
  assert.deepEqual(parsed('threads').brokers, ['ours']);
  assert.equal(parsed('threads', '--only', 'ours').threads?.length, 8);
  assert.deepEqual(parsed('threads', '--only', 'Storm,S2').threads, ['s2', 'storm']);
});

test('what is not known is refused by its name', () => {
  assert.throws(() => parsed('s9'), /Cannot find load "s9": known are s1, idle, threads/);
  assert.throws(() => parsed('threads', '--only', 's1,s9'), /Cannot run only "s9" of threads/);
  assert.throws(() => parsed('threads', '--only', 'mosquitto'), /Cannot run only "mosquitto"/);
  assert.throws(() => parsed('threads', 's1'), /name its parts with --only/);
  assert.throws(() => parsed('--rounds', '0'), RangeError);
});

function parsed(...args: string[]): Options {
  const options = parseOptions(args, known);
  assert.ok(typeof options !== 'string');
  return options;
}
