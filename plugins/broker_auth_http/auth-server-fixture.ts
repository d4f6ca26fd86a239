// A web service for tests: a real server that keeps what it was asked and answers, or misbehaves, as the
// test says.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Watch } from '#test/watch';

export interface Asked {
  readonly method: string;
  readonly path: string;
  readonly query: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  /** Of the query, or of the body of a form. */
  readonly params: Readonly<Record<string, string>>;
  /** Which of the connections, from 1, and the how many-th request on it. */
  readonly connection: number;
  readonly turn: number;
}

export type Answer = (response: ServerResponse, asked: Asked) => unknown;

const deadlineMs = 10_000;

export class AuthServer implements AsyncDisposable {
  readonly asked: Asked[] = [];
  /** Requests that are not answered yet, now and at most. */
  underWay = 0;
  underWayMost = 0;
  answer: Answer;
  readonly #server: Server;
  readonly #sockets = new Map<Socket, { readonly number: number; turns: number }>();
  readonly #watch = new Watch();
  #connections = 0;

  /** 200 for everybody until something else is said. */
  static async start(answer: Answer = say(200), tls?: TlsPair): Promise<AuthServer> {
    const server = tls === undefined ? createServer() : createTlsServer(serverTls(tls));
    const service = new AuthServer(server, answer);
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return service;
  }

  constructor(server: Server, answer: Answer) {
    this.#server = server;
    this.answer = answer;
    // Idle connections are closed by tests only.
    server.keepAliveTimeout = 0;
    server.on('request', (request, response) => void this.#take(request, response));
    server.on('connection', (socket: Socket) => {
      this.#connections++;
      socket.on('error', () => undefined);
    });
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** Connections that there have been. */
  get connections(): number {
    return this.#connections;
  }

  url(path = '/mqtt/auth', scheme = 'http'): string {
    return `${scheme}://127.0.0.1:${this.port}${path}`;
  }

  /** `look` is asked again with every request and every end of one. */
  until<T>(look: () => T | undefined): Promise<T> {
    const seen = (): string =>
      this.asked.map(({ path, params }) => `${path} ${params['clientid']}`).join();
    return this.#watch.until(
      look,
      deadlineMs,
      () => new Error(`Cannot wait any longer: the server was asked ${seen() || 'nothing'}`),
    );
  }

  async untilAsked(count: number): Promise<Asked> {
    await this.until(() => this.asked.length >= count || undefined);
    const last = this.asked[count - 1];
    assert.ok(last !== undefined);
    return last;
  }

  async #take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const seat = this.#seatOf(request.socket);
    this.underWay++;
    this.underWayMost = Math.max(this.underWayMost, this.underWay);
    response.on('close', () => {
      this.underWay--;
      this.#watch.wake();
    });
    let body = '';
    request.setEncoding('latin1');
    for await (const chunk of request) body += chunk as string;
    const { pathname, search } = new URL(request.url ?? '/', 'http://service');
    const form = search === '' ? body : search.slice(1);
    const asked: Asked = {
      method: request.method ?? '',
      path: pathname,
      query: search,
      headers: request.headers,
      body,
      params: Object.fromEntries(new URLSearchParams(form)),
      connection: seat.number,
      turn: seat.turns,
    };
    this.asked.push(asked);
    this.#watch.wake();
    this.answer(response, asked);
  }

  #seatOf(socket: Socket): { readonly number: number; turns: number } {
    const seat = this.#sockets.get(socket) ?? { number: this.#sockets.size + 1, turns: 0 };
    this.#sockets.set(socket, seat);
    seat.turns++;
    return seat;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.close();
    this.#server.closeAllConnections();
    await once(this.#server, 'close');
  }
}

export function say(status: number, body = '', headers: Record<string, string> = {}): Answer {
  return (response) => response.writeHead(status, headers).end(body);
}

export function sayJson(value: unknown): Answer {
  return say(200, JSON.stringify(value), { 'content-type': 'application/json' });
}

export type Fault =
  | 'reset'
  | 'close'
  | 'silence'
  | 'half an answer'
  | 'headers that do not end'
  | 'a body that does not end'
  | 'garbage'
  | 'an answer without end'
  | 'headers without bound'
  | 'another protocol';

/** Each as a server or the network may have it. */
export const faults: Readonly<Record<Fault, Answer>> = {
  reset: (response) => response.socket?.resetAndDestroy(),
  close: (response) => response.socket?.destroy(),
  silence: () => undefined,
  'half an answer': (response) => {
    response.writeHead(200, { 'content-length': '100' });
    response.write('half of it', () => response.socket?.resetAndDestroy());
  },
  'headers that do not end': (response) => response.socket?.write('HTTP/1.1 200 OK\r\nx-a: b\r\n'),
  'a body that does not end': (response) => {
    response.writeHead(200, { 'content-length': '100' });
    response.write('half of it');
  },
  garbage: (response) => response.socket?.end('this is no HTTP\r\n\r\n'),
  'an answer without end': (response) => {
    response.writeHead(200);
    const more = (error?: Error | null): unknown =>
      error ?? response.write('x'.repeat(16_384), more);
    more();
  },
  'headers without bound': (response) => {
    response.socket?.write(`HTTP/1.1 200 OK\r\nx-a: ${'b'.repeat(100_000)}\r\n\r\n`);
  },
  'another protocol': (response) => {
    response.socket?.write(
      'HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n',
    );
  },
};

export interface TlsPair {
  readonly certFile: string;
  readonly keyFile: string;
}

/** For 127.0.0.1, and its own authority; made by openssl. */
export function makePair(dir: string, name: string): TlsPair {
  const certFile = join(dir, `${name}-cert.pem`);
  const keyFile = join(dir, `${name}-key.pem`);
  const made = [
    '-x509',
    '-nodes',
    '-days',
    '2',
    '-newkey',
    'ec',
    '-pkeyopt',
    'ec_paramgen_curve:P-256',
  ];
  const named = ['-subj', `/CN=${name}`, '-addext', 'subjectAltName=IP:127.0.0.1'];
  const files = ['-keyout', keyFile, '-out', certFile];
  execFileSync('openssl', ['req', ...made, ...named, ...files], { stdio: 'pipe' });
  return { certFile, keyFile };
}

export function temporaryDir(): { readonly path: string } & Disposable {
  const path = mkdtempSync(join(tmpdir(), 'auth-http-'));
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }) };
}

/** It asks for a certificate, and `client-cert.pem` beside its own is the only one that it takes. */
function serverTls({ certFile, keyFile }: TlsPair): Record<string, unknown> {
  return {
    cert: readFileSync(certFile),
    key: readFileSync(keyFile),
    ca: readFileSync(join(certFile, '..', 'client-cert.pem')),
    requestCert: true,
    rejectUnauthorized: true,
  };
}
