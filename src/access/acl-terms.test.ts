import assert from 'node:assert/strict';
import test from 'node:test';
import { aclCharactersMax, AclError, type AclTerm, TermReader } from './acl-terms.ts';

/** Terms without their places: atoms as 'name', texts as { text }, tuples as { tuple }, lists as lists. */
function read(text: string): unknown[] {
  return termsOf(text).map(bare);
}

function termsOf(text: string): AclTerm[] {
  const reader = new TermReader(text);
  const terms: AclTerm[] = [];
  for (let term = reader.next(); term !== undefined; term = reader.next()) terms.push(term);
  return terms;
}

function bare(term: AclTerm): unknown {
  switch (term.kind) {
    case 'atom':
      return term.name;
    case 'text':
      return { text: term.value };
    case 'tuple':
      return { tuple: term.items.map(bare) };
    case 'list':
      return term.items.map(bare);
  }
}

function faultOf(text: string): string {
  try {
    termsOf(text);
  } catch (error) {
    assert.ok(error instanceof AclError);
    return `${error.line}:${error.column} ${error.text}`;
  }
  return 'none';
}

test('a TermReader reads atoms, texts, binaries, tuples and lists', () => {
  for (const [text, ...expected] of [
    ['', ...[]],
    [' \t\r\n%% nothing', ...[]],
    ['all.', 'all'],
    ['a_B@9.', 'a_B@9'],
    ["'and'. 'not an atom'.", 'and', 'not an atom'],
    ['"a/b".', { text: 'a/b' }],
    ['"".', { text: '' }],
    ['<<"a">>.', { text: 'a' }],
    ['<< "ä" /utf8 >>.', { text: 'ä' }],
    ['{}. [].', { tuple: [] }, []],
    ['{a,[b , "c"],\n{d}}.', { tuple: ['a', ['b', { text: 'c' }], { tuple: ['d'] }] }],
    ['a.b.', 'a', 'b'],
    ['a % why. \n .% done', 'a'],
    ['"50% off".', { text: '50% off' }],
    ['\uFEFFa.', 'a'],
    ['%% one\ra.\r%% two\r\nb.', 'a', 'b'],
  ] as const) {
    assert.deepEqual(read(text), expected, text);
  }
});

test('a TermReader reads the escapes of texts', () => {
  for (const [written, expected] of [
    ['\\"', '"'],
    ['\\\\', '\\'],
    ['\\b\\d\\e\\f\\n\\r\\s\\t\\v', '\b\x7F\x1B\f\n\r \t\v'],
    ['\\x41\\x{42}\\x{1F600}\\103', 'AB😀C'],
    ['\\^a\\^[', '\x01\x1B'],
    ['\\q\\😀\\8', 'q😀8'],
    ['\\1234', 'S4'],
  ] as const) {
    assert.deepEqual(read(`"${written}".`), [{ text: expected }], written);
  }
  assert.deepEqual(read("'it\\'s'."), ["it's"]);
});

test('a TermReader knows where each term stands', () => {
  const [first, second] = termsOf('\uFEFFa.\r\n%% x\n  {b,\n "c"}.');
  assert.ok(first !== undefined && second?.kind === 'tuple');
  assert.deepEqual([first.line, first.column], [1, 1]);
  const places = [second, ...second.items].map(({ line, column }) => [line, column]);
  assert.deepEqual(places, [
    [3, 3],
    [3, 4],
    [4, 2],
  ]);
});

test('a TermReader says what was found where and what is wanted', () => {
  const term = 'a term: {…}, […], "…", <<"…">> or an atom';
  const escape = 'a character after "\\", as in \\" \\\\ \\n \\x41 or \\x{1F600}';
  for (const [text, expected] of [
    ['{allow, all}', '1:13 found the end of the text, want a full stop after the rule'],
    ['a\n\nb.', '1:2 found b, want a full stop after the rule'],
    ['a b.', '1:2 found b, want a full stop after the rule'],
    ['"a" "b".', '1:4 found ", want a full stop after the rule'],
    ['.', `1:1 found ., want ${term}`],
    ['a.\n Who.', `2:2 found Who, want ${term}`],
    ['{1}.', `1:2 found 1, want ${term}`],
    ['{a,}.', `1:4 found }, want ${term}`],
    ['{a', '1:3 found the end of the text, want "," or "}"'],
    ['[a}.', '1:3 found }, want "," or "]"'],
    ['{a\n b}.', '2:2 found b, want "," or "}"'],
    ['{"a\n"}.', '1:2 found no " that ends this text, want one on the same line'],
    ["'a.", "1:1 found no ' that ends this text, want one on the same line"],
    ['<<a>>.', '1:3 found a, want a text in quotes after "<<"'],
    ['<<"a"/latin1>>.', '1:6 found /, want ">>"'],
    ['"\\x4".', `1:3 found x4, want ${escape}`],
    ['"\\x{}".', `1:3 found x, want ${escape}`],
    ['"\\^".', `1:3 found ^, want ${escape}`],
    ['"\\\n".', `1:3 found the end of the line, want ${escape}`],
    ['"\\x{110000}".', '1:12 found a code of U+110000, want a character'],
    ['"\\x{D800}".', '1:10 found a code of U+D800, want a character'],
    [`${'['.repeat(64)}a`, '1:65 found a term 65 deep, want at most 64'],
  ] as const) {
    assert.equal(faultOf(text), expected, text);
  }
  assert.deepEqual(read(`${'['.repeat(63)}a${']'.repeat(63)}.`).length, 1);
});

test('an AclError shows the line, or the part of it around the fault', () => {
  const fault = (text: string): AclError => {
    try {
      termsOf(text);
    } catch (error) {
      assert.ok(error instanceof AclError);
      return error;
    }
    return assert.fail('it was read');
  };
  const short = fault('a.\r\n\t{a;\x07 b}.\r\nc.');
  assert.equal(short.excerpt, '{a;  b}.');
  assert.equal(
    short.message,
    'Cannot read access rules: line 2, column 4: found ;, want "," or "}": {a;  b}.',
  );
  assert.equal(fault(`"${'x'.repeat(500)}" ! ${'y'.repeat(500)}.`).excerpt.length, 80);
});

test('a TermReader refuses a text that is too long before it looks at it', () => {
  assert.equal(
    faultOf(' '.repeat(aclCharactersMax + 1)),
    '1:1 found 16777217 characters, want at most 16777216',
  );
  assert.deepEqual(read(' '.repeat(aclCharactersMax)), []);
});

test('a TermReader stands the longest of everything', () => {
  const many = aclCharactersMax - 10;
  assert.equal(read(`"${'x'.repeat(many)}".`).length, 1);
  assert.equal(read(`%${'x'.repeat(many)}\na.`).length, 1);
  assert.match(faultOf('{'.repeat(many)), /65 deep/);
  assert.match(faultOf(`'${'\\n'.repeat(100_000)}`), /that ends this text/);
});
