import assert from 'node:assert/strict';
import test from 'node:test';
import { RuleRaise } from './eval/raise.ts';
import type { Value } from './eval/value.ts';
import { renderedCharactersMax, Template } from './template.ts';

const selected = {
  ...{ s: 'text', n: 21, f: 0.1 + 0.2, t: true, nil: null, big: 12345678901234567890n },
  o: { 'odd-key': 1, list: [{ v: 'first' }, { v: 'last' }], deep: { er: 'x' } },
  bytes: Buffer.from([0xff, 0]),
} as const satisfies Value;

const rendered: readonly (readonly [string, string])[] = [
  ['', ''],
  ['plain', 'plain'],
  ['${s}', 'text'],
  ['a ${s}, ${n} ${t}', 'a text, 21 true'],
  ['${f}', '0.3'],
  ['${big}', '12345678901234567890'],
  ['${o.deep}', '{"er":"x"}'],
  ['${o.list}', '[{"v":"first"},{"v":"last"}]'],
  ['${o.list[1].v} ${o.list[-1].v} ${o.list[2].v}', 'first last last'],
  ['${o.odd-key}', '1'],
  // A missing value leaves JSON what it is.
  ['{"x": ${absent}, "y": ${nil}, "z": ${o.list[9]}}', '{"x": null, "y": null, "z": null}'],
  ['${o.list[0]}${s[1]}${s.length}${o.list.length}', 'nullnullnullnull'],
  ['${o.constructor} ${__proto__} ${o.__proto__.x}', 'null null null'],
  // None of these is a placeholder.
  ['${} ${a b} $s {s} ${s', '${} ${a b} $s {s} ${s'],
  ['$${s}', '$text'],
  ['${bytes}', '/wA='],
];

for (const [text, wanted] of rendered) {
  test(`the template ${JSON.stringify(text)} gives ${JSON.stringify(wanted)}`, () => {
    assert.equal(new Template(text).render(selected), wanted);
  });
}

test('bytes stay bytes where bytes are wanted', () => {
  assert.deepEqual(new Template('${bytes}').renderBytes(selected), Buffer.from([0xff, 0]));
  assert.deepEqual(
    new Template('a${bytes}${n}').renderBytes(selected),
    Buffer.from('a\xff\x0021', 'latin1'),
  );
  assert.equal(new Template('${s}').renderBytes(selected), 'text');
});

test('what a template gives is bounded', () => {
  const wide = { s: 'x'.repeat(renderedCharactersMax / 2) };
  const raised = (error: unknown): boolean =>
    error instanceof RuleRaise && error.message.includes(String(renderedCharactersMax));
  assert.throws(() => new Template('${s}${s}${s}').render(wide), raised);
  const bytes = { s: Buffer.alloc(renderedCharactersMax) };
  assert.throws(() => new Template('${s}.').renderBytes(bytes), raised);
});

test('a template says what is missing, and whether anything can be', () => {
  assert.equal(new Template('a/${s}/${o.none}/${nil}').missingIn(selected), '${o.none}');
  assert.equal(new Template('a/${s}').missingIn(selected), undefined);
  assert.equal(new Template('a/b').constant, 'a/b');
  assert.equal(new Template('').constant, '');
  assert.equal(new Template('${s}').constant, undefined);
  assert.deepEqual(new Template('a/${s}/b').literals, ['a/', '/b']);
});

test('values of a statement travel beside it', () => {
  const template = new Template(
    'insert into t values (${s}, ${o.deep}, ${absent}, ${t}, ${bytes})',
  );
  const values = ['text', '{"er":"x"}', null, true, Buffer.from([0xff, 0])];
  const questions = template.statement('?');
  assert.equal(questions.text, 'insert into t values (?, ?, ?, ?, ?)');
  assert.deepEqual(questions.values(selected), values);
  const numbered = template.statement('$n');
  assert.equal(numbered.text, 'insert into t values ($1, $2, $3, $4, $5)');
  const hostile = { s: "'); drop table t; --" };
  assert.deepEqual(new Template('(${s})').statement('?').values(hostile), [hostile.s]);
});
