// What one message of a stranger may cost, and numbers and moments at their limits.

import assert from 'node:assert/strict';
import test from 'node:test';
import { parseSql } from '../sql/parser.ts';
import { compileStatement } from './compile.ts';
import { compiled, eventOf, run } from './eval-fixture.ts';
import { builtDepthMax, jsonOrMissing, parseJson } from './json.ts';

const zeros = (count: number): string => JSON.stringify(Array(count).fill(0));

test('a number in JSON that is beyond all numbers makes it no JSON, wherever it stands', () => {
  for (const text of [
    '1e999',
    '{"x":-1E+400}',
    '[1e400 ]',
    `[1${'0'.repeat(400)}]`,
    '{"x":9e0400,"y":1}',
  ]) {
    assert.equal(jsonOrMissing(text), undefined, text);
    assert.throws(() => parseJson(text), { message: 'the JSON has a number that is too large' });
  }
  for (const text of ['1e308', '{"x":"1e999"}', '[1e-999]', '["a1e999,"]', '{"1e999":1e300}']) {
    assert.deepEqual(jsonOrMissing(text), JSON.parse(text), text);
  }
});

test('a moment is written only while its year, at the offset, has four digits', () => {
  const written = (offset: string, seconds: number): unknown =>
    run(`SELECT format_date('second', '${offset}', '%Y-%m-%d', ${seconds}) AS x FROM "t"`)?.[0]?.[
      'x'
    ];
  assert.equal(written('Z', -62167219200), '0000-01-01');
  assert.equal(written('-08:00', -62167219200), undefined);
  assert.equal(written('Z', 253402300799), '9999-12-31');
  assert.equal(written('+00:01', 253402300799), undefined);
});

test('a part of a text is cut out by characters as readers count them, wherever it begins and ends', () => {
  const text = 'né\u0301👨‍👩‍👧x';
  const graphemes = ['n', 'é\u0301', '👨‍👩‍👧', 'x'];
  for (let start = 0; start <= 5; start++) {
    for (const length of [undefined, 0, 1, 2, 9]) {
      const given = length === undefined ? '' : `, ${length}`;
      const cut = run(`SELECT substr(payload, ${start}${given}) AS x FROM "t"`, { payload: text });
      const end = length === undefined ? undefined : start + length;
      assert.equal(cut?.[0]?.['x'], graphemes.slice(start, end).join(''), `${start} ${length}`);
    }
  }
});

test('going through a list ends in time, and then nothing matches', () => {
  let ms = 0;
  const sql = 'FOREACH payload.items AS i DO i INCASE contains(i, payload.all) FROM "t"';
  const statement = compileStatement(parseSql(sql), {
    columns: new Set(['payload']),
    monotonicMs: () => (ms += 1),
  });
  const of = (count: number): unknown =>
    statement.run(eventOf({ payload: `{"items":${zeros(count)},"all":[0]}` }))?.length;
  assert.equal(of(1900), 1900);
  assert.equal(of(2100), undefined);
  const { misses } = statement.explain(eventOf({ payload: `{"items":${zeros(2100)},"all":[0]}` }));
  assert.match(misses.at(-1)?.reason ?? '', /takes more than 2000 ms/);
  assert.equal(misses.at(-1)?.clause, 'FOREACH');
});

test('what a list makes is bounded, whether texts, bytes or objects', () => {
  const text = 'x'.repeat(500_000);
  const keys = Object.fromEntries(Array.from({ length: 5000 }, (_, i) => [`key ${i}`, i]));
  const cases: readonly (readonly [string, unknown])[] = [
    ['i, upper(payload.all) AS x', text],
    ['gzip(payload) AS x, payload.all AS y', text],
    ["map_put('x', i, payload.all) AS x", keys],
    ['i AS x.y, payload.all AS x.z', keys],
  ];
  for (const [fields, all] of cases) {
    const sql = `FOREACH payload.items AS i DO ${fields} FROM "t"`;
    const options = { columns: new Set(['payload']), monotonicMs: () => 0 };
    const statement = compileStatement(parseSql(sql), options);
    const payload = (count: number): string =>
      `{"items":${zeros(count)},"all":${JSON.stringify(all)}}`;
    assert.equal(statement.run(eventOf({ payload: payload(20) }))?.length, 20, fields);
    const { matches, misses } = statement.explain(eventOf({ payload: payload(1000) }));
    assert.equal(matches, undefined, fields);
    assert.match(misses.at(-1)?.reason ?? '', /outputs have more than \d+ characters/, fields);
  }
});

test('elements that INCASE leaves out weigh nothing', () => {
  const statement = compiled(
    'FOREACH payload.items AS i DO upper(payload) AS x INCASE i = 1 OR x = i FROM "t"',
  );
  const payload = `{"items":${zeros(1000)},"all":"${'x'.repeat(100_000)}"}`;
  assert.deepEqual(statement.run(eventOf({ payload })), []);
});

test('a hundred elements are explained and no more, each operand of AND evaluated once', () => {
  const same = Array(400).fill('i = 0').join(' AND ');
  const statement = compiled(`FOREACH payload AS i DO i INCASE ${same} AND i = 2 FROM "t"`);
  const { matches, misses } = statement.explain(eventOf({ payload: zeros(5000) }));
  assert.deepEqual(matches, []);
  assert.equal(misses.length, 100);
  assert.equal(misses[99]?.reason, 'i = 2 is false: i is number 0');
  const raising = compiled('FOREACH payload AS i DO 1 div i FROM "t"');
  assert.equal(raising.explain(eventOf({ payload: zeros(5000) })).misses.length, 100);
});

test('JSON is read as deep as somebody wants who wrote it himself', () => {
  const nested = (depth: number): string => `${'['.repeat(depth)}${']'.repeat(depth)}`;
  assert.throws(() => parseJson(nested(129)));
  assert.ok(parseJson(nested(1000), builtDepthMax));
  assert.throws(() => parseJson(nested(1100), builtDepthMax));
});

test('values that a statement has put deep into each other are compared so far and no further', () => {
  const dotted = Array(60).fill('a').join('.');
  const deeper = (name: string): string => `map_put('${dotted}', ${name}, map_new()) AS ${name}`;
  const fields = Array.from({ length: 150 }, () => `${deeper('x')}, ${deeper('y')}`);
  const sql = `SELECT 1 AS x, 1 AS y, ${fields.join(', ')}, x = y AS z FROM "t"`;
  const { matches, misses } = compiled(sql).explain(eventOf());
  assert.equal(matches, undefined);
  assert.equal(misses[0]?.reason, 'cannot compare values more than 1024 deep');
});
