// Walks over the tree of a statement for those who look for something in it. Law: needs no stack of the
// program, however high the tree is.

import type { Expression, Path, Statement } from './ast.ts';

/** The roots, in the order in which they are written: fields, DO, INCASE, WHERE. */
export function expressionsOf(statement: Statement): Expression[] {
  const each = statement.kind === 'foreach' ? (statement.each ?? []) : [];
  const fields = [...statement.fields, ...each].filter((field) => field.kind === 'value');
  const incase = statement.kind === 'foreach' ? statement.incase : undefined;
  const conditions = [incase, statement.where].filter((one) => one !== undefined);
  return [...fields.map((field) => field.value), ...conditions];
}

/** The direct parts, in the order in which they are written. */
export function partsOf(expression: Expression): readonly Expression[] {
  switch (expression.kind) {
    case 'constant':
      return [];
    case 'path':
      return partsOfPath(expression);
    case 'call':
      return expression.args;
    case 'unary':
      return [expression.operand];
    case 'binary':
      return [expression.left, expression.right];
    case 'in':
      return [expression.value, ...expression.among];
    case 'case': {
      const { subject, branches, otherwise } = expression;
      const inner = branches.flatMap(({ when, then }) => [when, then]);
      return [subject, ...inner, otherwise].filter((part) => part !== undefined);
    }
    case 'list':
      return expression.items;
    case 'range':
      return [expression.from, expression.to];
  }
}

/** Where a part begins that lies `heightMax` or more below the root; undefined: there is none. */
export function tooHigh(root: Expression, heightMax: number): number | undefined {
  let level: readonly Expression[] = [root];
  for (let height = 0; height < heightMax && level.length > 0; height += 1)
    level = level.flatMap(partsOf);
  return level[0]?.at;
}

function partsOfPath(path: Path): readonly Expression[] {
  return path.steps.flatMap((step) => {
    if (step.kind === 'key') return [];
    return step.kind === 'index' ? [step.index] : [step.from, step.to];
  });
}
