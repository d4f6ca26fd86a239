// sprintf: directives begin with a tilde, `~<width>.<precision>.<fill><letter>`, as in the original.
//
//   ~s text   ~p ~w any value   ~b ~d integer   ~f ~e ~g number   ~c code of a character   ~n new line   ~~ tilde

import { graphemeCount, graphemeSlice } from './graphemes.ts';
import { bounded } from './json.ts';
import { raise } from './raise.ts';
import { type SqlFunction, sqlFunction } from './sql-function.ts';
import { describeValue, isInteger, textMax, type Value, type ValueList } from './value.ts';
import { textOf } from './value-text.ts';

export const formatFunctions: readonly SqlFunction[] = [
  sqlFunction('Text', 'sprintf', {
    params: { format: 'text', values: 'any*' },
    text: 'A text with values put in: ~s text, ~p any value, ~b integer, ~.2f number, ~n new line, ~~ tilde.',
    examples: {
      "sprintf('~s is ~b', 'x', 5)": '"x is 5"',
      "sprintf('~.2f|~5s|~5..0b', 3.14159, 'ab', 42)": '"3.14|   ab|00042"',
    },
    call: ({ format, values }) => formatted(format, values),
  }),
  sqlFunction('Text', 'sprintf_s', {
    params: { format: 'text', values: 'list' },
    text: 'The same as sprintf, with the values in a list.',
    examples: { "sprintf_s('~s-~s', ['a', 'b'])": '"a-b"', "sprintf_s('~~', [])": '"~"' },
    call: ({ format, values }) => formatted(format, values),
  }),
];

const directive = /~(-?[0-9]{0,7})(?:\.([0-9]{0,3}))?(?:\.([^]))?([^])/uy;

function formatted(format: string, values: ValueList): string {
  let made = '';
  let used = 0;
  for (let at = 0; at < format.length; ) {
    const tilde = format.indexOf('~', at);
    if (tilde < 0) {
      made += format.slice(at);
      break;
    }
    made = bounded(made + format.slice(at, tilde));
    directive.lastIndex = tilde;
    const found = directive.exec(format);
    if (found === null) raise(() => `the format ends in the middle of a directive`);
    const [whole, width = '', precision, fill = ' ', letter = ''] = found;
    at = tilde + whole.length;
    if (letter === '~' || letter === 'n') {
      made += letter === 'n' ? '\n' : '~';
      continue;
    }
    if (used >= values.length) raise(() => `there are fewer values than directives`);
    const text = written(
      letter,
      values[used++],
      precision === undefined || precision === '' ? undefined : Number(precision),
    );
    made = bounded(made + filled(text, Number(width), fill));
  }
  if (used < values.length) raise(() => `there are more values than directives`);
  return bounded(made);
}

function written(letter: string, value: Value, precision: number | undefined): string {
  switch (letter) {
    case 's': {
      const text = textOf(value);
      return precision === undefined ? text : graphemeSlice(text, 0, precision);
    }
    case 'p':
    case 'w':
      return textOf(value);
    case 'b':
    case 'B':
    case 'd':
      return isInteger(value) ? String(value) : wrong(letter, value, 'an integer');
    case 'c':
      if (typeof value === 'number' && isInteger(value) && value >= 0 && value <= 0x10ffff) {
        return String.fromCodePoint(value);
      }
      return wrong(letter, value, 'the code of a character');
    case 'f':
    case 'e':
    case 'g':
      return float(letter, value, precision ?? 6);
    default:
      return raise(() => `there is no directive "~${letter}"`);
  }
}

function float(letter: 'f' | 'e' | 'g', value: Value, precision: number): string {
  if (typeof value !== 'number' && typeof value !== 'bigint')
    return wrong(letter, value, 'a number');
  if (precision > 100) raise(() => `cannot write ${precision} decimals: 0 to 100 are allowed`);
  const number = Number(value);
  if (letter === 'f') return number.toFixed(precision);
  return letter === 'e'
    ? number.toExponential(precision)
    : number.toPrecision(Math.max(1, precision));
}

function wrong(letter: string, value: Value, wanted: string): never {
  return raise(() => `~${letter} wants ${wanted}, found ${describeValue(value)}`);
}

/** A negative width fills behind. */
function filled(text: string, width: number, fill: string): string {
  if (Math.abs(width) > textMax)
    raise(() => `cannot fill up to ${width} characters: ${textMax} are allowed`);
  const missing = Math.max(0, Math.abs(width) - (width === 0 ? 0 : graphemeCount(text)));
  return width < 0 ? text + fill.repeat(missing) : fill.repeat(missing) + text;
}
