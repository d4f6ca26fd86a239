// How an error reads in a log line or an answer: its message and those of its causes, on one line,
// never a stack. Takes whatever was thrown and never throws itself.

import { inspect } from 'node:util';

/** Causes may form a ring; nobody reads more than this many of them anyway. */
const causesMax = 8;

/** `Cannot open store: permission denied: EACCES`; the members of an AggregateError in brackets. */
export function describeError(error: unknown): string {
  let text = describeOne(error);
  let cause = causeOf(error);
  for (let depth = 0; depth < causesMax && cause !== undefined; depth += 1) {
    const part = describeOne(cause);
    // Many libraries already quote the cause in the outer message.
    if (!text.includes(part)) text += `: ${part}`;
    cause = causeOf(cause);
  }
  return text;
}

function causeOf(error: unknown): unknown {
  return error instanceof Error ? error.cause : undefined;
}

function describeOne(error: unknown): string {
  if (typeof error === 'string') return error;
  if (!(error instanceof Error)) return inspect(error, { depth: 1, breakLength: Infinity });
  const text = error.message === '' ? error.name : error.message;
  if (!(error instanceof AggregateError)) return text;
  const members = error.errors.slice(0, causesMax).map(messageOf);
  return members.length === 0 ? text : `${text} (${members.join('; ')})`;
}

function messageOf(error: unknown): string {
  return error instanceof Error && error.message !== ''
    ? error.message
    : inspect(error, { depth: 0 });
}
