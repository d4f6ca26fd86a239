import assert from 'node:assert/strict';
import test from 'node:test';
import { type TObject, Type } from 'typebox';
import { checkParams } from './check-params.ts';
import { OperatingError } from './failures.ts';

const ban = Type.Object({
  who: Type.String({ minLength: 1 }),
  as: Type.Union([Type.Literal('client_id'), Type.Literal('username')]),
  until: Type.Optional(Type.Integer({ minimum: 0 })),
});

function refusal(schema: TObject, raw: Record<string, unknown>): string {
  try {
    checkParams(schema, raw);
  } catch (error) {
    assert.ok(error instanceof OperatingError, String(error));
    return `${error.code} ${error.message}`;
  }
  return assert.fail('it was taken');
}

test('checkParams makes numbers and truth values of text, strictly', () => {
  const schema = Type.Object({
    n: Type.Optional(Type.Integer()),
    d: Type.Optional(Type.Number()),
    is: Type.Optional(Type.Boolean()),
    qos: Type.Optional(Type.Union([Type.Literal(0), Type.Literal(1), Type.Literal(2)])),
    either: Type.Optional(Type.Union([Type.Integer(), Type.Array(Type.String())])),
    text: Type.Optional(Type.String()),
  });
  const raw = { n: '-12', d: '1.5', is: 'false', qos: '2', either: '7', text: '5' };
  assert.deepEqual(checkParams(schema, raw), {
    n: -12,
    d: 1.5,
    is: false,
    qos: 2,
    either: 7,
    text: '5',
  });
  for (const n of ['', ' 1', '1.5', '0x10', '1e3', 'NaN', true, []]) {
    assert.match(refusal(schema, { n }), /^108 Cannot use n = .*: expected an integer$/);
  }
  for (const is of ['1', 'yes', 'TRUE', 1]) {
    assert.match(refusal(schema, { is }), /^108 Cannot use is = .*: expected true or false$/);
  }
  assert.equal(refusal(schema, { qos: '3' }), '108 Cannot use qos = "3": expected 0, 1 or 2');
});

test('checkParams names all fields that are missing', () => {
  assert.equal(refusal(ban, {}), "107 missing mandatory params: ['who', 'as']");
  assert.equal(refusal(ban, { who: 'x' }), "107 missing mandatory params: ['as']");
  assert.equal(
    refusal(ban, { who: null, as: 'username' }),
    "107 missing mandatory params: ['who']",
  );
});

test('checkParams names the field, what was found and what is wanted', () => {
  assert.equal(
    refusal(ban, { who: 'x', as: 'nick' }),
    '108 Cannot use as = "nick": expected "client_id" or "username"',
  );
  assert.equal(
    refusal(ban, { who: '', as: 'username' }),
    '108 Cannot use who = "": expected text that is not empty',
  );
  assert.equal(
    refusal(ban, { who: 'x', as: 'username', until: '-1' }),
    '108 Cannot use until = -1: expected an integer of at least 0',
  );
  assert.match(refusal(ban, { who: 'x', as: 'y'.repeat(9999) }), /^.{1,130}$/);
});

test('checkParams names a field inside of a field', () => {
  const schema = Type.Object({
    actions: Type.Array(Type.Object({ name: Type.String(), params: Type.Object({}) })),
  });
  assert.equal(
    refusal(schema, {
      actions: [
        { name: 'a', params: {} },
        { name: 5, params: {} },
      ],
    }),
    '108 Cannot use actions[1].name = 5: expected text',
  );
});

test('checkParams repeats nothing that is secret', () => {
  const schema = Type.Object({ new_pwd: Type.String({ maxLength: 3 }) });
  const said = refusal(schema, { new_pwd: 'hunter2' });
  assert.equal(said, '108 Cannot use new_pwd: expected text of at most 3 characters');
});

test('checkParams fills in defaults and leaves out what the operation does not know', () => {
  const schema = Type.Object({
    _page: Type.Optional(Type.Integer({ minimum: 1, default: 1 })),
    level: Type.String({ default: 'all' }),
    name: Type.Optional(Type.String()),
  });
  const raw = JSON.parse('{"name":null,"other":1,"__proto__":{"polluted":1}}') as Record<
    string,
    unknown
  >;
  assert.deepEqual(checkParams(schema, raw), { _page: 1, level: 'all' });
  assert.equal('polluted' in {}, false);
});

test('checkParams keeps what is not named where the schema is open', () => {
  const schema = Type.Object({ a: Type.Integer() }, { additionalProperties: true });
  assert.deepEqual(checkParams(schema, { a: '1', b: 'x' }), { a: 1, b: 'x' });
});

test('checkParams leaves what it was given as it was', () => {
  const raw = Object.freeze({ who: 'x', as: 'username', until: '5', rest: 1 });
  assert.deepEqual(checkParams(ban, raw), { who: 'x', as: 'username', until: 5 });
});

test('checkParams refuses in the name that an operation has for it', () => {
  for (const raw of [{}, { who: '', as: 'client_id' }]) {
    assert.throws(() => checkParams(ban, raw, 'badRule'), { code: 400, status: 200 });
  }
});
