import assert from 'node:assert/strict';
import test from 'node:test';
import { RuleFault } from '../rule-fault.ts';
import { checkParams, type ParamSpec, type ParamSpecs, paramViews } from './param-spec.ts';
import { republish } from './republish.ts';

const words = { title: { en: 't', zh: 't' }, description: { en: 'd', zh: 'd' } };
const spec = (type: ParamSpec['type'], more: Partial<ParamSpec> = {}): ParamSpec => ({
  ...{ type, required: false, ...words },
  ...more,
});

const specs: ParamSpecs = {
  must: spec('string', { required: true, default: 'form only' }),
  text: spec('string', { default: 'filled' }),
  one: spec('number', { default: 1, enum: [1, 2] }),
  near: spec('number', { range: [1, 10] }),
  is: spec('boolean'),
  list: spec('array'),
  url: spec('string', { format: 'url' }),
  topic: spec('string', { format: 'topic' }),
  inner: spec('object', {
    schema: { deep: spec('number', { required: true }), d: spec('number', { default: 3 }) },
  }),
};

test('defaults are filled in, what is not specified is kept', () => {
  const given = { must: 'x', inner: { deep: 1 }, extra: [1], topic: 'a/${b}' };
  assert.deepEqual(checkParams(specs, given, 'it'), {
    ...{ must: 'x', text: 'filled', one: 1, extra: [1], topic: 'a/${b}' },
    inner: { deep: 1, d: 3 },
  });
  assert.deepEqual(given.inner, { deep: 1 });
});

const faults: readonly (readonly [unknown, RegExp])[] = [
  [null, /found null, expected an object/],
  [[], /found \[\], expected an object/],
  [{}, /Cannot use it: parameter "must" is missing/],
  [{ must: 1 }, /parameter "must": found 1, expected a string/],
  [{ must: 'x', one: 3 }, /found 3, expected one of 1, 2/],
  [{ must: 'x', one: '1' }, /found "1", expected a number/],
  [{ must: 'x', near: 11 }, /found 11, expected 1 to 10/],
  [{ must: 'x', is: 'true' }, /expected a boolean/],
  [{ must: 'x', list: {} }, /expected an array/],
  [{ must: 'x', inner: [] }, /expected an object/],
  [{ must: 'x', inner: {} }, /parameter "inner": parameter "deep" is missing/],
  [{ must: 'x', url: 'ftp://a' }, /expected a URL/],
  [{ must: 'x', url: 'a' }, /expected a URL/],
  [{ must: 'x', topic: '' }, /expected a topic/],
  [{ must: 'x', topic: 'a/#' }, /wildcard "#" is not allowed/],
  [{ must: 'x', topic: 'a/${b}/+' }, /wildcards are not allowed/],
];

for (const [given, message] of faults) {
  test(`parameters ${JSON.stringify(given)} are refused`, () => {
    assert.throws(
      () => checkParams(specs, given, 'it'),
      (error) =>
        error instanceof RuleFault && error.kind === 'bad_params' && message.test(error.message),
    );
  });
}

test('parameters are shown in their order', () => {
  const shown = paramViews(republish.params);
  assert.deepEqual(
    Object.entries(shown).map(([name, { order }]) => [order, name]),
    [
      [1, 'target_topic'],
      [2, 'target_qos'],
      [3, 'target_retain'],
      [4, 'payload_tmpl'],
    ],
  );
});

test('a URL of http or https is one', () => {
  const given = { must: 'x', url: 'https://a.example:8080/x?y=1', near: 10, is: false, list: [] };
  assert.deepEqual(checkParams(specs, given, 'it'), { ...given, text: 'filled', one: 1 });
});
