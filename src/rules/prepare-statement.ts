// From the text of a rule to what runs: parsed, its events found, its columns checked, compiled. The same
// for a rule that is made, one that is tried out and one that runs. Throws nothing but RuleFault.

import { type CompiledStatement, compileStatement } from './eval/compile.ts';
import { CompileError } from './eval/compile-error.ts';
import { type EventName, eventNamed } from './events.ts';
import type { Happening } from './happening.ts';
import { RuleFault } from './rule-fault.ts';
import { isFrom, type RuleSource, sourcesOf } from './sources.ts';
import type { Statement } from './sql/ast.ts';
import { parseSql } from './sql/parser.ts';
import { placeOf, SqlError } from './sql/sql-error.ts';
import { filtersOf } from './watch-filters.ts';

export interface PreparedStatement {
  readonly statement: Statement;
  readonly sources: readonly RuleSource[];
  /** In the order of FROM, each once. */
  readonly events: readonly EventName[];
  /** Filters of topics by event; undefined: all topics. */
  readonly interests: ReadonlyMap<EventName, readonly string[] | undefined>;
  readonly compiled: CompiledStatement;
  /** Whether FROM means this event; the topic is one that `interests` let through. */
  isFrom(event: EventName, topic: string | undefined, happening: Happening): boolean;
}

export function prepareStatement(
  rawsql: string,
  forEvents?: string | readonly string[],
): PreparedStatement {
  const statement = parsed(rawsql);
  const sources = sourcesOf(statement, forEvents);
  const byEvent = Map.groupBy(sources, ({ event }) => event);
  const events = [...byEvent.keys()];
  const columns = new Set(events.flatMap((event) => [...(eventNamed(event)?.byName.keys() ?? [])]));
  const compiled = compiledWith(statement, columns, rawsql);
  const interests = new Map(
    Array.from(byEvent, ([event, own]) => [event, filtersOf(statement, own)]),
  );
  // Most rules name an event and nothing else: then there is nothing to ask.
  const asked = new Map(
    Array.from(byEvent, ([event, own]) => [event, isAnything(own) ? undefined : own]),
  );
  return {
    ...{ statement, sources, events, interests, compiled },
    isFrom: (event, topic, happening) => {
      const own = asked.get(event);
      return own === undefined || isFrom(own, topic, happening);
    },
  };
}

function isAnything(sources: readonly RuleSource[]): boolean {
  return sources.some(({ filter, only }) => filter === undefined && only === undefined);
}

function parsed(rawsql: string): Statement {
  try {
    return parseSql(rawsql);
  } catch (error) {
    if (!(error instanceof SqlError)) throw error;
    throw new RuleFault('bad_sql', `${error.message}\n${error.drawing}`, { cause: error });
  }
}

function compiledWith(
  statement: Statement,
  columns: ReadonlySet<string>,
  rawsql: string,
): CompiledStatement {
  try {
    return compileStatement(statement, { columns });
  } catch (error) {
    if (!(error instanceof CompileError)) throw error;
    const { line, column } = placeOf(rawsql, error.at);
    const text = `${error.message} (line ${line}, column ${column})`;
    throw new RuleFault(error.kind, text, { cause: error });
  }
}
