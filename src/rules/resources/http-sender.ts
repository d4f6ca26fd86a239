// Requests to one web server over connections that are kept. Laws: a request ends in time, whatever the server
// does; of its answer nothing but the status is looked at, and little is read; a redirection is not followed.

import { Agent, type ClientRequest, request } from 'node:http';
import { Agent as TlsAgent, request as tlsRequest } from 'node:https';
import { connect, isIP } from 'node:net';
import { connect as connectTls } from 'node:tls';
import type { Clock } from '#base/clock';
import { type ClientTls, type ClientTlsOptions, readClientTls } from './client-tls.ts';
import { deniedText, guardedLookup, isLinkLocal } from './link-local.ts';
import { JobFault } from './resource-type.ts';

export interface SenderOptions {
  readonly url: string;
  readonly connectTimeoutMs: number;
  readonly requestTimeoutMs: number;
  readonly poolSize: number;
  readonly isLinkLocalDenied: boolean;
  /** Of https; without it the server is checked with the authorities of the runtime. */
  readonly tls?: ClientTls | undefined;
  readonly clock: Clock;
}

export interface WebRequest {
  readonly method: string;
  /** Behind that of the URL. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array | undefined;
}

/** Of the body of an answer; the connection is given up beyond it. */
const answerBytesMax = 64 * 1024;
/** That may go well the next time. */
const passing: ReadonlySet<number> = new Set([408, 425, 429, 500, 502, 503, 504, 507]);
/** These say that nobody is there who could do it, whatever it is. */
const away: ReadonlySet<number> = new Set([429, 502, 503, 504]);
/** A kept connection that the server closed just then is no fault: nothing was heard. */
const staleTriesMax = 3;

export class HttpSender {
  readonly #options: SenderOptions;
  readonly #url: URL;
  #agent: Agent | TlsAgent | undefined;

  constructor(options: SenderOptions) {
    this.#options = options;
    this.#url = new URL(options.url);
  }

  /** Made when it is needed: files of certificates may come later. */
  #agentNow(): Agent | TlsAgent {
    const { poolSize: maxSockets, tls } = this.#options;
    const kept = { keepAlive: true, maxSockets, maxFreeSockets: maxSockets, timeout: 60_000 };
    this.#agent ??= this.#isTls ? new TlsAgent({ ...kept, ...this.#tlsNow(tls) }) : new Agent(kept);
    return this.#agent;
  }

  #tlsNow(tls: ClientTls = { isVerified: true }): ClientTlsOptions & { servername: string } {
    try {
      // An address is no name.
      return { ...readClientTls(tls), servername: isIP(this.#host) === 0 ? this.#host : '' };
    } catch (error) {
      throw unreached(error);
    }
  }

  get #isTls(): boolean {
    return this.#url.protocol === 'https:';
  }

  get #host(): string {
    return this.#url.hostname.replace(/^\[(.*)\]$/, '$1');
  }

  get #port(): number {
    const { port } = this.#url;
    return port === '' ? (this.#isTls ? 443 : 80) : Number(port);
  }

  /** Rejects with a JobFault unless the server has said that it is fine. */
  async send(wanted: WebRequest): Promise<void> {
    this.#checkHost();
    for (let tries = 1; ; tries++) {
      try {
        const status = await this.#exchange(wanted);
        if (status >= 200 && status < 300) return;
        const text = `The web server answered ${status}`;
        throw new JobFault(text, passing.has(status), away.has(status));
      } catch (error) {
        if (!(error instanceof Stale)) throw error;
        if (tries >= staleTriesMax) throw new JobFault(error.message, true, true);
      }
    }
  }

  /** Rejects with the reason unless somebody accepts connections there, and with https shows who he is. */
  async reach(): Promise<void> {
    const { clock, connectTimeoutMs, isLinkLocalDenied, tls } = this.#options;
    this.#checkHost();
    const place = {
      ...{ host: this.#host, port: this.#port },
      ...(isLinkLocalDenied && { lookup: guardedLookup }),
    };
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const socket = this.#isTls ? connectTls({ ...place, ...this.#tlsNow(tls) }) : connect(place);
    const late = new Error(`not connected within ${connectTimeoutMs} ms`);
    const timer = clock.setTimer(connectTimeoutMs, () => reject(late));
    socket.once(this.#isTls ? 'secureConnect' : 'connect', () => resolve());
    socket.on('error', reject);
    socket.on('close', () => reject(new Error('the connection was closed')));
    try {
      await promise;
    } catch (error) {
      throw unreached(error);
    } finally {
      timer.cancel();
      socket.destroy();
    }
  }

  close(): void {
    this.#agent?.destroy();
  }

  #checkHost(): void {
    const host = this.#host;
    if (!this.#options.isLinkLocalDenied || isIP(host) === 0 || !isLinkLocal(host)) return;
    throw new JobFault(deniedText(host), false);
  }

  /** Answers the status. */
  #exchange({ method, path, headers, body }: WebRequest): Promise<number> {
    const { clock, requestTimeoutMs, isLinkLocalDenied } = this.#options;
    const { promise, resolve, reject } = Promise.withResolvers<number>();
    const asked = (this.#isTls ? tlsRequest : request)({
      ...{ agent: this.#agentNow(), host: this.#host, port: this.#port, method, headers },
      path: joinedPath(this.#url, path),
      ...(isLinkLocalDenied && { lookup: guardedLookup }),
    });
    let isOver = false;
    const finish = (): void => {
      isOver = true;
      deadline.cancel();
      stopWaiting();
    };
    const fail = (text: string, code?: string): void => {
      if (isOver) return;
      finish();
      const isStale = asked.reusedSocket && (code === 'ECONNRESET' || code === 'EPIPE');
      reject(isStale ? new Stale(text) : new JobFault(text, true, true));
      asked.destroy();
    };
    const deadline = clock.setTimer(requestTimeoutMs, () =>
      fail(`The web server did not answer within ${requestTimeoutMs} ms`),
    );
    const stopWaiting = this.#watchConnecting(asked, fail);
    asked.on('error', (error: NodeJS.ErrnoException) => {
      fail(unreachedText(error), error.code);
    });
    asked.on('close', () => fail('The web server closed the connection', 'ECONNRESET'));
    asked.on('response', (response) => {
      if (isOver) return;
      finish();
      let bytes = 0;
      // Read to its end, so that the connection can be used again; how the rest fares changes nothing.
      response.on('data', (chunk: Buffer) => {
        bytes += chunk.length;
        if (bytes > answerBytesMax) asked.destroy();
      });
      response.on('error', () => undefined);
      // Sooner than the next request gives up, which may wait for this connection.
      const slow = clock.setTimer(Math.ceil(requestTimeoutMs / 4), () => asked.destroy());
      response.on('close', () => slow.cancel());
      resolve(response.statusCode ?? 0);
    });
    asked.end(body);
    return promise;
  }

  #watchConnecting(asked: ClientRequest, fail: (text: string) => void): () => void {
    const { clock, connectTimeoutMs } = this.#options;
    let timer: { cancel(): void } | undefined;
    asked.on('socket', (socket) => {
      // NOTE: not `reusedSocket`, which is false for one that was handed on to a request that waited for it.
      if (!socket.connecting) return;
      timer = clock.setTimer(connectTimeoutMs, () => {
        fail(`Cannot reach the web server: not connected within ${connectTimeoutMs} ms`);
      });
      socket.once(this.#isTls ? 'secureConnect' : 'connect', () => timer?.cancel());
    });
    return () => timer?.cancel();
  }
}

class Stale extends Error {}

function unreached(error: unknown): JobFault {
  return new JobFault(unreachedText(error), true, true);
}

function unreachedText(error: unknown): string {
  const { message, code } = error as NodeJS.ErrnoException;
  // What the runtime advises is nothing that its user could do here.
  const plain = message.replace(/; if the root CA .*$/, ': cacertfile names those to believe');
  return `Cannot reach the web server: ${plain || code}`;
}

/** Exactly one `/` between them; a query of the URL stays behind both. */
function joinedPath({ pathname, search }: URL, path: string): string {
  if (path === '') return `${pathname}${search}`;
  const [head = '', ...rest] = path.split('?');
  const query = rest.length > 0 ? `?${rest.join('?')}` : '';
  const joined = `${pathname.replace(/\/$/, '')}${head.replace(/^(?!\/|$)/, '/')}` || '/';
  return `${joined}${search === '' ? query : `${search}${query.replace('?', '&')}`}`;
}
