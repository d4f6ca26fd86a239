// Calls as closures: names and numbers of arguments are checked once, their kinds each time. Law: what a
// function raises tells its name and its place.

import type { Call } from '../sql/ast.ts';
import { CompileError } from './compile-error.ts';
import { sqlFunctions } from './functions.ts';
import { RuleRaise, raise } from './raise.ts';
import type { Evaluate } from './scope.ts';
import {
  arityWords,
  converters,
  kindWords,
  refused,
  type SqlFunction,
  type SqlParam,
} from './sql-function.ts';
import { describeValue, isMissing, type Value } from './value.ts';

export function compileCall(call: Call, args: readonly Evaluate[]): Evaluate {
  const entry = sqlFunctions.get(call.name);
  if (entry === undefined) {
    throw new CompileError('unknown_function', call.at, `Unknown Function: ${call.name}`);
  }
  checkArguments(entry, call);
  const { name } = entry;
  const run = entry.open();
  const convert = args.map((_, i) => converterOf(paramAt(entry, i), entry.isVariadic));
  return (frame) => {
    const values = new Array<Value>(args.length);
    try {
      for (let i = 0; i < args.length; i++) {
        values[i] = (convert[i] as Converter)((args[i] as Evaluate)(frame), i);
      }
      return run(values, frame);
    } catch (error) {
      if (!(error instanceof RuleRaise) || error.at !== undefined) throw error;
      throw placed(name, call.at, error);
    }
  };
}

function placed(name: string, at: number, inner: RuleRaise): RuleRaise {
  const outer = new RuleRaise(() => `${name}(): ${inner.message}`);
  outer.at = at;
  return outer;
}

type Converter = (value: Value, place: number) => Value;

function converterOf({ kind, isOptional }: SqlParam, isVariadic: boolean): Converter {
  const convert = converters[kind];
  return (value, place) => {
    const converted = convert(value);
    if (converted !== refused) return converted;
    // One that may be left out may be missing, too.
    if (isOptional && !isVariadic && isMissing(value)) return undefined;
    return raise(
      () => `argument ${place + 1} is ${describeValue(value)}, expected ${kindWords[kind]}`,
    );
  };
}

function paramAt({ params }: SqlFunction, place: number): SqlParam {
  return params[Math.min(place, params.length - 1)] as SqlParam;
}

function checkArguments(entry: SqlFunction, call: Call): void {
  const { params, isVariadic, name, objection } = entry;
  const given = call.args.length;
  const least = params.filter(({ isOptional }) => !isOptional).length;
  if (given < least || (given > params.length && !isVariadic)) {
    const problem = `Cannot call ${name}: found ${given} arguments, expected ${arityWords(entry)}`;
    throw new CompileError('bad_sql', call.at, problem);
  }
  const constants = call.args.map((arg) => (arg.kind === 'constant' ? arg.value : undefined));
  const wrong = objection?.(constants);
  if (wrong !== undefined)
    throw new CompileError('bad_sql', call.at, `Cannot call ${name}: ${wrong}`);
}
