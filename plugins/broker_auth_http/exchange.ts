// One request and its answer, over connections that are kept. Laws: it ends in time, whatever the server
// does; no more of an answer is read than a decision needs; a redirection is an answer, not a place to go.

import { type Agent, type ClientRequest, type IncomingMessage, request } from 'node:http';
import { type Agent as TlsAgent, request as tlsRequest } from 'node:https';
import type { Clock } from '#sdk';
import type { HttpQuestion } from './endpoint.ts';

export interface HttpReply {
  readonly status: number;
  /** Empty unless the status is 200. */
  readonly body: Buffer;
  /** In small letters, without parameters. */
  readonly contentType: string;
  readonly contentEncoding: string;
}

/** No answer, or none that can be used. */
export class NoReply extends Error {
  /** A kept connection was closed by the server just when it was to be used again. */
  readonly isStale: boolean;

  constructor(message: string, isStale: boolean) {
    super(message);
    this.isStale = isStale;
  }
}

export interface Means {
  readonly agent: Agent | TlsAgent;
  readonly clock: Clock;
  readonly timeoutMs: number;
  readonly connectTimeoutMs: number;
}

/** One that is under way. `cancel`: it fails now, and nothing of it is left. */
export interface Exchange {
  readonly reply: Promise<HttpReply>;
  readonly cancel: (why: string) => void;
}

export const replyBytesMax: number = 64 * 1024;

export function exchange(question: HttpQuestion, means: Means): Exchange {
  const { isTls, host, port, path, method, headers, body } = question;
  const { agent, clock, timeoutMs, connectTimeoutMs } = means;
  const { promise: reply, resolve, reject } = Promise.withResolvers<HttpReply>();
  const asked = (isTls ? tlsRequest : request)({ agent, host, port, path, method, headers });
  let answer: IncomingMessage | undefined;
  const deadline = clock.setTimer(timeoutMs, () => fail(`no answer within ${timeoutMs} ms`));
  const stopWaiting = watchConnecting(asked, isTls, () =>
    clock.setTimer(connectTimeoutMs, () => fail(`not connected within ${connectTimeoutMs} ms`)),
  );
  let isOver = false;
  const finish = (): void => {
    isOver = true;
    deadline.cancel();
    stopWaiting();
  };
  const fail = (text: string, code?: string): void => {
    // A connection that was given back may be somebody else's by now.
    if (isOver) return;
    finish();
    // Any other status has said it all: how the rest fares changes nothing.
    if (answer !== undefined && answer.statusCode !== 200) resolve(replyOf(answer, []));
    const isStale =
      answer === undefined && asked.reusedSocket && (code === 'ECONNRESET' || code === 'EPIPE');
    reject(new NoReply(text, isStale));
    asked.destroy();
  };
  asked.on('error', (error: NodeJS.ErrnoException) => fail(error.message, error.code));
  asked.on('close', () => fail('the connection was closed'));
  asked.on('response', (response) => {
    answer = response;
    const chunks: Buffer[] = [];
    let bytes = 0;
    response.on('data', (chunk: Buffer) => {
      if (isOver) return;
      bytes += chunk.length;
      if (bytes > replyBytesMax) fail(`the answer has more than ${replyBytesMax} bytes`);
      else chunks.push(chunk);
    });
    response.on('error', (error) => fail(`the answer broke off: ${error.message}`));
    response.on('end', () => {
      if (isOver) return;
      finish();
      resolve(replyOf(response, chunks));
    });
  });
  asked.end(body);
  return { reply, cancel: fail };
}

/** Answers how to watch no longer. */
function watchConnecting(
  asked: ClientRequest,
  isTls: boolean,
  start: () => { cancel(): void },
): () => void {
  let timer: { cancel(): void } | undefined;
  let isOver = false;
  const stop = (): void => {
    isOver = true;
    timer?.cancel();
  };
  asked.on('socket', (socket) => {
    // One that is handed on by another request is not marked as used again.
    if (isOver || !socket.connecting) return;
    timer = start();
    socket.once(isTls ? 'secureConnect' : 'connect', stop);
  });
  return stop;
}

function replyOf(
  { statusCode = 0, headers }: IncomingMessage,
  chunks: readonly Buffer[],
): HttpReply {
  const [contentType = ''] = (headers['content-type'] ?? '').toLowerCase().split(';');
  return {
    status: statusCode,
    body: statusCode === 200 ? Buffer.concat(chunks) : Buffer.alloc(0),
    contentType: contentType.trim(),
    contentEncoding: headers['content-encoding']?.trim().toLowerCase() ?? '',
  };
}
