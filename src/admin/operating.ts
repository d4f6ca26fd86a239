// Whose fault it is when a worker was asked and something went wrong: that of the outside world is told, our
// own stays what it is.

import { CallError } from '#base/calls';
import { describeError } from '#base/errors';
import { OperatingError } from './failures.ts';

/** What a worker that was asked says went wrong, or that it could not be asked. */
export async function operating<T>(asked: Promise<T>): Promise<T> {
  try {
    return await asked;
  } catch (error) {
    if (error instanceof OperatingError || isOurFault(error)) throw error;
    const kind = error instanceof CallError ? 'badCall' : 'failed';
    throw new OperatingError(kind, describeError(error), { cause: error });
  }
}

/** Errors lose their class on the way from thread to thread, not their name. */
function isOurFault(error: unknown): boolean {
  return error instanceof Error && /^(Type|Reference|Range|Assertion)Error/.test(error.name);
}
