// What every transport has in common, whatever carries its bytes: one sink, one end with one reason,
// counters, the two causes for which reading may be paused, and the deadline of a write that does
// not go away. Law: nothing the sink throws leaves this file; it ends that connection alone.

import type { Clock } from '#base/clock';
import { TokenBucket } from '#base/token-bucket';
import type { PeerInfo, Transport, TransportCounters, TransportSink } from '#core/ports';
import type { Deadlines } from './deadlines.ts';

/** The part of the logger that this folder uses. */
export interface NetLog {
  debug(event: string, fields?: Readonly<Record<string, unknown>>): void;
  info(event: string, fields?: Readonly<Record<string, unknown>>): void;
  warn(event: string, fields?: Readonly<Record<string, unknown>>): void;
  error(event: string, fields?: Readonly<Record<string, unknown>>): void;
}

/** What all carriers of one listener share. */
export interface CarrierHome {
  readonly clock: Clock;
  readonly log: NetLog;
  readonly rateLimit: { readonly bytesPerSecond: number; readonly burst: number } | undefined;
  /** Whether a write that stays pending over the deadline ends the connection. */
  readonly sendTimeoutClose: boolean;
  readonly sendDeadlines: Deadlines<Carrier>;
  gone(carrier: Carrier): void;
}

const PAUSED_BY_OWNER = 1;
const PAUSED_BY_RATE = 2;
const PENDING = 4;
const ENDING = 8;
const CLOSED = 16;

/** A timer has a longest delay. The debt stays in the bucket: what is read next waits for it again. */
const rateWaitMsMax = 24 * 60 * 60 * 1000;

const noSink: TransportSink = { receive() {}, drained() {}, closed() {} };

export abstract class Carrier implements Transport, TransportCounters {
  readonly peer: PeerInfo;
  receivedBytes = 0;
  receivedReads = 0;
  sentBytes = 0;
  sentWrites = 0;
  readonly #home: CarrierHome;
  readonly #bucket: TokenBucket | undefined;
  #sink: TransportSink = noSink;
  #flags = 0;
  #reason: string | undefined;

  constructor(peer: PeerInfo, home: CarrierHome) {
    this.peer = peer;
    this.#home = home;
    const limit = home.rateLimit;
    this.#bucket =
      limit === undefined
        ? undefined
        : new TokenBucket(limit.bytesPerSecond, limit.burst, home.clock.monotonicMs());
  }

  abstract write(bytes: Uint8Array): boolean;
  abstract writeAll(pieces: readonly Uint8Array[]): boolean;
  protected abstract stopReading(): void;
  protected abstract startReading(): void;
  /** Flushes what was written and says goodbye; the peer may still not read it. */
  protected abstract finish(): void;
  protected abstract cut(): void;
  /** Bytes handed to `write` that the kernel has not taken yet. */
  protected abstract unsent(): number;

  /** The carrier is its own set of counters: an idle connection is counted in bytes. */
  get counters(): TransportCounters {
    return this;
  }

  /** Gives the carrier its sink, and first the bytes that came before there was one. */
  begin(sink: TransportSink, early?: Buffer): void {
    this.#sink = sink;
    if (early !== undefined && early.length > 0) this.received(early, 0, early.length);
  }

  pause(): void {
    if ((this.#flags & (ENDING | CLOSED)) !== 0) return;
    const reading = !this.isPaused;
    this.#flags |= PAUSED_BY_OWNER;
    if (reading) this.stopReading();
  }

  resume(): void {
    this.#unpause(PAUSED_BY_OWNER);
  }

  end(): void {
    if ((this.#flags & (ENDING | CLOSED)) !== 0) return;
    const wasPaused = this.isPaused;
    this.#flags = ENDING;
    this.#home.sendDeadlines.watch(this);
    this.finish();
    // Reads on and throws away, so that the peer's own end is seen: closing with unread bytes makes
    // the kernel reset the connection, and a reset may overtake the last bytes we sent.
    if (wasPaused) this.startReading();
  }

  destroy(): void {
    this.fail('closed');
  }

  /** Closes at once, for a reason; the first reason told is the one that stays. */
  fail(reason: string): void {
    this.#reason ??= reason;
    if ((this.#flags & CLOSED) === 0) this.cut();
  }

  /** @internal The send deadline has passed. */
  overdue(): void {
    this.fail((this.#flags & ENDING) === 0 ? 'send_timeout' : 'closed');
  }

  get isPaused(): boolean {
    return (this.#flags & (PAUSED_BY_OWNER | PAUSED_BY_RATE)) !== 0;
  }

  protected get isFinished(): boolean {
    return (this.#flags & (ENDING | CLOSED)) !== 0;
  }

  /** A write has not gone away yet, or never will. */
  protected get isPending(): boolean {
    return (this.#flags & PENDING) !== 0;
  }

  /** Remembers why the connection is about to end, without ending it. */
  protected because(reason: string): void {
    this.#reason ??= reason;
  }

  protected received(bytes: Buffer, start: number, end: number): void {
    if ((this.#flags & (ENDING | CLOSED)) !== 0) return;
    this.receivedBytes += end - start;
    this.receivedReads++;
    try {
      this.#sink.receive(bytes, start, end);
      if (this.#bucket !== undefined && !this.isFinished) this.#throttle(this.#bucket, end - start);
    } catch (error) {
      this.#broken('receive', error);
    }
  }

  /** After a write: true when the kernel has all of it, else remembers that `drained` is owed. */
  protected settled(): boolean {
    if (this.unsent() === 0) return true;
    if ((this.#flags & PENDING) === 0) {
      this.#flags |= PENDING;
      if (this.#home.sendTimeoutClose) this.#home.sendDeadlines.watch(this);
    }
    return false;
  }

  /**
   * The callback of a write: tells the sink when it was the last of what is owed. A write that
   * failed frees nothing; the end of the connection follows.
   */
  protected flushed(error: Error | null | undefined): void {
    if (error !== null && error !== undefined) return;
    if ((this.#flags & PENDING) === 0 || this.unsent() > 0) return;
    this.#flags &= ~PENDING;
    if ((this.#flags & (ENDING | CLOSED)) !== 0) return;
    this.#home.sendDeadlines.forget(this);
    try {
      this.#sink.drained();
    } catch (error) {
      this.#broken('drained', error);
    }
  }

  /** The network connection is gone. */
  protected ended(): void {
    if ((this.#flags & CLOSED) !== 0) return;
    this.#flags |= CLOSED;
    this.#home.sendDeadlines.forget(this);
    this.#home.gone(this);
    try {
      this.#sink.closed(this.#reason ?? 'closed');
    } catch (error) {
      this.#home.log.error('connection.closed.threw', { error });
    }
    this.#sink = noSink;
  }

  #throttle(bucket: TokenBucket, count: number): void {
    const waitMs = bucket.take(count, this.#home.clock.monotonicMs());
    if (waitMs <= 0) return;
    const reading = !this.isPaused;
    this.#flags |= PAUSED_BY_RATE;
    if (reading) this.stopReading();
    this.#home.clock.setTimer(Math.min(waitMs, rateWaitMsMax), () => this.#unpause(PAUSED_BY_RATE));
  }

  #unpause(cause: number): void {
    if ((this.#flags & cause) === 0) return;
    this.#flags &= ~cause;
    if (!this.isPaused && !this.isFinished) this.startReading();
  }

  #broken(where: string, error: unknown): void {
    this.#home.log.error(`connection.${where}.threw`, { address: this.peer.address, error });
    this.fail('internal_error');
  }
}

/** The one-word, lower-case name of a socket error: `econnreset`, `etimedout`, `tls_error`, … */
export function reasonOf(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  if (typeof code !== 'string') return 'socket_error';
  if (code === 'ERR_TLS_HANDSHAKE_TIMEOUT') return 'handshake_timeout';
  if (code.startsWith('ERR_SSL') || code.startsWith('ERR_TLS')) return 'tls_error';
  if (code === 'ERR_STREAM_PREMATURE_CLOSE') return 'closed';
  return code.startsWith('E') && !code.startsWith('ERR_') ? code.toLowerCase() : 'socket_error';
}
