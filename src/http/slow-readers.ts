// Ends connections whose client does not read while an answer waits for it. One timer for all of them:
// a connection is looked at a few times in the span that it is allowed.

import type { Socket } from 'node:net';
import type { Clock, ClockTimer } from '#base/clock';

/** `bytesWritten` counts what waits as well. */
export type WatchedSocket = Pick<Socket, 'bytesWritten' | 'writableLength' | 'destroy'> & {
  once(event: 'close', listener: () => void): unknown;
};

interface Seen {
  /** Bytes that had left for the network. */
  readonly sentBytes: number;
  readonly sinceMs: number;
}

const looksPerTimeout = 4;

export class SlowReaders implements Disposable {
  readonly #clock: Clock;
  readonly #timeoutMs: number;
  /** Undefined: nothing waits for it. */
  readonly #seen = new Map<WatchedSocket, Seen | undefined>();
  #timer: ClockTimer;

  constructor(clock: Clock, timeoutMs: number) {
    this.#clock = clock;
    this.#timeoutMs = timeoutMs;
    this.#timer = this.#next();
  }

  /** Until it closes. */
  watch(socket: WatchedSocket): void {
    this.#seen.set(socket, undefined);
    socket.once('close', () => this.#seen.delete(socket));
  }

  [Symbol.dispose](): void {
    this.#timer.cancel();
  }

  #next(): ClockTimer {
    return this.#clock.setTimer(Math.max(1, this.#timeoutMs / looksPerTimeout), () => {
      this.#timer = this.#next();
      for (const [socket, seen] of this.#seen) this.#look(socket, seen);
    });
  }

  #look(socket: WatchedSocket, seen: Seen | undefined): void {
    const { writableLength, bytesWritten } = socket;
    const now = this.#clock.monotonicMs();
    const sentBytes = bytesWritten - writableLength;
    if (writableLength === 0) this.#seen.set(socket, undefined);
    else if (seen?.sentBytes !== sentBytes) this.#seen.set(socket, { sentBytes, sinceMs: now });
    else if (now - seen.sinceMs >= this.#timeoutMs) socket.destroy();
  }
}
