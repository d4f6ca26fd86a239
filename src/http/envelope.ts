// The envelope of every answer, made in one place: `code` alone, with `data`, with `data` and `meta`, or
// with `message`. Law: what a client is told of a fault of our own is that there was one.

import { OperatingError } from '#admin/failures';
import { TooManyTries } from '#admin/logins';
import { Page } from '#admin/operation';

export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

const always = {
  'content-type': 'application/json',
  // Answers are of this moment, and many of them are nobody else's business.
  'cache-control': 'no-store',
};

/** Of an operation that was done. */
export function success(result: unknown): Answer {
  const envelope =
    result instanceof Page
      ? { code: 0, data: result.rows, meta: metaOf(result) }
      : { code: 0, data: result };
  return { status: 200, headers: always, body: JSON.stringify(envelope) };
}

function metaOf({ page, limit, count }: Page<unknown>): object {
  return { page, limit, count };
}

export function failure(
  status: number,
  code: number,
  message: string,
  headers: Readonly<Record<string, string>> = {},
): Answer {
  return {
    status,
    headers: { ...always, ...headers },
    body: JSON.stringify({ code, message }),
  };
}

export const notFound: Answer = failure(404, 404, 'Not Found');
const otherOrigin = 'Forbidden: a page of another origin cannot change anything';
export const forbidden: Answer = failure(403, 403, otherOrigin);
export const unavailable: Answer = failure(503, 503, 'Service Unavailable');
const internal: Answer = failure(500, 500, 'Internal Error');
const challenge = { 'www-authenticate': 'Basic realm="broker", charset="UTF-8"' };

/** `onFault`: told of what is our own fault. */
export function failed(error: unknown, onFault: (error: unknown) => void): Answer {
  if (error instanceof OperatingError) {
    const { status, code, message } = error;
    return failure(status, code, message, headersOf(error));
  }
  const status = statusOf(error);
  if (status >= 400 && status < 500) {
    return failure(status, status, (error as Error).message);
  }
  onFault(error);
  return internal;
}

function headersOf(error: OperatingError): Readonly<Record<string, string>> {
  if (error instanceof TooManyTries) return { 'retry-after': String(error.retryAfterSeconds) };
  return error.status === 401 ? challenge : {};
}

/** What the HTTP library found wrong with a request has a status. */
function statusOf(error: unknown): number {
  const { code, statusCode } = (error ?? {}) as { code?: unknown; statusCode?: unknown };
  const isOfLibrary = typeof code === 'string' && code.startsWith('FST_ERR_');
  return isOfLibrary && typeof statusCode === 'number' ? statusCode : 500;
}
