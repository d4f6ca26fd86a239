// What one run of FOREACH may take. Law: elements times everything else in a payload is the work that one
// message of a stranger asks for, so both its time and what it makes are bounded; beyond it the statement does
// not match, as half of a list is nobody's wish.

import { raise } from './raise.ts';
import { isBytes, type ValueMap } from './value.ts';

const msMax = 2000;
/** Characters and bytes of all outputs together. */
const weightMax: number = 64 * 2 ** 20;

export class ForeachBudget {
  readonly #monotonicMs: () => number;
  readonly #endsAtMs: number;
  #weight = 0;

  constructor(monotonicMs: () => number) {
    this.#monotonicMs = monotonicMs;
    this.#endsAtMs = monotonicMs() + msMax;
  }

  /** Of each element, before it is looked at. Raises. */
  checkTime(): void {
    if (this.#monotonicMs() > this.#endsAtMs) {
      raise(() => `going through the list takes more than ${msMax} ms`);
    }
  }

  /** Raises. */
  add(weight: number): void {
    this.#weight += weight;
    if (this.#weight > weightMax) raise(() => `the outputs have more than ${weightMax} characters`);
  }
}

/** Of texts and bytes: what else is in an output is part of the payload, and there once. */
export function flatWeight(output: ValueMap): number {
  let weight = 0;
  for (const key of Object.keys(output)) {
    const value = output[key];
    if (typeof value === 'string' || isBytes(value)) weight += value.length;
  }
  return weight;
}
