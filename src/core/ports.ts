// What the core asks of the world, in the core's own words: here a transport under each connection;
// what it asks of a store stands in store-port.ts, of other workers in peers-port.ts. Implementations
// live on the floors above and are handed in.

/** Nothing to wait for, or the moment when the thing is done (for a store: flushed to disk). */
export type Wait = undefined | Promise<void>;

/** The two ends of a network connection and what its security layer knows about the client. */
export interface PeerInfo {
  /** IPv4-mapped IPv6 addresses are written as IPv4. After PROXY protocol: the address it told. */
  readonly address: string;
  readonly port: number;
  readonly localAddress: string;
  readonly localPort: number;
  /** Absent on plain transports. */
  readonly tls?: PeerTls | undefined;
  /** Value of the Cookie header of a WebSocket upgrade. */
  readonly wsCookie?: string | undefined;
}

export interface PeerTls {
  /** Present when the client sent a certificate (or a trusted proxy told its common name). */
  readonly commonName?: string | undefined;
  readonly distinguishedName?: string | undefined;
  /** The certificate itself, PEM. */
  readonly certificate?: string | undefined;
  readonly pskIdentity?: string | undefined;
}

/** One network connection, whatever carries it. Never throws; failures arrive as `closed`. */
export interface Transport {
  readonly peer: PeerInfo;
  /**
   * Writes bytes. True: they are gone and the caller may reuse the memory at once. False: the
   * transport keeps the memory until it calls `drained`; the caller writes nothing before that.
   */
  write(bytes: Uint8Array): boolean;
  /** The same for several pieces of memory, in order, as one write. */
  writeAll(pieces: readonly Uint8Array[]): boolean;
  /** Stops and starts reading. While paused nothing is received and nothing is lost. */
  pause(): void;
  resume(): void;
  /** Not reading, by `pause` or by a limit of its own. */
  readonly isPaused: boolean;
  /** Sends what was written, then closes; destroys after a deadline if the peer does not read. */
  end(): void;
  /** Closes at once; unsent bytes are lost. `closed` follows unless it was called already. */
  destroy(): void;
  /** Bytes and calls in both directions, for management. */
  readonly counters: TransportCounters;
}

export interface TransportCounters {
  receivedBytes: number;
  receivedReads: number;
  sentBytes: number;
  sentWrites: number;
}

/** What a connection offers its transport. */
export interface TransportSink {
  /** `bytes[start..end)` is valid only during the call: keep a copy of what must be kept. */
  receive(bytes: Buffer, start: number, end: number): void;
  drained(): void;
  /** Exactly once, at the end of the transport's life. A one-word reason: closed, econnreset, … */
  closed(reason: string): void;
}

/** The listener a connection came through, as the core needs to know it. */
export interface ListenerFace {
  /** `mqtt:tcp`, `mqtt:ssl`, `mqtt:ws`, `mqtt:wss`. */
  readonly protocol: string;
  readonly name: string;
  readonly zone: string;
  readonly peerCertAsUsername: 'cn' | 'dn' | 'crt' | undefined;
  /** Counts how a connection ended; see `shutdown_count`. */
  ended(reason: string): void;
}
