import assert from 'node:assert/strict';
import test from 'node:test';
import { inspect } from 'node:util';
import { deflateRawSync, gzipSync } from 'node:zlib';
import { compiled, eventOf, valueOf } from './eval-fixture.ts';
import { sqlFunctions } from './functions.ts';
import { toJson } from './json.ts';
import type { SqlFunction } from './sql-function.ts';
import type { Value } from './value.ts';

for (const entry of sqlFunctions.values()) {
  test(`${entry.name} does what its examples say`, () => {
    assert.ok(entry.examples.length >= 2);
    assert.ok(entry.text.endsWith('.') && !entry.text.includes('\n'));
    for (const { sql, result } of entry.examples) {
      const found = valueOf(sql);
      assert.ok(typeof found === 'object', `${sql} raises: ${inspect(found)}`);
      assert.ok(sql.includes(`${entry.name}(`), sql);
      if (result !== undefined) assert.equal(toJson(found.value as Value), result, sql);
    }
  });

  test(`${entry.name} refuses a number of arguments that it does not have`, () => {
    const { params, isVariadic } = entry;
    const least = params.filter(({ isOptional }) => !isOptional).length;
    const tooMany = isVariadic ? [] : [params.length + 1];
    for (const count of [...tooMany, ...(least > 0 ? [least - 1] : [])]) {
      const sql = `SELECT ${entry.name}(${Array(count).fill('1').join(', ')}) FROM "message.publish"`;
      assert.throws(() => compiled(sql), {
        name: 'CompileError',
        kind: 'bad_sql',
        at: 7,
        message: new RegExp(`^Cannot call ${entry.name}: found ${count} arguments, expected `),
      });
    }
  });

  test(`${entry.name} raises for arguments of a wrong kind`, () => {
    for (const [place, { kind }] of entry.params.entries()) {
      if (kind === 'any') continue;
      const expected = {
        text: '1',
        number: "'x'",
        integer: '1.5',
        count: '1.5',
        list: '1',
        map: '1',
        boolean: '1',
        bytes: '1',
        value: 'null',
      }[kind];
      assert.match(
        called(entry, place, expected),
        new RegExp(`^${entry.name}\\(\\): argument ${place + 1} is `),
      );
    }
  });
}

/** The reason why a call raises that has right arguments but for one. */
function called(entry: SqlFunction, wrongPlace: number, wrong: string): string {
  const right = {
    any: '1',
    value: '1',
    text: "'x'",
    number: '1',
    integer: '1',
    count: '1',
    list: '[1]',
    map: 'map_new()',
    boolean: 'true',
    bytes: "'x'",
  };
  const args = entry.params.map(({ kind }, i) => (i === wrongPlace ? wrong : right[kind]));
  const found = valueOf(
    `${entry.name}(${args.slice(0, Math.max(wrongPlace + 1, entry.params.filter(({ isOptional }) => !isOptional).length)).join(', ')})`,
  );
  assert.equal(
    typeof found,
    'string',
    `${entry.name} takes ${wrong} as argument ${wrongPlace + 1}`,
  );
  return inspect(found).slice(1, -1);
}

/** Expression, result as JSON; `undefined`: missing. */
const rows: readonly (readonly [sql: string, result: string])[] = [
  // Event
  ['topic(1)', '"t"'],
  ['topic(3)', 'undefined'],
  ['topic(0)', 'undefined'],
  ['topic(-1)', '"a"'],
  ["payload('msg.x')", 'undefined'],
  ["payload('nothing')", 'undefined'],
  ["flag('nothing')", 'undefined'],
  ["flag('__proto__')", 'undefined'],
  ["header('constructor')", 'undefined'],
  ["contains_topic(topic_filters, 't/c')", 'false'],
  ["contains_topic(topic_filters, 't/b', 1)", 'true'],
  ["contains_topic(['t/a'], 't/a')", 'true'],
  ["contains_topic(['t/a'], 't/a', 0)", 'false'],
  ["contains_topic([1], 't/a')", 'false'],
  ["contains_topic_match(topic_filters, '+/b', 1)", 'true'],
  ["contains_topic_match(topic_filters, 'x/#')", 'false'],
  ["contains_topic_match(['t/a', 't/b'], 't/#')", 'true'],
  // Math
  ['mod(9007199254740993, 2)', '1'],
  ['mod(5, -3)', '2'],
  ["eq('1', 1)", 'true'],
  ['eq(null, payload.nothing)', 'true'],
  ['abs(-9007199254740993)', '9007199254740993'],
  ['ceil(9007199254740993)', '9007199254740993'],
  ['ceil(-0.5)', '0'],
  ['round(-0.4)', '0'],
  ['round(1.4)', '1'],
  ['power(9, 0.5)', '3'],
  ['fmod(5, 3)', '2'],
  ['fmod(-4, 2)', '0'],
  ['bitand(18446744073709551615, 255)', '255'],
  ['bitor(0, 9007199254740993)', '9007199254740993'],
  ['bitxor(-1, 0)', '-1'],
  ['bitsl(-1, 3)', '-8'],
  ['bitsr(1, 1024)', '0'],
  // Conversion
  ["str('x')", '"x"'],
  ['str(true)', '"true"'],
  ['str(9007199254740993)', '"9007199254740993"'],
  ['str(1.0)', '"1"'],
  ['str(0.00000000001)', '"0"'],
  ['str(-0.00000000001)', '"0"'],
  ['str(1.25)', '"1.25"'],
  ['str(1e21)', '"1e+21"'],
  ['str([1, null])', '"[1,null]"'],
  ["str(hexstr2bin('ff'))", '"/w=="'],
  ["bool('false')", 'false'],
  ['bool(1)', 'true'],
  ['bool(true)', 'true'],
  ['bool(false)', 'false'],
  ['int(1.9)', '1'],
  ['int(false)', '0'],
  ["int(' 12 ')", '12'],
  ["int('1.9')", '1'],
  ["int('9007199254740993')", '9007199254740993'],
  ["int('-9007199254740993')", '-9007199254740993'],
  ["int('+9007199254740993')", '9007199254740993'],
  ["float('1e3')", '1000'],
  ['float(9007199254740993)', '9007199254740992'],
  ['float2str(12, 3)', '"12"'],
  ['float2str(10.4, 0)', '"10"'],
  ['float2str(9007199254740993, 1)', '"9007199254740993"'],
  ["map(map_put('a', 1, map_new()))", '{"a":1}'],
  ['is_null(payload.msg)', 'false'],
  ["is_null(json_decode('null'))", 'true'],
  ["is_map('{}')", 'false'],
  ['is_num(9007199254740993)', 'true'],
  ['is_int(9007199254740993)', 'true'],
  ["is_int('1')", 'false'],
  ["is_str(hexstr2bin('ff'))", 'false'],
  ["is_map(hexstr2bin('ff'))", 'false'],
  ['is_map(null)', 'false'],
  ['is_bool(null)', 'false'],
  ['is_float(9007199254740993)', 'false'],
  ['coalesce()', 'undefined'],
  ["coalesce(null, '')", '""'],
  // Text
  ["lower(hexstr2bin('4142'))", '"ab"'],
  ["reverse('né')", '"én"'],
  ["strlen('👩‍👩‍👧')", '1'],
  ["strlen('')", '0'],
  ["substr('aé👩‍👩‍👧d', 2, 1)", '"👩‍👩‍👧"'],
  ["substr('né', 1)", '"é"'],
  ["substr('abc', 9)", '""'],
  ["substr('abc', 1, 0)", '""'],
  ["split('abc', '/')", '["abc"]'],
  ["split('', '/')", '[]'],
  ["split('', '/', 'notrim')", '[""]'],
  ["split('/b', '/', 'leading')", '["b"]'],
  ["split('/b', '/', 'leading_notrim')", '["","b"]'],
  ["split('a/b/', '/', 'trailing_notrim')", '["a/b",""]'],
  ["split('abc', '/', 'leading_notrim')", '["abc"]'],
  ["tokens('', ' ')", '[]'],
  ["tokens(',,a', ',')", '["a"]'],
  ["tokens(json_decode('\"a\\nb\"'), ' ')", '["a\\nb"]'],
  ["tokens(json_decode('\"a\\r\\nb\"'), ' ', 'nocrlf')", '["a","b"]'],
  ['concat()', '""'],
  ["concat([1], 'x')", '"[1]x"'],
  ["pad('abc', 2)", '"abc"'],
  ["pad('é', 2, 'leading', 'ü')", '"üé"'],
  ["pad('a', 3, 'trailing', '-')", '"a--"'],
  ["replace('abc', 'x', 'y')", '"abc"'],
  ["replace('abc', 'x', 'y', 'leading')", '"abc"'],
  ["replace('aaa', 'a', '$&', 'all')", '"$&$&$&"'],
  ["find('abcb', 'b', 'leading')", '"bcb"'],
  ["ascii('😀')", '128512'],
  ["sprintf('no')", '"no"'],
  ["sprintf('~~ ~n')", '"~ \\n"'],
  ["sprintf('~p ~w', [1, 'a'], null)", '"[1,\\"a\\"] null"'],
  ["sprintf('~d ~B', 1, 9007199254740993)", '"1 9007199254740993"'],
  ["sprintf('~c~c', 104, 128512)", '"h😀"'],
  ["sprintf('~f ~e ~.3g', 1.5, 1500, 3.14159)", '"1.500000 1.500000e+3 3.14"'],
  ["sprintf('~-5s|', 'ab')", '"ab   |"'],
  ["sprintf('~.2s', 'abc')", '"ab"'],
  ["sprintf('~10.2f', 3.14159)", '"      3.14"'],
  ["sprintf('~.0g', 15)", '"2e+1"'],
  ["sprintf('~.0f', 9007199254740993)", '"9007199254740992"'],
  ["regex_match('a\nb', '^a.b$')", 'false'],
  ["regex_match('', '')", 'true'],
  ["regex_match('x', topic)", 'false'],
  ["regex_replace('aaa', '^a', 'b')", '"baa"'],
  ["regex_replace('aaa', 'a$', 'b')", '"aab"'],
  ["regex_replace('abab', 'b', '[\\0]')", '"a[b]a[b]"'],
  ["regex_replace('ab', '(a)|(b)', '<\\1\\2\\3>')", '"<a><b>"'],
  ["regex_replace('ab', '', '-')", '"-a-b-"'],
  ["regex_replace('😀b', 'x*', '-')", '"-😀-b-"'],
  ["regex_replace('😀b', 'b', '-')", '"😀-"'],
  ["regex_replace('abc', 'x', '-')", '"abc"'],
  ["regex_replace('a', 'a', '\\\\1$&')", '"\\\\1$&"'],
  ["regex_replace('', 'a', 'x')", '""'],
  // Map and list
  ["map_get('__proto__', map_new())", 'undefined'],
  ["map_get('constructor.name', map_new(), 1)", '1'],
  ['map_get(\'a.b\', json_decode(\'{"a": "{\\"b\\": 2}"}\'))', '2'],
  ["map_get('a.1', json_decode('{\"a\": [5]}'))", '5'],
  ["map_get('a', json_decode('{\"a\": null}'), 7)", '7'],
  ["map_get('a', json_decode('{\"a\": null}'))", 'null'],
  ["map_put('__proto__', 1, map_new())", '{"__proto__":1}'],
  ["map_put('__proto__.x', 1, map_new())", '{"__proto__":{"x":1}}'],
  ["map_put('a', null, json_decode('{\"b\": 1}'))", '{"b":1}'],
  ["map_put('a.b', 1, json_decode('{\"a\": 5}'))", '{"a":{"b":1}}'],
  ["mget('toString', map_new())", 'undefined'],
  ["mget('msg', payload)", '"hello"'],
  ['sublist(0, [1])', '[]'],
  ['sublist(9, 1, [1])', '[]'],
  ['contains([1], [[1], 2])', 'true'],
  ['contains(null, [null])', 'true'],
  ['contains(1, [])', 'false'],
  ["length('[1, 2, 3]')", '3'],
  // Codec
  ["md5(hexstr2bin('ff'))", '"00594fd4f42ba43fc1ca0427a0576295"'],
  ["base64_encode(hexstr2bin('ff'))", '"/w=="'],
  ["base64_decode('/w==')", '"/w=="'],
  ['json_encode(null)', '"null"'],
  ['json_encode(9007199254740993)', '"9007199254740993"'],
  ['json_encode([9007199254740993])', '"[9007199254740993]"'],
  [
    "json_encode(map_put('__proto__', hexstr2bin('ff'), map_new()))",
    '"{\\"__proto__\\":\\"/w==\\"}"',
  ],
  ["json_decode('9007199254740993')", '9007199254740993'],
  ["json_decode('[0.12345678901234567]')", '[0.12345678901234566]'],
  ["json_decode('1')", '1'],
  // Dates
  ["now_timestamp('millisecond')", '1700000000123'],
  ["now_timestamp('microsecond')", '1700000000123000'],
  ["now_rfc3339('nanosecond')", '"2023-11-14T22:13:20.123000000Z"'],
  ['unix_ts_to_rfc3339(0)', '"1970-01-01T00:00:00Z"'],
  ['unix_ts_to_rfc3339(-1)', '"1969-12-31T23:59:59Z"'],
  ["unix_ts_to_rfc3339(-1, 'millisecond')", '"1969-12-31T23:59:59.999Z"'],
  ["unix_ts_to_rfc3339(1700000000123456789, 'nanosecond')", '"2023-11-14T22:13:20.123456789Z"'],
  ["rfc3339_to_unix_ts('1970-01-01 00:00:00.5-01:00', 'millisecond')", '3600500'],
  ["rfc3339_to_unix_ts('2016-12-31T23:59:60Z')", '1483228800'],
  ["rfc3339_to_unix_ts('2024-02-29T00:00:00Z')", '1709164800'],
  ["rfc3339_to_unix_ts('2023-11-14T22:13:20.123456789Z', 'nanosecond')", '1700000000123456789'],
  ["format_date('second', '-03:30', '%z %:z %::z %%', 0)", '"-0330 -03:30 -03:30:00 %"'],
  ["format_date('second', 3600, '%H%M%S', 0)", '"010000"'],
  ["format_date('nanosecond', 'z', '%N %6N %3N %9N', 1)", '"000000001 000000 000 000000001"'],
  ["strlen(format_date('second', 'local', '%Y'))", '4'],
  ["format_date('second', '+00:00:30', '%S', 0)", '"30"'],
  ["date_to_unix_ts('second', '%Y', '1971')", '31536000'],
  ["date_to_unix_ts('millisecond', 'Z', '%H:%M:%S.%3N', '00:00:01.5%')", 'raises'],
  ["date_to_unix_ts('millisecond', 'Z', '%H:%M:%S.%3N%%', '00:00:01.500%')", '1500'],
  ["date_to_unix_ts('second', 60, '%S', '01')", '-59'],
  ["date_to_unix_ts('nanosecond', '%N%z', '000000005Z')", '5'],
  // Binary
  ["subbits('a', 4)", '6'],
  ["subbits('a', 5, 4)", '1'],
  ["subbits('ab', 5, 8)", '22'],
  ["subbits('a', 9, 1)", 'undefined'],
  ["subbits('a', 9)", 'undefined'],
  ["subbits('ab', 2, 3, 'integer', 'signed', 'big')", '-2'],
  ["subbits(hexstr2bin('3FC00000'), 1, 32, 'float', 'unsigned', 'big')", '1.5'],
  ["subbits(hexstr2bin('000000000000F83F'), 1, 64, 'float', 'signed', 'little')", '1.5'],
  ["subbits('abc', 9, 16, 'bits', 'unsigned', 'big')", '"bc"'],
  ["subbits('abc', 1, 8, 'integer')", '97'],
  ["subbits(hexstr2bin('FFFFFFFFFFFFFFFF'), 64)", '18446744073709551615'],
  ["bitsize(gunzip(gzip(hexstr2bin('ff'))))", '8'],
];

test('functions give what is expected of them', () => {
  for (const [sql, result] of rows) {
    const found = valueOf(sql);
    if (result === 'raises') assert.equal(typeof found, 'string', sql);
    else {
      assert.ok(typeof found === 'object', `${sql} raises: ${inspect(found)}`);
      const text = found.value === undefined ? 'undefined' : toJson(found.value as Value);
      assert.equal(text, result, sql);
    }
  }
});

test('the tables have hundreds of rows', () => {
  const examples = [...sqlFunctions.values()].flatMap((entry) => entry.examples);
  const count = examples.length + rows.length + raises.length;
  assert.ok(count >= 450, `found ${count} rows`);
});

/** Expression, and what the reason says. */
const raises: readonly (readonly [sql: string, reason: RegExp])[] = [
  ['mod(1, 0)', /^mod\(\): division by zero$/],
  ['fmod(1, 0)', /^fmod\(\): division by zero$/],
  ['log(-1)', /^log\(\): the result is no number$/],
  ['log(0)', /too large a number/],
  ['exp(1000)', /too large a number/],
  ['power(10, 400)', /too large a number/],
  ['power(-1, 0.5)', /no number/],
  ['bitsl(1, 1025)', /cannot shift by 1025 bits: 0 to 1024/],
  ['bitsr(1, -1)', /cannot shift by -1 bits/],
  ['bitsl(bitsl(1, 1024), 1)', /more than 1024 bits/],
  ['bitsl(bitsl(-1, 1024), 1)', /more than 1024 bits/],
  ["bool('yes')", /^bool\(\): text "yes" is no boolean$/],
  ['bool([])', /a list of 0 is no boolean/],
  ["int('x')", /text "x" is no number/],
  ["int('1e999')", /is no number/],
  [`int('${'9'.repeat(400)}')`, /is no number/],
  [`int('${'9'.repeat(1001)}')`, /is no number/],
  ['int([1])', /a list of 1 is no number/],
  ['float(true)', /a boolean is no number/],
  ['float2str(1.5, 101)', /cannot write 101 decimals/],
  ['float2str(1.5, -1)', /cannot write -1 decimals/],
  ['float(bitsl(1, 1024))', /too large a number/],
  ["map('[1]')", /a list of 1 is no object/],
  ["map('{')", /it is no JSON/],
  ['map(true)', /boolean true is no object/],
  ["substr('abc', -1)", /cannot begin at -1/],
  ["substr('abc', 0, -1)", /cannot take -1 characters/],
  ["split('a', '')", /the separator is empty/],
  ["split('a', '/', 'middle')", /there is no mode "middle", only leading, trailing, notrim/],
  ["split(pad('', 20000, 'leading', '/'), '/')", /more than 10000 pieces/],
  ["tokens(replace(pad('', 20000, 'leading', '/'), '/', 'a/'), '/')", /more than 10000 pieces/],
  ["tokens('a', 'b', 'x')", /there is no mode "x", only nocrlf/],
  ["pad('a', 2, 'left')", /no mode "left"/],
  ["pad('a', 2, 'leading', 'xy')", /one character is wanted/],
  ["pad('a', 2000000)", /cannot pad to 2000000/],
  ["concat(pad('a', 1048576), 'b')", /more than 1048576 characters/],
  ["replace(pad('', 1048576, 'leading', 'a'), 'a', 'bb')", /more than 1048576 characters/],
  ["replace('a', '', 'b')", /the text to replace is empty/],
  ["replace('a', 'b', 'c', 'x')", /no mode "x"/],
  ["find('a', 'b', 'x')", /no mode "x"/],
  ["ascii('')", /one character is wanted/],
  ["ascii('ab')", /one character is wanted/],
  ["lower(hexstr2bin('ff'))", /argument 1 is 1 bytes, expected a text/],
  ["sprintf('~s')", /fewer values than directives/],
  ["sprintf('x', 1)", /more values than directives/],
  ["sprintf('~', 1)", /ends in the middle of a directive/],
  ["sprintf('~y', 1)", /there is no directive "~y"/],
  ["sprintf('~b', 'x')", /~b wants an integer, found text "x"/],
  ["sprintf('~c', -1)", /~c wants the code of a character/],
  ["sprintf('~f', null)", /~f wants a number, found missing/],
  ["sprintf('~.101f', 1)", /cannot write 101 decimals/],
  ["sprintf('~2000000s', 1)", /cannot fill up to 2000000/],
  ["regex_match('x', concat('(', ''))", /the regular expression is wrong: /],
  ["regex_replace('x', concat('a)(b', ''), '')", /the regular expression is wrong: /],
  ["regex_match(pad('', 65537), 'x')", /more than 65536 characters/],
  ["regex_replace(pad('', 60000), ' ', 'x')", /replacing takes too long/],
  ["regex_replace(pad('', 1000), ' ', pad('', 10000))", /more than 1048576 characters/],
  ['nth(0, [1])', /there is no element 0 in a list of 1/],
  ['nth(2, [1])', /no element 2/],
  ['first([])', /no element 1/],
  ['last([])', /no element 1/],
  ['sublist(1, 5)', /the last argument is no list/],
  ['sublist(-1, [1])', /a length of 0 or more/],
  ["sublist(1, 'x', [1])", /a length of 0 or more/],
  ['sublist(0, 1, [1])', /cannot begin at 0/],
  [`map_put('${'a.'.repeat(64)}a', 1, map_new())`, /the key has more than 64 parts/],
  ["base64_decode('a')", /it is no base64/],
  ["base64_decode('!!!!')", /it is no base64/],
  ["json_decode('{')", /^json_decode\(\): it is no JSON$/],
  [`json_decode('${'['.repeat(129)}${']'.repeat(129)}')`, /nested more than 128 deep/],
  ["hexstr2bin('abc')", /pairs of hexadecimal digits/],
  ["hexstr2bin('xy')", /pairs of hexadecimal digits/],
  ["gunzip('x')", /^gunzip\(\): /],
  ["unzip('x')", /^unzip\(\): /],
  [
    "gzip(json_decode(concat('\"', pad('', 1048570, 'leading', 'é'), '\"')))",
    /more than 1048576 bytes/,
  ],
  ["subbits('a', 0, 1)", /1 or more are wanted/],
  ["subbits('a', 0)", /1 or more are wanted/],
  ["subbits('abc', 1, 9, 'bits', 'signed', 'big')", /bits of 9 bits: whole bytes/],
  ["subbits('abc', 1, 9, 'integer', 'signed', 'little')", /little endian of 9 bits/],
  ["subbits('abc', 1, 24, 'float', 'signed', 'big')", /a float of 24 bits/],
  ["subbits(hexstr2bin('7F800000'), 1, 32, 'float', 'signed', 'big')", /too large a number/],
  ["subbits(pad('', 200), 1025)", /an integer has at most 1024 bits/],
  ["subbits('a', 1, 8, 'x')", /"x" is none of integer, float, bits/],
  ["subbits('a', 1, 8, 'integer', 'x')", /"x" is none of unsigned, signed/],
  ["subbits('a', 1, 8, 'integer', 'signed', 'x')", /"x" is none of big, little/],
  ["now_timestamp('hour')", /there is no unit "hour", only second, millisecond/],
  ["now_timestamp('constructor')", /there is no unit/],
  ['unix_ts_to_rfc3339(1000000000000)', /the year is not 0000 to 9999/],
  ['unix_ts_to_rfc3339(-100000000000)', /the year is not 0000 to 9999/],
  ["rfc3339_to_unix_ts('yesterday')", /"yesterday" is no time such as/],
  ["rfc3339_to_unix_ts('2023-02-29T00:00:00Z')", /there is no such date and time/],
  ["rfc3339_to_unix_ts('2023-00-01T00:00:00Z')", /there is no such date and time/],
  ["rfc3339_to_unix_ts('2023-01-01T24:00:00Z')", /there is no such date and time/],
  ["rfc3339_to_unix_ts('2023-01-01T00:60:00Z')", /there is no such date and time/],
  ["rfc3339_to_unix_ts('2023-01-01T00:00:61Z')", /there is no such date and time/],
  ["rfc3339_to_unix_ts('2023-01-01T00:00:00+24:00')", /is no offset/],
  ["format_date('second', 'Mars', '%Y')", /"Mars" is no offset/],
  ["format_date('second', 90000, '%Y')", /"90000" is no offset/],
  ["format_date('second', [], '%Y')", /an offset is a text or a number/],
  ["format_date('second', 'Z', '%Q')", /there is no directive "%Q"/],
  ["format_date('second', 'Z', pad('', 1001))", /the format has more than 1000 characters/],
  ["date_to_unix_ts('second', '%Q', '1')", /there is no directive "%Q"/],
  ["date_to_unix_ts('second', '%Y-%m', '2023')", /does not have the form "%Y-%m"/],
  ["date_to_unix_ts('second', '%Y', '2023x')", /does not have the form/],
  ["date_to_unix_ts('second', '%Y', 'x')", /does not have the form/],
  ["date_to_unix_ts('second', 1, '%Y')", /a format is a text/],
];

test('functions raise where they cannot answer, and say why', () => {
  for (const [sql, reason] of raises) {
    const found = valueOf(sql);
    assert.ok(typeof found === 'string', `${sql} gives ${inspect(found)}`);
    assert.match(found, reason, sql);
  }
});

test('unpacking stops at a bound', () => {
  const large = Buffer.alloc(2 ** 20 + 1);
  const packed = { gunzip: gzipSync(large), unzip: deflateRawSync(large) };
  for (const [name, bytes] of Object.entries(packed)) {
    assert.match(inspect(valueOf(`${name}(payload)`, { payload: bytes })), /larger than 1048576/);
  }
  const grown = "concat(gunzip(gzip(pad('', 1048576))), '')";
  assert.equal(typeof valueOf(grown), 'object');
});

test('events without a column give missing values', () => {
  const none = { topic: undefined, peername: undefined, username: null, retain: undefined };
  assert.deepEqual(valueOf('[topic(1), clientip(), peerhost(), username()]', none), {
    value: [null, null, null, null],
  });
  assert.deepEqual(valueOf('[flags(), headers()]', none), { value: [{}, {}] });
  assert.deepEqual(valueOf('clientip()', { peername: '[::1]:1883' }), { value: '::1' });
  assert.deepEqual(valueOf('clientip()', { peername: 'pipe' }), { value: 'pipe' });
  assert.deepEqual(valueOf('flags()', { retain: 1, dup: true }), {
    value: { retain: true, dup: true },
  });
});

test('a function that remembers its last expression takes another one all the same', () => {
  const statement = compiled('SELECT regex_match(topic, payload.re) AS x FROM "message.publish"');
  const with_ = (re: string): unknown =>
    statement.run(eventOf({ payload: JSON.stringify({ re }) }))?.[0]?.['x'];
  assert.deepEqual(['^t', '^x', '^t'].map(with_), [true, false, true]);
});

test('a constant that is no regular expression fails the statement', () => {
  assert.throws(() => compiled(`SELECT regex_match(topic, '(') FROM "message.publish"`), {
    name: 'CompileError',
    kind: 'bad_sql',
    message: /^Cannot call regex_match: "\(" is no regular expression: a group is not closed/,
  });
});

test('local time is that of the moment, also on the day when clocks change', (t) => {
  const before = process.env['TZ'];
  t.after(() => {
    if (before === undefined) delete process.env['TZ'];
    else process.env['TZ'] = before;
  });
  process.env['TZ'] = 'Europe/Berlin';
  const said = (text: string): unknown =>
    valueOf(`date_to_unix_ts('second', 'local', '%Y-%m-%d %H:%M', '${text}')`);
  assert.deepEqual(said('2024-03-31 01:30'), { value: 1_711_845_000 });
  assert.deepEqual(said('2024-03-31 03:30'), { value: 1_711_848_600 });
  assert.deepEqual(valueOf("format_date('second', 'local', '%H:%M%:z', 1711848600)"), {
    value: '03:30+02:00',
  });
});

test('lists are not written longer than lists may be', () => {
  const payload = JSON.stringify(Array(10_000).fill(1));
  const sql = 'SELECT json_decode(payload) AS a, 1 AS a[-0] FROM "message.publish"';
  const { matches, misses } = compiled(sql).explain(eventOf({ payload }));
  assert.equal(matches, undefined);
  assert.match(misses[0]?.reason ?? '', /the list has more than 10000 elements/);
});

test('expressions that make other engines try for years are answered', () => {
  const payload = JSON.stringify({ s: 'a'.repeat(5000), re: '(a*)*b' });
  assert.deepEqual(valueOf('regex_match(payload.s, payload.re)', { payload }), { value: false });
  assert.deepEqual(valueOf("strlen(regex_replace(payload.s, '(a|aa)+$', 'x'))", { payload }), {
    value: 1,
  });
});
