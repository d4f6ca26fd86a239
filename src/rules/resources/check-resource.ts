// Whether an action of a rule can work with the resource that it names.

import { RuleFault } from '../rule-fault.ts';

/** Throws where an action cannot work with the resource that it names. */
export function checkResource(
  action: { readonly name: string; readonly types: readonly string[] },
  id: unknown,
  typeNameOf: (id: string) => string | undefined,
): void {
  if (action.types.length === 0) return;
  const type = typeof id === 'string' ? typeNameOf(id) : undefined;
  if (type === undefined) {
    throw new RuleFault('unknown_resource_type', `Resource ${String(id)} Not Found`);
  }
  if (action.types.includes(type)) return;
  const wanted = action.types.join(' or ');
  throw new RuleFault(
    'bad_params',
    `Cannot use action "${action.name}": resource "${String(id)}" is of type ${type}, expected ${wanted}`,
  );
}
