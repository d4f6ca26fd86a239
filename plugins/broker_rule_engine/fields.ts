// What several operations of the rule engine have in common.

import { OperatingError, type TSchema, Type } from '#sdk/operations';

export const tag = 'Rules';
/** What is wrong with parameters is answered as what is wrong with a rule. */
export const wrongParams = 'badRule';

/** By language. */
export const words: TSchema = Type.Object({ en: Type.String(), zh: Type.String() });

/** `?test`, `?test=true`, and `"test": true` in the body. */
export function isTest(said: boolean | '' | undefined): boolean {
  return said === true || said === '';
}

/** Answered as code 404 where there is none. */
export function found<T>(one: T | undefined): T {
  if (one === undefined) throw new OperatingError('noRule', 'Not Found');
  return one;
}
