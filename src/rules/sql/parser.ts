// Reads a statement. Laws: whatever the text is, this ends with a tree or a SqlError; a tree is never
// higher than `sqlHeightMax`, so that those who walk it may recurse.
//
//   SELECT fields FROM events [WHERE condition] [;]
//   FOREACH fields [DO fields] [INCASE condition] FROM events [WHERE condition] [;]

import type { AliasStep, Expression, Field, Source, Statement } from './ast.ts';
import type { Token } from './lexer.ts';
import { parseExpression, parseKey } from './parse-expression.ts';
import { TokenReader } from './token-reader.ts';
import { expressionsOf, tooHigh } from './walk.ts';

/** Operators of one row count, too: `a + b + c` is two high. */
export const sqlHeightMax: number = 512;
/** What is written at an index makes a list that long. */
const aliasIndexMax = 65_535;

export function parseSql(text: string): Statement {
  const reader = new TokenReader(text);
  const statement = reader.accept('select') ? select(reader) : foreach(reader);
  if (reader.isNext(';')) {
    reader.take();
    if (reader.peek().kind !== 'end') reader.refuse(reader.at, 'found more than one statement');
  }
  if (reader.peek().kind !== 'end') {
    reader.note('the end');
    reader.fail();
  }
  for (const root of expressionsOf(statement)) {
    const place = tooHigh(root, sqlHeightMax);
    if (place !== undefined) {
      reader.refuse(place, `more than ${sqlHeightMax} operators in a row or inside each other`);
    }
  }
  return statement;
}

function select(reader: TokenReader): Statement {
  const { kind, text } = reader.peek();
  // NOTE the one thing that could be read, as a column with an alias, and is never meant so.
  if (kind === 'name' && text.toLowerCase() === 'distinct' && reader.peekSecond().kind === 'name') {
    reader.note('an expression');
    reader.fail();
  }
  return { kind: 'select', fields: fields(reader), from: sources(reader), where: where(reader) };
}

function foreach(reader: TokenReader): Statement {
  reader.expect('foreach');
  const own = fields(reader);
  const last = own.at(-1) as Field;
  if (last.kind === 'all') reader.refuse(last.at, 'FOREACH needs a list, * is an object');
  const each = reader.accept('do') ? fields(reader) : undefined;
  const incase = reader.accept('incase') ? parseExpression(reader) : undefined;
  const from = sources(reader);
  return { kind: 'foreach', fields: own, each, incase, from, where: where(reader) };
}

function where(reader: TokenReader): Expression | undefined {
  return reader.accept('where') ? parseExpression(reader) : undefined;
}

function fields(reader: TokenReader): Field[] {
  const read: Field[] = [];
  do {
    reader.limit(read.length, 'fields');
    read.push(field(reader));
  } while (reader.accept(','));
  return read;
}

function field(reader: TokenReader): Field {
  const { at } = reader;
  if (reader.isNext('*')) {
    reader.take();
    return { kind: 'all', at };
  }
  return { kind: 'value', value: parseExpression(reader), alias: alias(reader), at };
}

function alias(reader: TokenReader): AliasStep[] | undefined {
  if (reader.accept('as')) {
    const token = reader.peek();
    if (token.kind === 'sign' && /^[a-z]/.test(token.text)) {
      reader.note('an alias');
      reader.fail('a keyword as alias is written in double quotes');
    }
    if (token.kind === 'text' || isName(token)) return aliasSteps(reader, reader.take());
    reader.note('an alias');
    reader.fail();
  }
  return isName(reader.peek()) ? aliasSteps(reader, reader.takeDoubtful()) : undefined;
}

function isName({ kind }: Token): boolean {
  return kind === 'name' || kind === 'quoted name' || kind === 'double text';
}

function aliasSteps(reader: TokenReader, first: Token): AliasStep[] {
  const steps: AliasStep[] = [{ kind: 'key', key: first.text }];
  while (reader.isNext('.') || reader.isNext('[')) {
    reader.limit(steps.length, 'steps of an alias');
    const isKey = reader.take().text === '.';
    steps.push(isKey ? { kind: 'key', key: parseKey(reader) } : aliasIndex(reader));
  }
  return steps;
}

function aliasIndex(reader: TokenReader): AliasStep {
  const isFromEnd = reader.accept('-');
  const { kind, value, at } = reader.peek();
  if (kind !== 'number') {
    reader.note('a number');
    reader.fail();
  }
  if (!Number.isInteger(value) || Number(value) > aliasIndexMax) {
    reader.refuse(at, `an index of an alias is a whole number up to ${aliasIndexMax}`);
  }
  reader.take();
  reader.expect(']');
  return { kind: 'index', index: Number(value), isFromEnd };
}

function sources(reader: TokenReader): Source[] {
  reader.expect('from');
  const read: Source[] = [];
  do {
    reader.limit(read.length, 'events');
    read.push(source(reader));
  } while (reader.accept(','));
  if (reader.isNext('/')) reader.fail('a topic filter is written in double quotes');
  return read;
}

function source(reader: TokenReader): Source {
  const { kind, at } = reader.peek();
  if (kind === 'name') return { name: dotted(reader), at };
  if (kind !== 'text' && kind !== 'double text') {
    reader.note('an event or a topic filter in double quotes');
    reader.fail();
  }
  const { text } = reader.take();
  if (text === '') reader.refuse(at, 'an event or a topic filter cannot be empty');
  return { name: text, at };
}

/** `message.publish` without quotes. */
function dotted(reader: TokenReader): string {
  let name = reader.take().text;
  while (reader.isNext('.')) {
    reader.take();
    name += `.${parseKey(reader)}`;
  }
  return name;
}
