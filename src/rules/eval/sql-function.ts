// What a function of SQL is: one entry of a table from which calls are compiled and the documentation is
// made. Laws: arguments are checked and converted before the implementation sees them, a wrong one raises;
// an implementation raises where it cannot answer, and never throws anything else.

import type { EventRecord } from '../event-record.ts';
import { jsonOrMissing } from './json.ts';
import {
  isBytes,
  isInteger,
  isList,
  isMap,
  isMissing,
  textOfBytes,
  type Value,
  type ValueList,
  type ValueMap,
} from './value.ts';

export type FunctionGroup =
  | 'Event'
  | 'Math'
  | 'Bits'
  | 'Conversion'
  | 'Type tests'
  | 'Text'
  | 'Map'
  | 'List'
  | 'Hash and codec'
  | 'Date'
  | 'Binary'
  | 'Other';

export interface SqlFunction {
  /** In small letters. */
  readonly name: string;
  readonly group: FunctionGroup;
  /** Those that may be left out are last. */
  readonly params: readonly SqlParam[];
  /** The last parameter may be given any number of times, also never. */
  readonly isVariadic: boolean;
  /** One line. */
  readonly text: string;
  readonly examples: readonly FunctionExample[];
  /** Makes the implementation for one place in a statement, which may remember its last work. */
  readonly open: () => FunctionCall;
  /** Told the arguments that are constants, undefined for the others; answers what is wrong with them. */
  readonly objection: ((constants: ValueList) => string | undefined) | undefined;
}

export interface FunctionExample {
  /** An expression. */
  readonly sql: string;
  /** As JSON; undefined: it is another every time. */
  readonly result: string | undefined;
}

/** `args` are converted already; those left out are undefined. */
export type FunctionCall = (args: ValueList, context: CallContext) => Value;

export interface CallContext {
  readonly event: EventRecord;
  readonly nowMs: () => number;
}

export interface SqlParam {
  readonly name: string;
  readonly kind: ParamKind;
  readonly isOptional: boolean;
}

interface KindTypes {
  /** Also a missing one. */
  any: Value;
  text: string;
  number: number | bigint;
  integer: number | bigint;
  /** An integer to count with. */
  count: number;
  boolean: boolean;
  list: ValueList;
  map: ValueMap;
  bytes: Buffer;
  /** Anything but a missing one. */
  value: Value;
}
export type ParamKind = keyof KindTypes;

/** For messages and documentation. */
export const kindWords: Readonly<Record<ParamKind, string>> = {
  any: 'anything',
  text: 'a text',
  number: 'a number',
  integer: 'an integer',
  count: 'an integer',
  boolean: 'a boolean',
  list: 'a list',
  map: 'an object',
  bytes: 'a text or bytes',
  value: 'a value',
};

export const refused: unique symbol = Symbol('refused');

/** What the implementation gets for a value; `refused`: it is of the wrong kind. */
export const converters: Readonly<Record<ParamKind, (value: Value) => Value | typeof refused>> = {
  any: (value) => value,
  value: (value) => (isMissing(value) ? refused : value),
  text: (value) => {
    if (typeof value === 'string') return value;
    return isBytes(value) ? (textOfBytes(value) ?? refused) : refused;
  },
  number: (value) => (typeof value === 'number' || typeof value === 'bigint' ? value : refused),
  integer: (value) => (isInteger(value) ? value : refused),
  count: (value) => (Number.isSafeInteger(value) ? value : refused),
  boolean: (value) => (typeof value === 'boolean' ? value : refused),
  list: (value) => {
    const list = typeof value === 'string' ? jsonOrMissing(value) : value;
    return isList(list) ? list : refused;
  },
  map: (value) => {
    const map = typeof value === 'string' ? jsonOrMissing(value) : value;
    return isMap(map) ? map : refused;
  },
  bytes: (value) => {
    if (typeof value === 'string') return Buffer.from(value);
    return isBytes(value) ? value : refused;
  },
};

/** `text: 'text'`, `length: 'count?'`, and last `rest: 'any*'`. */
type Written = Readonly<Record<string, ParamKind | `${ParamKind}?` | `${ParamKind}*`>>;
type Converted<W extends Written> = {
  [K in keyof W]: W[K] extends `${infer Kind extends ParamKind}?`
    ? KindTypes[Kind] | undefined
    : W[K] extends `${infer Kind extends ParamKind}*`
      ? readonly KindTypes[Kind][]
      : W[K] extends ParamKind
        ? KindTypes[W[K]]
        : never;
};

interface Definition<W extends Written> {
  readonly params: W;
  readonly text: string;
  /** Expression → result as JSON. */
  readonly examples: Readonly<Record<string, string | undefined>>;
  readonly call: (args: Converted<W>, context: CallContext) => Value;
  readonly objection?: (constants: ValueList) => string | undefined;
}

/** Parameters in the order in which they are written. */
export function sqlFunction<const W extends Written>(
  group: FunctionGroup,
  name: string,
  definition: Definition<W>,
): SqlFunction {
  return sqlFunctionWithMemory(group, name, { ...definition, open: () => definition.call });
}

/** One that keeps something from call to call, at each place of its own. */
export function sqlFunctionWithMemory<const W extends Written>(
  group: FunctionGroup,
  name: string,
  definition: Omit<Definition<W>, 'call'> & { readonly open: () => Definition<W>['call'] },
): SqlFunction {
  const params = Object.entries(definition.params).map(([param, written]) =>
    paramOf(param, written),
  );
  const isVariadic = Object.values(definition.params).some((written) => written.endsWith('*'));
  const { text, objection, open } = definition;
  const examples = Object.entries(definition.examples).map(([sql, result]) => ({ sql, result }));
  return {
    name,
    group,
    params,
    isVariadic,
    text,
    examples,
    objection,
    open: () =>
      spread(params, isVariadic, open() as (args: unknown, context: CallContext) => Value),
  };
}

function paramOf(name: string, written: string): SqlParam {
  const isPlain = /\w$/.test(written);
  const kind = (isPlain ? written : written.slice(0, -1)) as ParamKind;
  return { name, kind, isOptional: !isPlain };
}

/** Arguments by place → arguments by name. */
function spread(
  params: readonly SqlParam[],
  isVariadic: boolean,
  call: (args: unknown, context: CallContext) => Value,
): FunctionCall {
  const [a = '', b = '', c = ''] = params.map(({ name }) => name);
  // The names are ours, so a literal with computed keys is safe, and as fast as it gets.
  if (!isVariadic && params.length === 0) return (_args, context) => call({}, context);
  if (!isVariadic && params.length === 1) return (args, context) => call({ [a]: args[0] }, context);
  if (!isVariadic && params.length === 2) {
    return (args, context) => call({ [a]: args[0], [b]: args[1] }, context);
  }
  if (!isVariadic && params.length === 3) {
    return (args, context) => call({ [a]: args[0], [b]: args[1], [c]: args[2] }, context);
  }
  return (args, context) => {
    const named: Record<string, unknown> = {};
    params.forEach(({ name }, i) => {
      named[name] = isVariadic && i === params.length - 1 ? args.slice(i) : args[i];
    });
    return call(named, context);
  };
}

/** `2`, `2 or 3`, `at least 1`. */
export function arityWords({ params, isVariadic }: SqlFunction): string {
  const least = params.filter(({ isOptional }) => !isOptional).length;
  if (isVariadic) return `at least ${least}`;
  return least === params.length ? String(least) : `${least} to ${params.length}`;
}
