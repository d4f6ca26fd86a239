import assert from 'node:assert/strict';
import test from 'node:test';
import { compiled, eventOf } from './eval-fixture.ts';

const from = 'FROM "message.publish"';

/** Statement, payload, clause, reason. */
const rows: readonly (readonly [sql: string, payload: unknown, clause: string, reason: string])[] =
  [
    [
      `SELECT 1 ${from} WHERE payload.t > 30`,
      { t: 12 },
      'WHERE',
      'payload.t > 30 is false: payload.t is number 12',
    ],
    [
      `SELECT 1 ${from} WHERE qos = 1 AND payload.t > 30 AND qos = 2`,
      {},
      'WHERE',
      'payload.t > 30 is false: payload.t is missing',
    ],
    [
      `SELECT 1 ${from} WHERE qos = 1 AND qos = 2`,
      {},
      'WHERE',
      'qos = 2 is false: qos is number 1',
    ],
    [
      `SELECT 1 ${from} WHERE qos = 5 OR topic = 'x'`,
      {},
      'WHERE',
      'qos = 5 OR topic = \'x\' is false: qos is number 1, topic is text "t/a"',
    ],
    [
      `SELECT 1 ${from} WHERE payload.flag`,
      { flag: 'yes' },
      'WHERE',
      'payload.flag is text "yes", which is not true',
    ],
    [`SELECT 1 ${from} WHERE 1 = 2`, {}, 'WHERE', '1 = 2 is false'],
    [
      `SELECT 1 ${from} WHERE NOT is_null(payload.x)`,
      {},
      'WHERE',
      'NOT is_null(payload.x) is false: is_null(payload.x) is boolean true, payload.x is missing',
    ],
    [
      `SELECT payload.t as t ${from} WHERE t > 30`,
      { t: 1 },
      'WHERE',
      't > 30 is false: t is number 1',
    ],
    [
      `SELECT 1 ${from} WHERE payload.a = [1]`,
      { a: [1, 2] },
      'WHERE',
      'payload.a = [1] is false: payload.a is a list of 2',
    ],
    [
      `SELECT 1 ${from} WHERE payload.a = 1`,
      { a: {} },
      'WHERE',
      'payload.a = 1 is false: payload.a is an object',
    ],
    [
      `SELECT 1 ${from} WHERE upper(payload.x) = 'A'`,
      { x: 1 },
      'WHERE',
      'upper(): argument 1 is number 1, expected a text',
    ],
    [
      `SELECT 1 ${from} WHERE upper(concat(payload.x)) = 'A'`,
      {},
      'WHERE',
      'concat(): argument 1 is missing, expected a value',
    ],
    [
      `SELECT 1 ${from} WHERE (upper(qos) = 'A') = true OR qos = 7`,
      {},
      'WHERE',
      'upper(): argument 1 is number 1, expected a text',
    ],
    [`SELECT payload.x + 1 as y ${from}`, {}, 'SELECT', '+ cannot calculate with what is missing'],
    [`SELECT 1 / (qos - 1) as y ${from}`, {}, 'SELECT', 'division by zero'],
    [`SELECT 1.5 div 1 as y ${from}`, {}, 'SELECT', 'div wants integers, found number 1.5'],
    [
      `FOREACH nth(1, payload.x) ${from}`,
      {},
      'FOREACH',
      'nth(): argument 2 is missing, expected a list',
    ],
  ];

for (const [sql, payload, clause, reason] of rows) {
  test(`${sql} explains why it does not match`, () => {
    const { matches, misses } = compiled(sql).explain(
      eventOf({ payload: JSON.stringify(payload) }),
    );
    assert.equal(matches, undefined);
    assert.deepEqual(
      misses.map((miss) => [miss.clause, miss.reason, miss.element]),
      [[clause, reason, undefined]],
    );
  });
}

test('a reason has the values by their text, and the place', () => {
  const sql = `SELECT 1 ${from} WHERE qos = 1 AND payload.t > payload.max`;
  const { misses } = compiled(sql).explain(eventOf({ payload: '{"t": 1, "max": 5}' }));
  assert.deepEqual(misses[0]?.values, { 'payload.t': 1, 'payload.max': 5 });
  assert.equal(misses[0]?.at, sql.indexOf('payload.t'));
});

test('a reason names a bounded number of values', () => {
  const list = Array.from({ length: 20 }, (_, i) => `payload.x${i}`).join(', ');
  const { misses } = compiled(`SELECT 1 ${from} WHERE qos IN (${list})`).explain(eventOf());
  assert.equal(Object.keys(misses[0]?.values ?? {}).length, 8);
});

test('what raises inside of an untrue condition has no value', () => {
  const sql = `SELECT 1 ${from} WHERE qos = 2 AND upper(qos) = 'A' OR qos = 3`;
  const { misses } = compiled(sql).explain(eventOf());
  assert.deepEqual(misses[0]?.values, { qos: 1, 'upper(qos)': undefined });
});

test('elements of FOREACH that are left out are told one by one', () => {
  const sql = `FOREACH payload DO 6 / item as x INCASE item != 3 ${from}`;
  const { matches, misses } = compiled(sql).explain(eventOf({ payload: '[2, 3, 0]' }));
  assert.deepEqual(matches, [{ x: 3 }]);
  assert.deepEqual(
    misses.map(({ clause, element, reason }) => [clause, element, reason]),
    [
      ['INCASE', 2, 'item != 3 is false: item is number 3'],
      ['DO', 3, 'division by zero'],
    ],
  );
});

test('a long text is quoted by its beginning', () => {
  const { misses } = compiled(`SELECT 1 ${from} WHERE payload.x = 1`).explain(
    eventOf({ payload: JSON.stringify({ x: 'y'.repeat(100) }) }),
  );
  assert.match(misses[0]?.reason ?? '', /payload\.x is text "y{40}…"$/);
});

test('an event that matches has nothing to explain', () => {
  assert.deepEqual(compiled(`SELECT qos ${from}`).explain(eventOf()), {
    matches: [{ qos: 1 }],
    misses: [],
  });
});

test('an error of the program is not explained away', () => {
  const event = eventOf();
  let reads = 0;
  const get = (name: string): unknown => (++reads > 1 ? assert.fail('broken') : event.get(name));
  const broken = { ...event, get };
  assert.throws(() => compiled(`SELECT 1 ${from} WHERE qos = 2`).explain(broken), /broken/);
});
