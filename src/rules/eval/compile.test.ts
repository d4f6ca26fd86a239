import assert from 'node:assert/strict';
import test from 'node:test';
import { parseSql } from '../sql/parser.ts';
import { compileStatement } from './compile.ts';
import { compiled, eventOf, run, sampleColumns } from './eval-fixture.ts';

const from = 'FROM "message.publish"';
const payload = (value: unknown): Readonly<Record<string, unknown>> => ({
  payload: typeof value === 'string' ? value : JSON.stringify(value),
});

interface Row {
  /** Without FROM; `|` stands where it belongs. */
  readonly sql: string;
  readonly payload?: unknown;
  readonly columns?: Readonly<Record<string, unknown>>;
  /** Undefined: no match. */
  readonly out: readonly unknown[] | undefined;
}

const data = { t: 12, name: 'ann', flag: true, no: null, o: { a: { b: 7 } }, list: [5, 6, 7] };

const withoutUsername: Record<string, unknown> = { ...sampleColumns, node: null };
delete withoutUsername['username'];

const rows: readonly Row[] = [
  // Fields and their names
  { sql: 'SELECT topic |', out: [{ topic: 't/a' }] },
  { sql: 'SELECT topic as t, qos as q |', out: [{ t: 't/a', q: 1 }] },
  { sql: 'SELECT payload.o.a |', payload: data, out: [{ payload: { o: { a: { b: 7 } } } }] },
  {
    sql: 'SELECT payload.t, payload.name |',
    payload: data,
    out: [{ payload: { t: 12, name: 'ann' } }],
  },
  { sql: 'SELECT payload.nothing |', payload: data, out: [{}] },
  { sql: 'SELECT payload.no as x |', payload: data, out: [{ x: null }] },
  {
    sql: "SELECT 1, 'a', true, null, 1.5 |",
    out: [{ 1: 1, a: 'a', true: true, null: null, 1.5: 1.5 }],
  },
  { sql: 'SELECT upper(topic) |', out: [{ 'upper(topic)': 'T/A' }] },
  { sql: 'SELECT qos+1 |', out: [{ 'qos + 1': 2 }] },
  { sql: 'SELECT payload.list[1] |', payload: data, out: [{ 'payload.list[1]': 5 }] },
  { sql: 'SELECT qos > 0 as a, qos = 2 b |', out: [{ a: true, b: false }] },
  { sql: 'SELECT 1 as a.b.c, 2 as a.d |', out: [{ a: { b: { c: 1 }, d: 2 } }] },
  { sql: 'SELECT 1 as a, 2 as a.b |', out: [{ a: { b: 2 } }] },
  { sql: 'SELECT payload.o as a, 2 as a.x |', payload: data, out: [{ a: { a: { b: 7 }, x: 2 } }] },
  { sql: 'SELECT 1 as a[0], 2 as a[0], 3 as a[-0] |', out: [{ a: [2, 1, 3] }] },
  { sql: 'SELECT [1, 2, 3] as a, 9 as a[2], 8 as a[-1], 7 as a[4] |', out: [{ a: [1, 9, 8, 7] }] },
  { sql: 'SELECT 1 as a[5] |', out: undefined },
  { sql: 'SELECT 1 as a, 2 as a[1] |', out: [{ a: [2] }] },
  { sql: 'SELECT [1] as a, 1 as a[-2] |', out: undefined },
  { sql: 'SELECT 1 as a[0].b |', out: [{ a: [{ b: 1 }] }] },
  {
    sql: 'SELECT 5 as __proto__, 6 as constructor, 7 as b.__proto__ |',
    out: [JSON.parse('{"__proto__": 5, "constructor": 6, "b": {"__proto__": 7}}')],
  },
  // Aliases
  {
    sql: 'SELECT payload.o as o, o.a as a, a.b as b |',
    payload: data,
    out: [{ o: { a: { b: 7 } }, a: { b: 7 }, b: 7 }],
  },
  { sql: 'SELECT 1 as x, x + 1 as x, x + 1 as y |', out: [{ x: 2, y: 3 }] },
  { sql: 'SELECT payload.t as temp | WHERE temp > 10', payload: data, out: [{ temp: 12 }] },
  { sql: 'SELECT payload.t as temp | WHERE temp > 12', payload: data, out: undefined },
  { sql: "SELECT payload.topic as topic | WHERE topic = 't/a'", payload: data, out: undefined },
  {
    sql: "SELECT payload.t | WHERE payload.name = 'ann'",
    payload: data,
    out: [{ payload: { t: 12 } }],
  },
  {
    sql: 'SELECT payload as p, p.t as t |',
    payload: data,
    out: [{ p: JSON.stringify(data), t: 12 }],
  },
  {
    sql: 'SELECT 1 as payload.t, payload.name as n, payload.t as t |',
    payload: data,
    out: [{ payload: { t: 1 }, n: 'ann', t: 1 }],
  },
  { sql: 'SELECT payload.nothing as payload.t, payload.t as t |', payload: data, out: [{ t: 12 }] },
  { sql: 'SELECT 1 as a.x, a as a.y |', out: [{ a: { x: 1, y: { x: 1 } } }] },
  { sql: 'SELECT 1 as u.a | WHERE u.a = 1', out: [{ u: { a: 1 } }] },
  // Payloads
  { sql: 'SELECT payload |', payload: 'no json', out: [{ payload: 'no json' }] },
  { sql: 'SELECT payload.x as x |', payload: 'no json', out: [{}] },
  { sql: 'SELECT payload.x as x |', payload: '"text"', out: [{}] },
  {
    sql: 'SELECT payload[2] as x, payload.1 as y, payload[-1] as z |',
    payload: [1, 2, 3],
    out: [{ x: 2, y: 1, z: 3 }],
  },
  { sql: 'SELECT payload.inner.x as x |', payload: { inner: '{"x": 1}' }, out: [{ x: 1 }] },
  { sql: 'SELECT payload.inner.x as x |', payload: { inner: '{"x": ' }, out: [{}] },
  { sql: "SELECT payload.'odd key' as x |", payload: { 'odd key': 1 }, out: [{ x: 1 }] },
  {
    sql: 'SELECT payload.__proto__ as x, payload.constructor as y, payload.toString.name as z |',
    payload: {},
    out: [{}],
  },
  { sql: 'SELECT payload.__proto__.x as x |', payload: '{"__proto__": {"x": 1}}', out: [{ x: 1 }] },
  { sql: 'SELECT payload.list.length as x, payload.name.length as y |', payload: data, out: [{}] },
  {
    sql: 'SELECT payload.n as n |',
    payload: '{"n": 12345678901234567890}',
    out: [{ n: 12345678901234567890n }],
  },
  {
    sql: 'SELECT payload.x as x |',
    payload: `{"x":${'['.repeat(200)}${']'.repeat(200)}}`,
    out: [{}],
  },
  // Indexes
  {
    sql: 'SELECT payload.list[0] as a, payload.list[4] as b, payload.list[-4] as c |',
    payload: data,
    out: [{}],
  },
  {
    sql: 'SELECT payload.list[qos] as a, payload.list[qos + 1] as b |',
    payload: data,
    out: [{ a: 5, b: 6 }],
  },
  {
    sql: "SELECT payload['name'] as a, payload.list['x'] as b, payload.list[1.5] as c, payload.list[null] as d |",
    payload: data,
    out: [{ a: 'ann' }],
  },
  {
    sql: 'SELECT payload.list[1..2] as a, payload.list[-2..-1] as b, payload.list[2..9] as c, payload.list[3..1] as d, payload.list[9..9] as e |',
    payload: data,
    out: [{ a: [5, 6], b: [6, 7], c: [6, 7], d: [], e: [] }],
  },
  {
    sql: 'SELECT payload.name[1..2] as a, payload.list[1..null] as b, payload.nothing[1..2].x as c |',
    payload: data,
    out: [{}],
  },
  {
    sql: 'SELECT [1..3] as a, [3..1] as b, [-1..1] as c, [] as d |',
    out: [{ a: [1, 2, 3], b: [], c: [-1, 0, 1], d: [] }],
  },
  { sql: 'SELECT [1..10001] as a |', out: undefined },
  { sql: "SELECT [1..'x'] as a |", out: undefined },
  { sql: 'SELECT [null..1] as a |', out: undefined },
  { sql: 'SELECT [topic, payload.nothing, [qos]] as a |', out: [{ a: ['t/a', null, [1]] }] },
  // All fields
  { sql: 'SELECT * |', out: [{ ...sampleColumns }] },
  { sql: 'SELECT 1 as qos, * |', out: [{ ...sampleColumns }] },
  { sql: 'SELECT *, 5 as qos |', out: [{ ...sampleColumns, qos: 5 }] },
  {
    sql: 'SELECT *, 5 as payload.n |',
    out: [{ ...sampleColumns, payload: { msg: 'hello', n: 5 } }],
  },
  {
    sql: 'SELECT * |',
    columns: { username: undefined, node: null },
    out: [withoutUsername],
  },
  // Comparisons
  { sql: 'SELECT 1 | WHERE payload.t = 12', payload: data, out: [{ 1: 1 }] },
  { sql: 'SELECT 1 | WHERE payload.t > 12', payload: data, out: undefined },
  { sql: 'SELECT 1 | WHERE payload.nothing > 30', payload: data, out: undefined },
  { sql: 'SELECT 1 | WHERE payload.nothing < 30', payload: data, out: undefined },
  { sql: 'SELECT 1 | WHERE payload.nothing >= 0 OR qos = 1', payload: data, out: [{ 1: 1 }] },
  { sql: 'SELECT 1 | WHERE payload.nothing = 30', payload: data, out: undefined },
  { sql: 'SELECT 1 | WHERE payload.nothing != 30', payload: data, out: [{ 1: 1 }] },
  { sql: "SELECT 1 | WHERE payload.nothing = 'undefined'", payload: data, out: undefined },
  {
    sql: 'SELECT 1 | WHERE payload.nothing = null AND payload.no = undefined',
    payload: data,
    out: [{ 1: 1 }],
  },
  {
    sql: "SELECT 1 | WHERE payload.t = '12' AND '12.0' = payload.t AND payload.t < '13'",
    payload: data,
    out: [{ 1: 1 }],
  },
  { sql: 'SELECT 1 | WHERE payload.name > 5', payload: data, out: undefined },
  { sql: "SELECT 1 | WHERE payload.flag = 'true'", payload: data, out: [{ 1: 1 }] },
  { sql: 'SELECT 1 | WHERE payload.list = [5, 6, 7.0]', payload: data, out: [{ 1: 1 }] },
  { sql: "SELECT 1 | WHERE topic =~ 't/#' AND topic =~ '+/a'", out: [{ 1: 1 }] },
  { sql: "SELECT 1 | WHERE topic =~ 'x/#'", out: undefined },
  { sql: "SELECT 1 | WHERE '$SYS/x' =~ '#'", out: undefined },
  { sql: "SELECT 1 | WHERE NOT payload.nothing =~ 't/#'", out: [{ 1: 1 }] },
  { sql: 'SELECT 1 | WHERE NOT topic =~ 5', out: [{ 1: 1 }] },
  { sql: 'SELECT 1 | WHERE topic = "t/a"', out: [{ 1: 1 }] },
  { sql: 'SELECT 1 | WHERE qos IN (0, 1)', out: [{ 1: 1 }] },
  { sql: "SELECT 1 | WHERE qos IN ('1')", out: undefined },
  { sql: 'SELECT 1 | WHERE qos NOT IN (0, 2)', out: [{ 1: 1 }] },
  { sql: 'SELECT 1 | WHERE qos NOT IN (1)', out: undefined },
  { sql: 'SELECT 1 | WHERE payload.nothing IN (null)', out: [{ 1: 1 }] },
  // Booleans
  { sql: 'SELECT 1 | WHERE payload.flag', payload: data, out: [{ 1: 1 }] },
  { sql: 'SELECT 1 | WHERE NOT payload.flag', payload: data, out: undefined },
  { sql: 'SELECT 1 | WHERE NOT payload.t', payload: data, out: undefined },
  { sql: 'SELECT 1 | WHERE payload.t', payload: data, out: undefined },
  { sql: 'SELECT 1 | WHERE NOT (qos = 0)', out: [{ 1: 1 }] },
  { sql: 'SELECT 1 | WHERE NOT NOT qos = 1', out: [{ 1: 1 }] },
  { sql: 'SELECT 1 | WHERE qos = 1 OR upper(1) = 1', out: [{ 1: 1 }] },
  { sql: 'SELECT 1 | WHERE qos = 0 AND upper(1) = 1', out: undefined },
  { sql: "SELECT 'x' AND true as a, true OR 1 as b |", out: [{ a: false, b: true }] },
  // CASE
  {
    sql: "SELECT CASE WHEN qos = 0 THEN 'a' WHEN qos = 1 THEN 'b' ELSE 'c' END as x |",
    out: [{ x: 'b' }],
  },
  {
    sql: "SELECT CASE qos WHEN '1' THEN 'text' WHEN 1 THEN 'number' END as x |",
    out: [{ x: 'number' }],
  },
  { sql: "SELECT CASE qos WHEN 5 THEN 'a' END as x |", out: [{}] },
  { sql: 'SELECT CASE WHEN payload.t THEN 1 ELSE 2 END as x |', payload: data, out: [{ x: 2 }] },
  { sql: 'SELECT 1 | WHERE CASE WHEN qos = 1 THEN true ELSE false END', out: [{ 1: 1 }] },
  // Arithmetic
  {
    sql: 'SELECT 1 + 2 * 3 as a, 7 div 2 as b, -7 div 2 as c, 7 mod 4 as d, 1 / 2 as e |',
    out: [{ a: 7, b: 3, c: -3, d: 3, e: 0.5 }],
  },
  {
    sql: 'SELECT -qos as a, +qos as b, -(-2) as c, -payload.t as d |',
    payload: data,
    out: [{ a: -1, b: 1, c: 2, d: -12 }],
  },
  {
    sql: 'SELECT 9007199254740991 + 1 as a, 9007199254740993 - 2 as b, 4294967296 * 4294967296 as c |',
    out: [{ a: 9007199254740992n, b: 9007199254740991, c: 18446744073709551616n }],
  },
  {
    sql: 'SELECT 9007199254740993 + 0.5 as a, 9007199254740993 / 2 as b, 1e300 * 2 as c, 18446744073709551616 div 4294967296 as d |',
    out: [{ a: 9007199254740992, b: 4503599627370496, c: 2e300, d: 4294967296 }],
  },
  { sql: "SELECT 'a' + 'b' as x |", out: [{ x: 'ab' }] },
  { sql: "SELECT 'a' + 1 as x |", out: undefined },
  { sql: "SELECT '1' * 2 as x |", out: undefined },
  { sql: 'SELECT -topic as x |', out: undefined },
  { sql: 'SELECT payload.nothing + 1 as x |', out: undefined },
  { sql: 'SELECT 1 / 0 as x |', out: undefined },
  { sql: 'SELECT 1 div 0 as x |', out: undefined },
  { sql: 'SELECT 1.5 div 1 as x |', out: undefined },
  { sql: 'SELECT 1 mod 1.5 as x |', out: undefined },
  { sql: 'SELECT 1e308 * 10 as x |', out: undefined },
  { sql: 'SELECT 1e308 + 1e308 as x |', out: undefined },
  { sql: 'SELECT 0 * -1 as x |', out: [{ x: 0 }] },
  // Raises
  { sql: 'SELECT upper(payload.t) as x |', payload: data, out: undefined },
  { sql: 'SELECT topic | WHERE upper(qos) = 1', out: undefined },
  // FOREACH
  { sql: 'FOREACH payload.list |', payload: data, out: [{ item: 5 }, { item: 6 }, { item: 7 }] },
  { sql: 'FOREACH payload.list as n |', payload: data, out: [{ n: 5 }, { n: 6 }, { n: 7 }] },
  {
    sql: 'FOREACH payload |',
    payload: [{ a: 1 }, null, [2]],
    out: [{ a: 1 }, { item: null }, { item: [2] }],
  },
  { sql: 'FOREACH json_decode(payload) |', payload: [1], out: [{ item: 1 }] },
  { sql: 'FOREACH payload.t |', payload: data, out: [] },
  { sql: 'FOREACH payload.nothing |', payload: data, out: [] },
  {
    sql: 'FOREACH payload.list DO item * 2 as x, topic |',
    payload: data,
    out: [
      { x: 10, topic: 't/a' },
      { x: 12, topic: 't/a' },
      { x: 14, topic: 't/a' },
    ],
  },
  { sql: 'FOREACH payload.list INCASE item > 5 |', payload: data, out: [{ item: 6 }, { item: 7 }] },
  { sql: 'FOREACH payload.list as e DO e as x INCASE x > 6 |', payload: data, out: [{ x: 7 }] },
  { sql: 'FOREACH payload.list as e DO e - 5 as e INCASE e > 1 |', payload: data, out: [{ e: 2 }] },
  {
    sql: 'FOREACH payload.list as e DO 12 / (e - 6) as x INCASE e != 6 |',
    payload: data,
    out: [{ x: -12 }, { x: 12 }],
  },
  {
    sql: 'FOREACH payload.list as e DO 12 / (e - 6) as x |',
    payload: data,
    out: [{ x: -12 }, { x: 12 }],
  },
  { sql: 'FOREACH payload.list as e INCASE 12 / (e - 6) > 0 |', payload: data, out: [{ e: 7 }] },
  {
    sql: 'FOREACH qos as q, payload.list as e DO q + e as x |',
    payload: data,
    out: [{ x: 6 }, { x: 7 }, { x: 8 }],
  },
  {
    sql: 'FOREACH payload.o as o, o.a as a, payload.list DO a.b + item as x | WHERE a.b = 7',
    payload: data,
    out: [{ x: 12 }, { x: 13 }, { x: 14 }],
  },
  {
    sql: 'FOREACH payload.list as e DO e | WHERE length(e) = 3',
    payload: data,
    out: [{ e: 5 }, { e: 6 }, { e: 7 }],
  },
  { sql: 'FOREACH payload.list as e DO e | WHERE length(e) = 4', payload: data, out: undefined },
  { sql: 'FOREACH payload.list | WHERE qos = 0', payload: data, out: undefined },
  { sql: 'FOREACH nth(9, payload.list) |', payload: data, out: undefined },
  {
    sql: 'FOREACH payload.list as e DO e as a.b, 1 as a.c |',
    payload: { list: [1] },
    out: [{ a: { b: 1, c: 1 } }],
  },
  {
    sql: 'FOREACH 0 as s, payload.list as e DO s + e as s |',
    payload: data,
    out: [{ s: 5 }, { s: 6 }, { s: 7 }],
  },
  {
    sql: 'FOREACH 0 as s, payload.list as e DO s + e as s INCASE s > 5 |',
    payload: data,
    out: [{ s: 6 }, { s: 7 }],
  },
  {
    sql: 'FOREACH payload.list DO * |',
    payload: { list: [1] },
    out: [{ ...sampleColumns, payload: '{"list":[1]}' }],
  },
  {
    sql: 'FOREACH payload.rows DO item.id as id, item.v as v INCASE item.v > 1 |',
    payload: { rows: [{ id: 'a', v: 1 }, { id: 'b', v: 2 }, { id: 'c' }] },
    out: [{ id: 'b', v: 2 }],
  },
  { sql: 'FOREACH payload.text |', payload: { text: '[1, 2]' }, out: [{ item: 1 }, { item: 2 }] },
  {
    sql: 'FOREACH payload.rows |',
    payload: '{"rows": [{"__proto__": 1}]}',
    out: [JSON.parse('{"__proto__": 1}')],
  },
  {
    sql: 'FOREACH [1..3] as i DO payload.list[i] as x |',
    payload: data,
    out: [{ x: 5 }, { x: 6 }, { x: 7 }],
  },
];

for (const { sql, payload: given, columns, out } of rows) {
  const statement = sql.replace('|', from);
  test(`${statement} does what is expected`, () => {
    const all = { ...(given === undefined ? {} : payload(given)), ...columns };
    assert.deepEqual(run(statement, all), out);
    assert.deepEqual(compiled(statement).explain(eventOf(all)).matches, out);
  });
}

test('outputs have no prototype that a key set', () => {
  const [out] = run(`SELECT json_decode('{"x": 1}') as __proto__ ${from}`) ?? [];
  assert.equal(Object.getPrototypeOf(out), Object.prototype);
  assert.equal((out as { x?: unknown }).x, undefined);
});

const errors: readonly (readonly [sql: string, kind: string, message: RegExp, at: number])[] = [
  [`SELECT foo ${from}`, 'unknown_column', /^Unknown Column: foo$/, 7],
  [`SELECT topic ${from} WHERE foo.bar = 1`, 'unknown_column', /^Unknown Column: foo$/, 42],
  [`SELECT x + 1 as y, 1 as x ${from}`, 'unknown_column', /^Unknown Column: x$/, 7],
  [`SELECT item ${from}`, 'unknown_column', /^Unknown Column: item$/, 7],
  [`FOREACH payload.a as e DO item ${from}`, 'unknown_column', /^Unknown Column: item$/, 26],
  [
    `FOREACH payload.a DO item as x ${from} WHERE x = 1`,
    'unknown_column',
    /^Unknown Column: x$/,
    60,
  ],
  [`SELECT constructor ${from}`, 'unknown_column', /^Unknown Column: constructor$/, 7],
  [`SELECT payload.a[foo] ${from}`, 'unknown_column', /^Unknown Column: foo$/, 17],
  [`SELECT nope(1) ${from}`, 'unknown_function', /^Unknown Function: nope$/, 7],
  [`SELECT toString() ${from}`, 'unknown_function', /^Unknown Function: tostring$/, 7],
  [`SELECT schema_decode('a', payload) ${from}`, 'unknown_function', /schema_decode/, 7],
  [`SELECT upper() ${from}`, 'bad_sql', /^Cannot call upper: found 0 arguments, expected 1$/, 7],
  [`SELECT substr(1) ${from}`, 'bad_sql', /found 1 arguments, expected 2 to 3$/, 7],
  [`SELECT sprintf() ${from}`, 'bad_sql', /found 0 arguments, expected at least 1$/, 7],
  [`SELECT regex_replace(topic, '(?=x)', '') ${from}`, 'bad_sql', /no regular expression/, 7],
  [`FOREACH *, payload.a ${from}`, 'bad_sql', /^Cannot use "\*" in FOREACH/, 8],
  [`FOREACH payload.a as b.c ${from}`, 'bad_sql', /^Cannot name an element by a path/, 8],
];

for (const [sql, kind, message, at] of errors) {
  test(`${sql} is refused with its place`, () => {
    assert.throws(() => compiled(sql), { name: 'CompileError', kind, message, at });
  });
}

test('without columns any name may be one', () => {
  const statement = compileStatement(parseSql(`SELECT foo ${from}`), { columns: undefined });
  assert.deepEqual(statement.run(eventOf({ foo: 1 })), [{ foo: 1 }]);
  assert.deepEqual(statement.run(eventOf()), [{}]);
  const nested = compileStatement(parseSql(`SELECT 1 as foo.x ${from}`), { columns: undefined });
  assert.deepEqual(nested.run(eventOf()), [{ foo: { x: 1 } }]);
});

test('without a clock of its own a statement uses that of the machine', () => {
  const statement = compileStatement(
    parseSql(`SELECT now_timestamp() >= 1700000000 as x ${from}`),
    { columns: undefined },
  );
  assert.deepEqual(statement.run(eventOf()), [{ x: true }]);
});

test('the payload is only read as JSON when somebody looks into it', () => {
  const event = eventOf();
  compiled(`SELECT topic, payload, qos + 1 as q ${from} WHERE topic =~ 't/#'`).run(event);
  assert.equal(event.jsonReads, 0);
  compiled(`SELECT payload.msg ${from} WHERE qos = 0`).run(event);
  assert.equal(event.jsonReads, 0);
  compiled(`SELECT payload.msg ${from}`).run(event);
  assert.equal(event.jsonReads, 1);
});

test('what a statement writes never changes the event', () => {
  const event = eventOf({ payload: '{"o": {"a": 1}, "l": [1]}' });
  const before = structuredClone(event.json());
  const sql = `SELECT payload.o as o, 2 as o.a, payload.l as l, 3 as l[0], map_put('o.a', 9, payload) as p, 5 as payload.o.a ${from}`;
  assert.deepEqual(compiled(sql).run(event), [
    { o: { a: 2 }, l: [3, 1], p: { o: { a: 9 }, l: [1] }, payload: { o: { a: 5 } } },
  ]);
  assert.deepEqual(event.json(), before);
});

test('outputs that would unfold to more than memory holds are no match', () => {
  const doubled = (first: string, next: string): string =>
    `SELECT ${[first, ...Array(60).fill(next)].join(', ')} ${from}`;
  const reason = /the value has more than 100000 parts/;
  for (const sql of [
    doubled('[1] as x', '[x, x] as x'),
    doubled('1 as a.x', 'a as a.y, a as a.z'),
    doubled('map_new() as m', "map_put('a', m, map_put('b', m, map_new())) as m"),
    doubled("mput('a', 1, map_new()) as m", "mput('a', m, mput('b', m, map_new())) as m"),
  ]) {
    const { matches, misses } = compiled(sql).explain(eventOf());
    assert.equal(matches, undefined);
    assert.match(misses[0]?.reason ?? '', reason);
  }
  const [, ...later] = doubled('[1] as x', '[x, x] as x').split('SELECT ');
  for (const sql of [
    `FOREACH ${later[0]?.replace(from, `, [1] as e DO x as y ${from}`)}`,
    `FOREACH ${later[0]}`,
  ]) {
    const { matches, misses } = compiled(sql).explain(eventOf());
    assert.deepEqual(matches, []);
    assert.match(misses[0]?.reason ?? '', reason);
  }
  const texts = doubled("pad('', 1000000) as t", '[t, t] as x');
  assert.equal(compiled(texts).run(eventOf())?.length, 1);
  const many = doubled("pad('', 1000000) as t", '[t, t, t, t, t] as x');
  assert.equal(compiled(many).run(eventOf()), undefined);
  const long = doubled("pad('', 1000) as t", 't + t as t');
  assert.equal(compiled(long).run(eventOf()), undefined);
  const compared = doubled('[1] as x, [1] as y', '[x, x] as x, [y, y] as y').replace(
    from,
    `, x = y as same ${from}`,
  );
  assert.equal(compiled(compared).run(eventOf()), undefined);
  const deep = `SELECT ${Array(1020).fill('[x] as x').join(', ').replace('[x]', '[1]')} ${from}`;
  assert.equal(compiled(deep).run(eventOf())?.length, 1);
});

test('FOREACH goes through a bounded number of elements', () => {
  const sql = `FOREACH payload ${from}`;
  assert.equal(run(sql, payload(Array(10_000).fill(1)))?.length, 10_000);
  assert.equal(run(sql, payload(Array(10_001).fill(1))), undefined);
});

test('an error of the program is no raise', () => {
  const broken = { ...eventOf(), get: () => assert.fail('broken') };
  assert.throws(() => compiled(`SELECT topic ${from}`).run(broken), /broken/);
  assert.throws(() => compiled(`SELECT 1 ${from} WHERE topic = 1`).run(broken), /broken/);
  assert.throws(() => compiled(`SELECT upper(topic) ${from}`).run(broken), /broken/);
});
