import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import { jsonCharactersMax, jsonDepthMax, jsonOrMissing, parseJson, toJson } from './json.ts';
import { RuleRaise } from './raise.ts';
import { numberOfText } from './value.ts';
import { textOf } from './value-text.ts';

const raised = (message: RegExp) => (error: unknown) => {
  assert.ok(error instanceof RuleRaise);
  assert.match(error.message, message);
  return true;
};

test('JSON is read and written as the runtime does it', () => {
  fc.assert(
    fc.property(fc.json({ maxDepth: 5 }), (text) => {
      fc.pre(!/[0-9]{16}/.test(text));
      assert.deepEqual(parseJson(text), JSON.parse(text));
      assert.equal(toJson(parseJson(text)), JSON.stringify(JSON.parse(text)));
    }),
  );
});

test('integers keep all their digits', () => {
  const text = '{"a":[12345678901234567890,-9007199254740993],"b":1}';
  assert.deepEqual(parseJson(text), { a: [12345678901234567890n, -9007199254740993n], b: 1 });
  assert.equal(toJson(parseJson(text)), text);
  assert.equal(parseJson('9007199254740991'), 9007199254740991);
  assert.equal(parseJson('1234567890123456789.5'), Number('1234567890123456789.5'));
  assert.equal(parseJson('1e20'), 1e20);
  assert.equal(parseJson(`1${'0'.repeat(308)}`), 1e308);
  assert.deepEqual(parseJson('{"n":"12345678901234567890"}'), { n: '12345678901234567890' });
});

test('what is no JSON is missing, or raises', () => {
  for (const text of [
    '',
    ' ',
    'x',
    '{',
    '[1,]',
    "{'a':1}",
    'nul',
    'true x',
    '-',
    '\ufeff{}',
    'NaN',
  ]) {
    assert.equal(jsonOrMissing(text), undefined, text);
    assert.throws(() => parseJson(text), raised(/^it is no JSON$/));
  }
  assert.equal(jsonOrMissing(' \n null'), null);
  assert.equal(jsonOrMissing('false'), false);
});

test('JSON is bounded in depth and length', () => {
  const nested = (depth: number): string => '['.repeat(depth) + ']'.repeat(depth);
  assert.ok(Array.isArray(parseJson(nested(jsonDepthMax))));
  assert.throws(() => parseJson(nested(jsonDepthMax + 1)), raised(/nested more than 128 deep/));
  assert.throws(
    () => parseJson('{"a":'.repeat(200) + '1' + '}'.repeat(200)),
    raised(/nested more/),
  );
  assert.throws(() => parseJson(nested(1_000_000)), raised(/nested more/));
  assert.equal(jsonOrMissing(nested(1_000_000)), undefined);
  const texts = JSON.stringify([`\\"${'['.repeat(300)}`, `${'{'.repeat(300)}"\\`]);
  assert.deepEqual(parseJson(texts), JSON.parse(texts));
  assert.throws(() => parseJson(`"${'['.repeat(300)}`), raised(/no JSON/));
  assert.throws(() => parseJson(`"${'x'.repeat(jsonCharactersMax)}"`), raised(/more than 4194304/));
});

test('what is written is bounded', () => {
  assert.throws(() => toJson('"'.repeat(jsonCharactersMax)), raised(/the JSON has more than/));
  assert.throws(
    () => toJson(['x'.repeat(jsonCharactersMax), 'x']),
    raised(/the value has more than/),
  );
  let deep: unknown[] = [];
  for (let i = 0; i < 2000; i++) deep = [deep];
  assert.throws(() => toJson(deep as []), raised(/nested more than 1024 deep/));
});

test('bytes and missing values are written as JSON can', () => {
  assert.equal(toJson(Buffer.from('é')), '"é"');
  assert.equal(toJson([Buffer.from('ff', 'hex'), undefined, null]), '["/w==",null,null]');
  assert.equal(toJson({ a: undefined, b: 1n }), '{"b":1}');
  assert.equal(toJson(undefined), 'null');
  assert.equal(toJson({ toJSON: 1 }), '{"toJSON":1}');
});

test('values are texts as people write them', () => {
  const rows: readonly (readonly [Parameters<typeof textOf>[0], string])[] = [
    ['a', 'a'],
    [1, '1'],
    [-0, '0'],
    [0.1 + 0.2, '0.3'],
    [12345678901234567890n, '12345678901234567890'],
    [false, 'false'],
    [null, 'null'],
    [undefined, 'null'],
    [[1, { a: 'b' }], '[1,{"a":"b"}]'],
    [Buffer.from('abc'), 'abc'],
    [Buffer.from('\ufeffa'), '\ufeffa'],
  ];
  for (const [value, text] of rows) assert.equal(textOf(value), text);
});

test('a text is a number only if all of it writes one', () => {
  const rows: readonly (readonly [string, number | bigint | undefined])[] = [
    ['12', 12],
    ['+12', 12],
    ['-1.5e3', -1500],
    ['1.', undefined],
    ['.5', undefined],
    ['', undefined],
    ['1 ', undefined],
    ['1e400', undefined],
    ['1'.repeat(310), undefined],
    ['9007199254740993', 9007199254740993n],
    ['-9007199254740993', -9007199254740993n],
  ];
  for (const [text, number] of rows) assert.equal(numberOfText(text), number, text);
});
