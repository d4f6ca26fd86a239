// Trees as tests write them: every part in parentheses, so that a row of a table shows what belongs to
// what. Law: two trees that differ in more than places are shown differently.

import type { Expression, Field, Path, PathStep, Statement } from './ast.ts';
import { expressionsOf, partsOf } from './walk.ts';

/** `select a->b, * | from "t" | where (= qos 1)` */
export function showStatement(statement: Statement): string {
  const clauses = [`${statement.kind} ${statement.fields.map(showField).join(', ')}`];
  if (statement.kind === 'foreach') {
    if (statement.each !== undefined)
      clauses.push(`do ${statement.each.map(showField).join(', ')}`);
    if (statement.incase !== undefined) clauses.push(`incase ${show(statement.incase)}`);
  }
  clauses.push(`from ${statement.from.map(({ name }) => JSON.stringify(name)).join(', ')}`);
  if (statement.where !== undefined) clauses.push(`where ${show(statement.where)}`);
  return clauses.join(' | ');
}

/** A text as in JSON, a column with all its steps, all else as `(kind parts)`. */
export function show(expression: Expression): string {
  switch (expression.kind) {
    case 'constant':
      return typeof expression.value === 'bigint'
        ? `${expression.value}n`
        : JSON.stringify(expression.value);
    case 'path':
      return showPath(expression);
    case 'call':
      return `(call ${[expression.name, ...expression.args.map(show)].join(' ')})`;
    case 'unary': {
      const names = { '-': 'minus', '+': 'plus', not: 'not' };
      return `(${names[expression.operator]} ${show(expression.operand)})`;
    }
    case 'binary':
      return `(${expression.operator} ${show(expression.left)} ${show(expression.right)})`;
    case 'in': {
      const among = expression.among.map(show).join(' ');
      return `(${expression.isNegated ? 'not-in' : 'in'} ${show(expression.value)} ${among})`;
    }
    case 'case': {
      const { subject, branches, otherwise } = expression;
      const of = subject === undefined ? '' : ` of ${show(subject)}`;
      const inner = branches.map(({ when, then }) => ` ${show(when)}=>${show(then)}`).join('');
      return `(case${of}${inner}${otherwise === undefined ? '' : ` else ${show(otherwise)}`})`;
    }
    case 'list':
      return `(${['list', ...expression.items.map(show)].join(' ')})`;
    case 'range':
      return `(range ${show(expression.from)} ${show(expression.to)})`;
  }
}

function showField(field: Field): string {
  if (field.kind === 'all') return '*';
  if (field.alias === undefined) return show(field.value);
  const steps = field.alias.map((step) =>
    step.kind === 'key' ? showKey(step.key) : `[${step.isFromEnd ? '-' : ''}${step.index}]`,
  );
  return `${show(field.value)}->${steps.join('.')}`;
}

/** A column that could be taken for a constant or a text stands in backquotes. */
function showPath({ steps: [first, ...steps] }: Path): string {
  const isPlain = /^[A-Za-z_][\w$@~]*$/.test(first.key) && !/^(?:true|false|null)$/.test(first.key);
  return [isPlain ? first.key : `\`${first.key}\``, ...steps.map(showStep)].join('.');
}

function showStep(step: PathStep): string {
  if (step.kind === 'key') return showKey(step.key);
  if (step.kind === 'index') return `[${show(step.index)}]`;
  return `[${show(step.from)}..${show(step.to)}]`;
}

function showKey(key: string): string {
  return /^[\w$@~]+$/.test(key) ? key : JSON.stringify(key);
}

/** Of all parts, parents before their children. */
export function placesOf(statement: Statement): number[] {
  const each = statement.kind === 'foreach' ? (statement.each ?? []) : [];
  const places = [...statement.from, ...statement.fields, ...each].map(({ at }) => at);
  const waiting = expressionsOf(statement);
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    places.push(next.at);
    waiting.push(...partsOf(next));
  }
  return places;
}

/** The same without places, to be compared. */
export function withoutPlaces<T>(tree: T): T {
  if (Array.isArray(tree)) return tree.map(withoutPlaces) as T;
  if (typeof tree !== 'object' || tree === null) return tree;
  const kept = Object.entries(tree).filter(([key]) => key !== 'at');
  return Object.fromEntries(kept.map(([key, value]) => [key, withoutPlaces(value)])) as T;
}
