// Topic filters without which a statement cannot match, read off its conditions, so that a message on any
// other topic never meets the rule. Law: they may let through too much, never too little.

import { filterFault, hasWildcard, parseFilter } from '#topics/topic';
import type { RuleSource } from './sources.ts';
import type { Binary, Expression, Field, Membership, Statement } from './sql/ast.ts';

/** Beyond this many it is cheaper to look at everything. */
const filtersMax = 1000;

/** Undefined: it may match on every topic. */
export function watchFilters(statement: Statement): readonly string[] | undefined {
  const { where, fields } = statement;
  if (where === undefined || fields.some(writesTopic)) return undefined;
  const found = filtersIn(where);
  return found === undefined || found.length > filtersMax ? undefined : [...new Set(found)];
}

/** The same for the sources of one event: what FROM says counts where it says more. */
export function filtersOf(
  statement: Statement,
  sources: readonly RuleSource[],
): readonly string[] | undefined {
  const named = sources.map(({ filter }) => filter);
  const byFrom = named.every((filter) => filter !== undefined) ? [...new Set(named)] : undefined;
  return narrower(byFrom, watchFilters(statement));
}

/** Whether a field puts something else in the place of the column `topic` that conditions then see. */
function writesTopic(field: Field): boolean {
  if (field.kind === 'all') return false;
  const { value, alias = [] } = field;
  const [first] = alias;
  if (first?.kind !== 'key' || first.key !== 'topic') return false;
  return alias.length > 1 || !isTopic(value);
}

function filtersIn(condition: Expression): readonly string[] | undefined {
  if (condition.kind === 'in') return filtersOfMembership(condition);
  if (condition.kind !== 'binary') return undefined;
  const { operator, left, right } = condition;
  if (operator === 'and') return narrower(filtersIn(left), filtersIn(right));
  if (operator === 'or') return both(filtersIn(left), filtersIn(right));
  return filtersOfComparison(condition);
}

function filtersOfComparison({ operator, left, right }: Binary): readonly string[] | undefined {
  if (operator !== '=' && operator !== '=~') return undefined;
  if (isTopic(left)) return filterOf(right);
  return operator === '=' && isTopic(right) ? filterOf(left) : undefined;
}

function filtersOfMembership({
  value,
  among,
  isNegated,
}: Membership): readonly string[] | undefined {
  if (isNegated || !isTopic(value)) return undefined;
  let found: readonly string[] | undefined = [];
  for (const one of among) found = both(found, filterOf(one));
  return found;
}

function isTopic(expression: Expression): boolean {
  if (expression.kind !== 'path') return false;
  return expression.steps.length === 1 && expression.steps[0].key === 'topic';
}

/** A name is a filter too: its own. */
function filterOf(expression: Expression): readonly string[] | undefined {
  if (expression.kind !== 'constant' || typeof expression.value !== 'string') return undefined;
  const { value } = expression;
  if (filterFault(value) !== undefined) return undefined;
  return parseFilter(value).group === undefined ? [value] : undefined;
}

type Filters = readonly string[] | undefined;

function both(one: Filters, other: Filters): Filters {
  return one === undefined || other === undefined ? undefined : [...one, ...other];
}

/** Either would do: names before wildcards, then the fewer. */
function narrower(one: Filters, other: Filters): Filters {
  if (one === undefined || other === undefined) return one ?? other;
  const [a, b] = [breadth(one), breadth(other)];
  return b < a ? other : one;
}

function breadth(filters: readonly string[]): number {
  return filters.reduce((sum, filter) => sum + (hasWildcard(filter) ? weightOf(filter) : 1), 0);
}

/** A filter with more names in it matches less. */
function weightOf(filter: string): number {
  const names = filter.split('/').filter((level) => level !== '+' && level !== '#').length;
  return 1_000_000 / (1 + names);
}
