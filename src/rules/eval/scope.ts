// Which names a part of a statement sees, decided while it is compiled. Laws: an alias hides a column of its
// name from there on, also where its value is missing; a name that is neither is refused here, so that at run
// time a name is a place in a list or a column of the event.

import { CompileError } from './compile-error.ts';
import type { CallContext } from './sql-function.ts';
import type { Value } from './value.ts';

/** One run of a statement. */
export interface Frame extends CallContext {
  /** Values of aliases. */
  readonly slots: Value[];
}

export type Evaluate = (frame: Frame) => Value;

export class Scope {
  /** Undefined: any name may be a column. */
  readonly #columns: ReadonlySet<string> | undefined;
  readonly #slots: Map<string, number>;
  /** Shared by all scopes of a statement. */
  readonly #total: { count: number };
  readonly #declared = new Set<string>();
  readonly #used = new Map<string, number>();

  constructor(
    columns: ReadonlySet<string> | undefined,
    slots: ReadonlyMap<string, number> = new Map(),
    total = { count: 0 },
  ) {
    this.#columns = columns;
    this.#slots = new Map(slots);
    this.#total = total;
  }

  /** Sees what this one sees now; what it declares itself stays its own. */
  inner(): Scope {
    return new Scope(this.#columns, this.#slots, this.#total);
  }

  /** Of this scope and those it was made from and that were made from it. */
  get slotCount(): number {
    return this.#total.count;
  }

  /** Whether something that was compiled with it reads an alias. */
  get hasUsedAlias(): boolean {
    return this.#used.size > 0;
  }

  /** Whether something that was compiled with it reads an alias that the other does not have, or has elsewhere. */
  readsMoreThan(other: Scope): boolean {
    return this.#used.entries().some(([name, slot]) => other.#slots.get(name) !== slot);
  }

  /** A place of its own for what this scope declares: elements of FOREACH must not see each other's values. */
  declare(name: string): number {
    const known = this.#slots.get(name);
    if (known !== undefined && this.#declared.has(name)) return known;
    this.#declared.add(name);
    const slot = this.#total.count++;
    this.#slots.set(name, slot);
    return slot;
  }

  /** The place of an alias; undefined: it is a column. */
  resolve(name: string, at: number): number | undefined {
    const slot = this.#slots.get(name);
    if (slot !== undefined) {
      this.#used.set(name, slot);
      return slot;
    }
    if (this.#columns !== undefined && !this.#columns.has(name)) {
      throw new CompileError('unknown_column', at, `Unknown Column: ${name}`);
    }
    return undefined;
  }

  knows(name: string): boolean {
    return this.#slots.has(name) || (this.#columns?.has(name) ?? true);
  }
}
