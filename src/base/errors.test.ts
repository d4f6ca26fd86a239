import assert from 'node:assert/strict';
import test from 'node:test';
import { describeError, describeMistake } from './errors.ts';

test('describeError joins the messages of an error and its causes', () => {
  const disk = new Error('No space left on device');
  const store = new Error('Cannot flush', { cause: disk });
  assert.equal(
    describeError(new Error('Cannot accept message', { cause: store })),
    'Cannot accept message: Cannot flush: No space left on device',
  );
});

test('describeError leaves out a cause that the outer message already quotes', () => {
  const cause = new Error('ECONNREFUSED');
  assert.equal(
    describeError(new Error('Cannot connect: ECONNREFUSED', { cause })),
    'Cannot connect: ECONNREFUSED',
  );
});

test('describeError ends when causes form a ring', () => {
  const one = new Error('one');
  const two = new Error('two', { cause: one });
  one.cause = two;
  assert.equal(describeError(one), 'one: two');
});

test('describeError names the members of an aggregate', () => {
  const error = new AggregateError(
    [new Error('::1 refused'), new Error('127.0.0.1 refused')],
    'Cannot connect',
  );
  assert.equal(describeError(error), 'Cannot connect (::1 refused; 127.0.0.1 refused)');
});

test('describeError uses the name when the message is empty', () => {
  assert.equal(describeError(new RangeError('')), 'RangeError');
});

test('describeError accepts whatever was thrown', () => {
  assert.equal(describeError('plain text'), 'plain text');
  assert.equal(describeError(undefined), 'undefined');
  assert.equal(describeError({ code: 7 }), '{ code: 7 }');
  assert.equal(describeError(Object.create(null)), '[Object: null prototype] {}');
  assert.equal(describeError(new Error('outer', { cause: 42 })), 'outer: 42');
});

test('describeError shows no stack', () => {
  assert.doesNotMatch(
    describeError(new Error('outer', { cause: new Error('inner') })),
    /errors\.test/,
  );
});

test('describeMistake names the place of a mistake, past what is our own code', () => {
  const error = new TypeError('it is not so');
  error.stack = [
    'TypeError: it is not so',
    '    at node:internal/x:1:2',
    `    at PluginCounters.add (${new URL('../plugin/counters.ts', import.meta.url).href}:40:13)`,
    '    at file:///plugins/mine/worker.ts?code=3:4:9',
    '    at Module.default (file:///plugins/mine/worker.ts?code=3:2:1)',
  ].join('\n');
  assert.equal(describeMistake(error), 'it is not so (/plugins/mine/worker.ts:4:9)');
});

test('describeMistake names the line of a syntax error', () => {
  const error = new SyntaxError('Expression expected');
  error.stack =
    '/plugins/mine/worker.ts:4\n  const x = ;\n            ^\n\nSyntaxError: Expression expected';
  assert.equal(describeMistake(error), 'Expression expected (/plugins/mine/worker.ts:4)');
});

test('describeMistake reads as describeError where nothing is wrong with the code', () => {
  assert.equal(describeMistake(new Error('no database')), 'no database');
  assert.equal(describeMistake('no database'), 'no database');
  const ours = new TypeError('ours');
  ours.stack = `TypeError: ours\n    at x (${new URL('clock.ts', import.meta.url).href}:1:2)`;
  assert.equal(describeMistake(ours), 'ours');
});
