// A transport over a socket: plain TCP, where reads allocate nothing, and TLS. The hot path of the
// broker begins and ends here. Law: no closure, timer or buffer of its own for an idle connection;
// listeners are shared functions that find their carrier on the socket they are called on.

import { Socket, type SocketConstructorOpts } from 'node:net';
import type { PeerInfo } from '#core/ports';
import { Carrier, type CarrierHome, reasonOf } from './carrier.ts';

const carrierOf = Symbol('carrier');
interface CarriedSocket extends Socket {
  [carrierOf]?: SocketTransport;
}

// Every plain connection of the thread reads into this one buffer: a read is delivered before the
// next one starts, and a sink may not keep the bytes.
const shared = Buffer.allocUnsafeSlow(256 * 1024);
const nothing = new Uint8Array(0);

export class SocketTransport extends Carrier {
  readonly #socket: CarriedSocket;
  readonly #written: ((error?: Error | null) => void) | undefined;

  /** `alwaysLater`: the socket (TLS) never finishes a write at once, so every write gets a callback. */
  constructor(socket: Socket, peer: PeerInfo, home: CarrierHome, alwaysLater: boolean) {
    super(peer, home);
    this.#socket = socket;
    this.#written = alwaysLater ? (error) => this.flushed(error) : undefined;
    this.#socket[carrierOf] = this;
    socket.on('error', onError);
    socket.on('close', onClose);
    if (socket.allowHalfOpen) socket.on('end', onEnd);
  }

  write(bytes: Uint8Array): boolean {
    if (!this.#writable()) return true;
    this.sentBytes += bytes.length;
    this.sentWrites++;
    this.#socket.write(bytes, this.#written);
    return this.#taken();
  }

  writeAll(pieces: readonly Uint8Array[]): boolean {
    if (!this.#writable() || pieces.length === 0) return true;
    const socket = this.#socket;
    socket.cork();
    for (const piece of pieces) {
      this.sentBytes += piece.length;
      socket.write(piece, this.#written);
    }
    socket.uncork();
    this.sentWrites++;
    return this.#taken();
  }

  /** @internal */
  onBytes(bytes: Buffer, count: number): void {
    this.received(bytes, 0, count);
  }

  /** @internal */
  onError(error: Error): void {
    this.because(this.#socket.readableEnded ? 'closed' : reasonOf(error));
  }

  /** @internal */
  onClose(): void {
    this.ended();
  }

  protected override unsent(): number {
    return this.#socket.writableLength;
  }

  protected override stopReading(): void {
    this.#socket.pause();
  }

  protected override startReading(): void {
    this.#socket.resume();
  }

  protected override finish(): void {
    endOurs(this.#socket);
  }

  protected override cut(): void {
    this.#socket.destroy();
  }

  // A socket that is not half-open ends by itself after its peer; a write in between would turn
  // that end into an error.
  #writable(): boolean {
    const socket = this.#socket;
    if (!socket.writable || this.isFinished) return false;
    return socket.allowHalfOpen || !socket.readableEnded;
  }

  // `writableLength` is 0 straight after a write when the kernel took everything. A callback on each
  // write would cost a tick each; an empty write behind a pending one costs only in the rare case.
  #taken(): boolean {
    if (this.settled()) return true;
    if (this.#written === undefined) this.#socket.write(nothing, (error) => this.flushed(error));
    return false;
  }
}

/**
 * Makes an accepted, paused TCP socket into a transport. Reading begins by itself, not before the
 * current turn of the loop is over: `begin` must be called in it.
 */
export function adoptTcp(accepted: Socket, peer: PeerInfo, home: CarrierHome): SocketTransport {
  const reader = takeHandle(accepted);
  return reader === undefined
    ? readByEvents(accepted, peer, home, false)
    : new SocketTransport(reader, peer, home, false);
}

/** The same for a TLS socket whose handshake is done. */
export function adoptTls(secured: Socket, peer: PeerInfo, home: CarrierHome): SocketTransport {
  return readByEvents(secured, peer, home, true);
}

function readByEvents(
  socket: Socket,
  peer: PeerInfo,
  home: CarrierHome,
  alwaysLater: boolean,
): SocketTransport {
  const transport = new SocketTransport(socket, peer, home, alwaysLater);
  socket.on('data', onData);
  socket.resume();
  return transport;
}

// Node calls `callback` on the socket, so one function serves all.
const intoShared = { buffer: shared, callback: onRead as (count: number) => boolean };

interface SocketInside {
  _handle?: { useUserBuffer?: unknown } | null;
  _server?: unknown;
}

/**
 * NOTE: the one place that leans on what Node does not document. `onread`, which makes reads land in
 * our buffer, can be given only to a socket's constructor, and `net.Server` constructs its sockets
 * itself. So the handle moves to a socket of our own, and with it the server's claim (`_server`), by
 * which the server counts its connections down; the accepted socket is left with neither and is
 * garbage. Where a handle cannot be had, the answer is undefined and `data` events do the work.
 */
function takeHandle(accepted: Socket): Socket | undefined {
  const from = accepted as unknown as SocketInside;
  const handle = from._handle;
  if (handle === undefined || handle === null || !('_server' in from)) return undefined;
  if (typeof handle.useUserBuffer !== 'function') return undefined;
  const options = {
    handle,
    onread: intoShared,
    allowHalfOpen: true,
  } as unknown as SocketConstructorOpts;
  const reader = new Socket(options);
  (reader as unknown as SocketInside)._server = from._server;
  from._server = null;
  from._handle = null;
  return reader;
}

function onRead(this: CarriedSocket, count: number): boolean {
  this[carrierOf]?.onBytes(shared, count);
  return true;
}

function onData(this: CarriedSocket, bytes: Buffer): void {
  this[carrierOf]?.onBytes(bytes, bytes.length);
}

function onError(this: CarriedSocket, error: Error): void {
  this[carrierOf]?.onError(error);
}

// When the peer ends its side, so do we; but what it said last arrived in this very turn of the loop,
// and the answers are written at the end of the turn.
function onEnd(this: CarriedSocket): void {
  setImmediate(endOurs, this);
}

function endOurs(socket: Socket): void {
  // Ending twice makes an error that nobody sees, with a stack that costs more than the CONNECT did.
  if (!socket.writableEnded) socket.end();
}

function onClose(this: CarriedSocket): void {
  this[carrierOf]?.onClose();
}
