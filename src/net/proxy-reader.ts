// Reads the PROXY header from a fresh, paused socket and stops exactly behind it. Law: `done` is
// called once, with the header and the bytes that came after it, or with the word that says why the
// socket must be closed; then no listener of ours is left on it.

import type { Socket } from 'node:net';
import type { Deadlines } from './deadlines.ts';
import { BadProxyHeader, type ProxyHeader, parseProxyHeader } from './proxy-protocol.ts';

export type ProxyOutcome =
  | { readonly header: ProxyHeader; readonly rest: Buffer }
  | { readonly refused: string };

export class ProxyReader {
  readonly #socket: Socket;
  readonly #done: (outcome: ProxyOutcome) => void;
  readonly #deadlines: Deadlines<ProxyReader>;
  readonly #onReadable = (): void => this.#read();
  readonly #onClose = (): void => this.#finish({ refused: 'closed' });
  #seen: Buffer = Buffer.alloc(0);
  #finished = false;

  constructor(
    socket: Socket,
    deadlines: Deadlines<ProxyReader>,
    done: (outcome: ProxyOutcome) => void,
  ) {
    this.#socket = socket;
    this.#deadlines = deadlines;
    this.#done = done;
    deadlines.watch(this);
    socket.on('close', this.#onClose);
    socket.on('end', this.#onClose);
    socket.on('readable', this.#onReadable);
  }

  /** @internal The deadline has passed. */
  overdue(): void {
    this.#finish({ refused: 'proxy_protocol_timeout' });
  }

  #read(): void {
    const chunk: Buffer | null = this.#socket.read();
    if (chunk === null) return;
    this.#seen = this.#seen.length === 0 ? chunk : Buffer.concat([this.#seen, chunk]);
    const outcome = this.#parse();
    if (outcome !== undefined) this.#finish(outcome);
  }

  #parse(): ProxyOutcome | undefined {
    try {
      const header = parseProxyHeader(this.#seen);
      return header === 'more' ? undefined : { header, rest: this.#seen.subarray(header.consumed) };
    } catch (error) {
      // We are in a socket's callback: a rethrow would end the process for one connection.
      const isBad = error instanceof BadProxyHeader;
      return { refused: isBad ? 'proxy_protocol_error' : 'internal_error' };
    }
  }

  #finish(outcome: ProxyOutcome): void {
    if (this.#finished) return;
    this.#finished = true;
    this.#deadlines.forget(this);
    this.#socket.off('close', this.#onClose);
    this.#socket.off('end', this.#onClose);
    this.#socket.off('readable', this.#onReadable);
    this.#done(outcome);
  }
}
