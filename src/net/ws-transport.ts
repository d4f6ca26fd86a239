// A transport over a WebSocket: MQTT packets in binary frames, of which one may carry several
// packets or a piece of one [MQTT-6.0.0-2]. Law: what arrives while reading is paused is kept, for
// the library hands out every message of a chunk it has begun.

import type { Socket } from 'node:net';
import type { WebSocket } from 'ws';
import type { PeerInfo } from '#core/ports';
import { Carrier, type CarrierHome, reasonOf } from './carrier.ts';
import type { Deadlines } from './deadlines.ts';

const carrierOf = Symbol('carrier');
interface CarriedWebSocket extends WebSocket {
  [carrierOf]?: WsTransport;
}

const wrongFrame = { code: 1003, reason: 'other_frame_type' };
/** Pongs under way at most; a client that sends more pings and does not read gets the last answered. */
const pongsMax = 16;
/** What the library may hand out while we do not read: a chunk, which inflates a thousandfold. */
const heldBytesMax = 16 * 1024 * 1024;

export class WsTransport extends Carrier {
  readonly #ws: CarriedWebSocket;
  readonly #socket: Socket;
  readonly #idle: Deadlines<WsTransport> | undefined;
  readonly #written = (error?: Error): void => this.flushed(error);
  #held: Buffer[] = [];
  #heldBytes = 0;
  #pongs = 0;
  #unanswered: Buffer | undefined;
  /** The WebSocket has closed; the sink hears of it behind what is held. */
  #gone = false;

  /** `socket` is the one under the WebSocket; `idle` renews with every frame of the client. */
  constructor(
    ws: WebSocket,
    socket: Socket,
    peer: PeerInfo,
    home: CarrierHome,
    idle: Deadlines<WsTransport> | undefined,
  ) {
    super(peer, home);
    this.#ws = ws;
    this.#socket = socket;
    this.#idle = idle;
    this.#ws[carrierOf] = this;
    ws.on('message', onMessage);
    ws.on('ping', onPing);
    ws.on('pong', onPong);
    ws.on('error', onError);
    ws.on('close', onClose);
    idle?.watch(this);
  }

  write(bytes: Uint8Array): boolean {
    if (!this.#writable()) return true;
    this.sentBytes += bytes.length;
    this.sentWrites++;
    this.#ws.send(bytes, this.#written);
    return this.settled();
  }

  /** One message in as many fragments as there are pieces, so that nothing needs to be joined. */
  writeAll(pieces: readonly Uint8Array[]): boolean {
    if (!this.#writable() || pieces.length === 0) return true;
    const last = pieces.length - 1;
    this.#socket.cork();
    for (const [i, piece] of pieces.entries()) {
      this.sentBytes += piece.length;
      this.#ws.send(piece, { binary: true, fin: i === last }, this.#written);
    }
    this.#socket.uncork();
    this.sentWrites++;
    return this.settled();
  }

  /** @internal */
  onMessage(bytes: Buffer, isBinary: boolean): void {
    this.#idle?.watch(this);
    // Cut by us: the library empties its chunk all the same.
    if (this.#ws.readyState !== this.#ws.OPEN) return;
    if (!isBinary) {
      this.because(wrongFrame.reason);
      this.#ws.close(wrongFrame.code, wrongFrame.reason);
      this.end();
    } else if (this.isPaused || this.#held.length > 0) {
      this.#hold(bytes);
    } else {
      this.received(bytes, 0, bytes.length);
    }
  }

  #hold(bytes: Buffer): void {
    this.#held.push(bytes);
    this.#heldBytes += bytes.length;
    // One message has its own limit.
    if (this.#held.length > 1 && this.#heldBytes > heldBytesMax) this.fail('frame_flood');
  }

  /** @internal The library would answer each, and keep the answers for a client that does not read. */
  onPing(data: Buffer): void {
    this.#idle?.watch(this);
    if (this.#pongs < pongsMax) this.#pong(data);
    else this.#unanswered = data;
  }

  #pong(data: Buffer): void {
    this.#pongs++;
    this.#ws.pong(data, false, () => {
      this.#pongs--;
      const last = this.#unanswered;
      this.#unanswered = undefined;
      if (last !== undefined) this.#pong(last);
    });
  }

  /** @internal */
  onPong(): void {
    this.#idle?.watch(this);
  }

  /** @internal Nothing came for too long; but what is not read cannot come. */
  onIdle(): void {
    if (this.isPaused) this.#idle?.watch(this);
    else this.fail('idle_timeout');
  }

  /** @internal */
  onError(error: Error): void {
    const code = 'code' in error ? error.code : undefined;
    if (code === 'WS_ERR_UNSUPPORTED_MESSAGE_LENGTH') this.because('frame_too_large');
    else if (typeof code === 'string' && code.startsWith('WS_ERR')) this.because('frame_error');
    else this.because(reasonOf(error));
  }

  /** @internal */
  onClose(): void {
    this.#idle?.forget(this);
    this.#gone = true;
    // An owner that waits for a write to go away would never resume, and can answer nobody any more.
    if (this.isPending) this.#dropHeld();
    if (this.#held.length === 0) this.ended();
  }

  // Counts also what waits to be compressed.
  protected override unsent(): number {
    return this.#ws.bufferedAmount;
  }

  // NOTE: a WebSocket paused while it closes may never resume, and has nothing more to say.
  protected override stopReading(): void {
    if (this.#ws.readyState === this.#ws.OPEN) this.#ws.pause();
  }

  // Never inside the call: whoever resumes may be in the middle of what it received before.
  protected override startReading(): void {
    if (!this.#gone) this.#idle?.watch(this);
    if (this.#held.length > 0) setImmediate(deliverHeld, this);
    else this.#ws.resume();
  }

  protected override finish(): void {
    this.#ws.close();
  }

  protected override cut(): void {
    this.#dropHeld();
    if (this.#gone) setImmediate(deliverHeld, this);
    else this.#ws.terminate();
  }

  /** @internal */
  deliverHeld(): void {
    while (!this.isPaused && this.#held.length > 0) {
      const next = this.#held.shift();
      if (next === undefined) break;
      this.#heldBytes -= next.length;
      this.received(next, 0, next.length);
    }
    if (this.#held.length > 0) return;
    if (this.#gone) this.ended();
    else if (!this.isPaused) this.#ws.resume();
  }

  #dropHeld(): void {
    this.#held = [];
    this.#heldBytes = 0;
  }

  #writable(): boolean {
    return this.#ws.readyState === this.#ws.OPEN && !this.isFinished;
  }
}

function deliverHeld(carrier: WsTransport): void {
  carrier.deliverHeld();
}

// The socket's binary type is left at `nodebuffer`, so a message is one Buffer.
function onMessage(this: WebSocket, data: unknown, isBinary: boolean): void {
  (this as CarriedWebSocket)[carrierOf]?.onMessage(data as Buffer, isBinary);
}

function onPing(this: WebSocket, data: Buffer): void {
  (this as CarriedWebSocket)[carrierOf]?.onPing(data);
}

function onPong(this: WebSocket): void {
  (this as CarriedWebSocket)[carrierOf]?.onPong();
}

function onError(this: WebSocket, error: Error): void {
  (this as CarriedWebSocket)[carrierOf]?.onError(error);
}

function onClose(this: WebSocket): void {
  (this as CarriedWebSocket)[carrierOf]?.onClose();
}
