import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import { matches } from '#topics/match';
import { eventNamed, type EventDefinition, TableRecord } from './events.ts';
import { Happening } from './happening.ts';
import { prepareStatement } from './prepare-statement.ts';
import { parseSql } from './sql/parser.ts';
import { watchFilters } from './watch-filters.ts';

const given = process.env['FUZZ_SEED'];
const seed: number = given === undefined ? (Math.random() * 0x7fff_ffff) | 0 : Number(given);

const ofConditions: readonly (readonly [string, readonly string[] | undefined])[] = [
  ["topic = 't/a'", ['t/a']],
  ["'t/a' = topic", ['t/a']],
  ["topic =~ 't/+'", ['t/+']],
  ["topic in ('a', 'b', 'a')", ['a', 'b']],
  ["topic = 'a' or topic =~ 'b/#'", ['a', 'b/#']],
  ["topic = 'a' and qos > 0", ['a']],
  ["qos > 0 and (payload.x = 1 and topic = 'a')", ['a']],
  ["topic =~ 'a/#' and topic = 'a/b'", ['a/b']],
  ["topic =~ '#' and topic =~ 'a/b/#'", ['a/b/#']],
  ["topic =~ 'a/#' and (topic = 'a/b' or topic = 'a/c')", ['a/b', 'a/c']],
  ["topic = 'a' or qos > 0", undefined],
  ["not topic = 'a'", undefined],
  ["topic != 'a'", undefined],
  ["topic not in ('a')", undefined],
  ["topic in ('a', qos)", undefined],
  ['topic = 5', undefined],
  ['topic = client_id', undefined],
  ["client_id = 'a'", undefined],
  ["topic > 'a'", undefined],
  ["'a' =~ topic", undefined],
  ["topic =~ 'a/#/b'", undefined],
  ["topic =~ '$share/g/a'", undefined],
  ["topic = ''", undefined],
  ["topic.x = 'a'", undefined],
  ['qos = 1', undefined],
];

for (const [condition, filters] of ofConditions) {
  test(`filters are read off the condition ${condition}`, () => {
    const statement = parseSql(`SELECT * FROM "message.publish" WHERE ${condition}`);
    assert.deepEqual(watchFilters(statement), filters);
  });
}

test('a field that takes the place of the topic takes its meaning from the condition', () => {
  const of = (fields: string): unknown =>
    watchFilters(parseSql(`SELECT ${fields} FROM "message.publish" WHERE topic = 'a'`));
  assert.equal(of('payload as topic'), undefined);
  assert.equal(of('*, client_id as topic'), undefined);
  assert.equal(of('payload as topic.x'), undefined);
  assert.deepEqual(of('topic'), ['a']);
  assert.deepEqual(of('topic as topic'), ['a']);
  assert.deepEqual(of("'topic', topic as t, *"), ['a']);
});

test('FROM and the condition: what is narrower counts', () => {
  const of = (sql: string): unknown => prepareStatement(sql).interests.get('message.publish');
  assert.deepEqual(of(`SELECT * FROM "a/#", "b"`), ['a/#', 'b']);
  assert.deepEqual(of(`SELECT * FROM "#" WHERE topic = 'a'`), ['a']);
  assert.deepEqual(of(`SELECT * FROM "a" WHERE topic =~ '#'`), ['a']);
  assert.deepEqual(of(`SELECT * FROM "a/#", "message.publish"`), undefined);
  assert.deepEqual(of(`SELECT * FROM "message.publish"`), undefined);
});

const level = fc.constantFrom('a', 'b', 'c', '');
const topics = fc
  .array(level, { minLength: 1, maxLength: 3 })
  .map((levels) => levels.join('/'))
  .filter((topic) => topic !== '');
const filters = fc
  .tuple(fc.array(fc.constantFrom('a', 'b', '+'), { maxLength: 2 }), fc.constantFrom('a', '+', '#'))
  .map(([levels, last]) => [...levels, last].join('/'));
const quoted = (text: string): string => `'${text}'`;
const leaf = fc.oneof(
  topics.map((topic) => `topic = ${quoted(topic)}`),
  topics.map((topic) => `${quoted(topic)} = topic`),
  filters.map((filter) => `topic =~ ${quoted(filter)}`),
  filters.map((filter) => `not topic =~ ${quoted(filter)}`),
  fc.array(topics, { minLength: 1, maxLength: 3 }).map((all) => `topic in (${all.map(quoted)})`),
  fc.constantFrom('qos > 0', "payload = 'a'", "client_id = 'a'", 'missing.x = 1', "t = 'a'"),
);
const { condition } = fc.letrec<{ condition: string }>((tie) => ({
  condition: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    leaf,
    fc
      .tuple(tie('condition'), fc.constantFrom('and', 'or'), tie('condition'))
      .map(([left, word, right]) => `(${left} ${word} ${right})`),
    tie('condition').map((inner) => `not (${inner})`),
  ),
}));
const fields = fc.constantFrom('*', 'topic', 'payload as topic', 'payload as t', 'topic as t');
const from = fc.oneof(
  fc.constant('message.publish'),
  filters,
  filters.map((filter) => `${filter}", "b/#`),
);

test(`a message that a rule matches is never outside of its filters (seed ${seed})`, () => {
  const definition = eventNamed('message.publish') as EventDefinition;
  let matched = 0;
  fc.assert(
    fc.property(fields, from, condition, topics, topics, (field, source, where, topic, payload) => {
      const needed =
        field === '*' ? '*, client_id as t, 1 as missing' : `${field}, 1 as missing, *`;
      const text =
        where.includes('t =') && !field.endsWith(' as t') ? `${needed}, qos as t` : needed;
      const prepared = prepareStatement(`SELECT ${text} FROM "${source}" WHERE ${where}`);
      const message = {
        ...{ id: '1', topic, payload: Buffer.from(payload), qos: 1 as const, retain: false },
        ...{ properties: undefined, clientId: 'a', username: undefined, timestampMs: 0 },
      };
      const happening = new Happening('n', 0, message, undefined);
      if (!prepared.isFrom('message.publish', topic, happening)) return;
      if (prepared.compiled.run(new TableRecord(definition, happening)) === undefined) return;
      matched++;
      const interests = prepared.interests.get('message.publish');
      assert.ok(interests === undefined || interests.some((filter) => matches(filter, topic)));
    }),
    { seed, numRuns: 2000 },
  );
  assert.ok(matched > 50, `Only ${matched} matched`);
});
