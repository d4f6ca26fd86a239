// How an error reads in a log line or an answer: its message and those of its causes, on one line,
// never a stack; of a mistake in code that is not ours, its place. Takes whatever was thrown and never
// throws itself.

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

/** As `describeError`, for what plugins throw: `x is not defined (/plugins/mine/worker.ts:4:9)`. */
export function describeMistake(error: unknown): string {
  const isMistake =
    error instanceof SyntaxError || error instanceof ReferenceError || error instanceof TypeError;
  const place = isMistake ? placeOutside(error.stack ?? '') : undefined;
  return place === undefined ? describeError(error) : `${describeError(error)} (${place})`;
}

/** Where our own code lies, and that of no plugin. */
const ownCode = new URL('..', import.meta.url).pathname;
/** A frame, or the first line that the runtime writes about a syntax error. */
const placePattern =
  /^(?:\s+at (?:.*\()?)?(?:file:\/\/)?(\/[^\s()?]+)(?:\?[^\s:]*)?:(\d+(?::\d+)?)\)?$/gm;

/** The first place that is neither the runtime's nor ours. */
function placeOutside(stack: string): string | undefined {
  for (const [, file = '', at = ''] of stack.matchAll(placePattern)) {
    if (!file.startsWith(ownCode)) return `${file}:${at}`;
  }
  return undefined;
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
