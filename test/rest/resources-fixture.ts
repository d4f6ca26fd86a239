// A web server that does what a test tells it, and keeps what it was sent.

import {
  createServer,
  type IncomingHttpHeaders,
  type RequestListener,
  type Server,
  type ServerResponse,
} from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import type { TlsOptions } from 'node:tls';
import { Watch } from '#test/watch';

export interface Told {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** How it answers: a status, never, with garbage, or by tearing the connection down. */
export type Manner = number | 'silent' | 'garbage' | 'reset';

export class Sink implements AsyncDisposable {
  readonly told: Told[] = [];
  manner: Manner | ((told: Told) => Manner) = 200;
  readonly #watch = new Watch();
  readonly #sockets = new Set<Socket>();
  #server: Server | undefined;
  #port = 0;

  readonly #tls: TlsOptions | undefined;

  constructor(tls?: TlsOptions) {
    this.#tls = tls;
  }

  /** With `tls` by https. */
  static async open(tls?: TlsOptions): Promise<Sink> {
    const sink = new Sink(tls);
    await sink.up();
    return sink;
  }

  get port(): number {
    return this.#port;
  }

  get url(): string {
    return `${this.#tls === undefined ? 'http' : 'https'}://127.0.0.1:${this.#port}/told`;
  }

  get connections(): number {
    return this.#sockets.size;
  }

  /** Listens, on the port that it had. */
  async up(): Promise<void> {
    const told: RequestListener = (request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        const { method = '', url: path = '', headers } = request;
        const one = { method, path, headers, body: Buffer.concat(chunks).toString() };
        this.told.push(one);
        this.#watch.wake();
        answer(response, typeof this.manner === 'function' ? this.manner(one) : this.manner);
      });
      request.on('error', () => undefined);
    };
    const server = this.#tls === undefined ? createServer(told) : createTlsServer(this.#tls, told);
    server.on('connection', (socket: Socket) => {
      this.#sockets.add(socket);
      socket.on('close', () => this.#sockets.delete(socket));
    });
    await new Promise<void>((resolve) => server.listen(this.#port, '127.0.0.1', resolve));
    this.#port = (server.address() as AddressInfo).port;
    this.#server = server;
  }

  async down(): Promise<void> {
    const server = this.#server;
    this.#server = undefined;
    if (server === undefined) return;
    const closed = new Promise<void>((resolve) => server.close(() => resolve()));
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }

  until(isSo: (told: readonly Told[]) => boolean): Promise<true> {
    const late = (): Error => new Error(`The sink was told ${JSON.stringify(this.told)}`);
    return this.#watch.until(() => (isSo(this.told) ? true : undefined), 20_000, late);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.down();
  }
}

function answer(response: ServerResponse, manner: Manner): void {
  if (typeof manner === 'number') response.writeHead(manner).end('{}');
  else if (manner === 'garbage') response.socket?.end('this is no HTTP\r\n\r\n');
  else if (manner === 'reset') response.socket?.resetAndDestroy();
}
