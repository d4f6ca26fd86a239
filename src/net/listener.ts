// One listening address: opens and closes the port, counts its connections and how they ended, and
// hands each new transport to the broker. Law: an admitted socket is either in the reception or in
// `#open` until it closes, so current_conns is their sum; where other threads have the same listener,
// the share is told that sum whenever it has changed.

import { createServer, type ListenOptions, type Server, type Socket } from 'node:net';
import { type Clock, systemClock } from '#base/clock';
import type { ListenerSettings } from '#config/settings';
import type { ListenerFace, Transport, TransportSink } from '#core/ports';
import type { Carrier, CarrierHome, NetLog } from './carrier.ts';
import { Deadlines } from './deadlines.ts';
import type { FileWatchTimes } from './file-watch.ts';
import { cannotListen } from './listen-error.ts';
import type { ListenerShare } from './listener-share.ts';
import { Reception } from './reception.ts';
import type { PskLookup } from './tls.ts';

export interface ListenerOptions {
  readonly settings: ListenerSettings;
  /** Undefined: refused; the connection is closed. */
  readonly accept: (transport: Transport, face: ListenerFace) => TransportSink | undefined;
  readonly log: NetLog;
  /** Where the self-signed certificate lives. */
  readonly dataDir: string;
  /** Largest MQTT packet of the zone. */
  readonly maxPacketBytes: number;
  /** Several threads listen on the same port and the kernel spreads the connections. */
  readonly reusePort?: boolean | undefined;
  /** Makes `max_connections` and `max_conn_rate` those of all threads together. */
  readonly share?: ListenerShare | undefined;
  readonly pskLookup?: PskLookup | undefined;
  readonly clock?: Clock | undefined;
  readonly watchTimes?: FileWatchTimes | undefined;
}

export interface ListenerReport {
  readonly protocol: string;
  readonly listenOn: string;
  readonly acceptors: number;
  readonly currentConns: number;
  readonly maxConns: number;
  /** One-word reasons of ended and refused connections since the start. */
  readonly shutdownCount: ReadonlyMap<string, number>;
  /** It was told to let nobody in any more; connections that it had may be there. */
  readonly isClosed?: boolean | undefined;
}

/** For a peer that does not read our goodbye, where no send timeout is set. */
const endTimeoutMs = 15_000;

export class Listener implements ListenerFace, AsyncDisposable {
  readonly protocol: string;
  readonly name: string;
  readonly zone: string;
  readonly peerCertAsUsername: 'cn' | 'dn' | 'crt' | undefined;
  readonly shutdownCounts: Map<string, number> = new Map();
  readonly #options: ListenerOptions;
  readonly #settings: ListenerSettings;
  readonly #home: CarrierHome;
  readonly #reception: Reception;
  readonly #open: Set<Carrier> = new Set();
  #server: Server | undefined;
  /** The last server has closed. */
  #closed: Promise<void> = Promise.resolve();
  #onEmpty: (() => void) | undefined;

  constructor(options: ListenerOptions) {
    const { settings, log, dataDir, maxPacketBytes, pskLookup, watchTimes, share } = options;
    const clock = options.clock ?? systemClock;
    this.protocol = `mqtt:${settings.kind}`;
    this.name = settings.name;
    this.zone = settings.zone;
    this.peerCertAsUsername = settings.peerCertAsUsername;
    this.#options = options;
    this.#settings = settings;
    this.#home = {
      clock,
      log,
      rateLimit: settings.rateLimit,
      sendTimeoutClose: settings.sendTimeoutClose && settings.sendTimeoutMs > 0,
      sendDeadlines: new Deadlines(clock, settings.sendTimeoutMs || endTimeoutMs, (late) =>
        late.overdue(),
      ),
      gone: (carrier) => {
        this.#open.delete(carrier);
        this.#left();
      },
    };
    this.#reception = new Reception({
      settings,
      home: this.#home,
      dataDir,
      maxPacketBytes,
      pskLookup,
      watchTimes,
      tokens: share?.tokens,
      ready: (carrier, early) => this.#ready(carrier, early),
      refused: (reason) => this.ended(reason),
      left: () => this.#left(),
    });
  }

  /** The port that is listened on, which the system chose when the settings say 0. */
  get boundPort(): number | undefined {
    const address = this.#server?.address();
    return typeof address === 'object' && address !== null ? address.port : undefined;
  }

  get currentConnections(): number {
    return this.#reception.waiting + this.#open.size;
  }

  /** Opens the port. Throws when certificates or address cannot be used. */
  async start(): Promise<void> {
    if (this.#server !== undefined) return;
    const { kind, nodelay, port, host, backlog } = this.#settings;
    this.#reception.open();
    const server = createServer({ pauseOnConnect: true, noDelay: nodelay });
    server.on('connection', (socket: Socket) => this.#arrived(socket));
    const where: ListenOptions = { port, backlog, reusePort: this.#options.reusePort === true };
    if (host !== undefined) where.host = host;
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    server.once('error', reject);
    server.listen(where, resolve);
    try {
      await promise;
    } catch (cause) {
      this.#reception.close();
      throw cannotListen(this.#settings, cause);
    }
    server.off('error', reject);
    server.on('error', (error) => this.#options.log.error('listener.accept.failed', { error }));
    this.#server = server;
    this.#closed = new Promise((closed) => server.once('close', closed));
    this.#options.log.info('listener.started', { kind, name: this.name, port: this.boundPort });
  }

  /** Closes the port and what has not become a connection yet; connections stay. */
  async stop(): Promise<void> {
    const server = this.#server;
    if (server === undefined) return;
    this.#server = undefined;
    server.close();
    this.#reception.close();
    this.#options.log.info('listener.stopped', { kind: this.#settings.kind, name: this.name });
  }

  /** Stops, ends every connection, and waits for the end of the last one. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
    for (const carrier of [...this.#open]) carrier.destroy();
    await this.#closed;
    // A server is closed when its sockets are, which is a moment before they tell it.
    const { promise, resolve } = Promise.withResolvers<void>();
    if (this.currentConnections > 0) this.#onEmpty = resolve;
    else resolve();
    await promise;
    this.#home.sendDeadlines.clear();
  }

  ended(reason: string): void {
    this.shutdownCounts.set(reason, (this.shutdownCounts.get(reason) ?? 0) + 1);
  }

  describe(): ListenerReport {
    return {
      protocol: this.protocol,
      listenOn: this.#settings.listenOn,
      acceptors: this.#settings.acceptors,
      currentConns: this.currentConnections,
      maxConns: this.#settings.maxConnections,
      shutdownCount: this.shutdownCounts,
      ...(this.#server === undefined ? { isClosed: true } : {}),
    };
  }

  // Nothing may throw out of a socket's callback: it would end the process.
  #arrived(socket: Socket): void {
    try {
      this.#reception.arrived(socket, () => this.#admit());
    } catch (error) {
      this.#options.log.error('listener.accept.threw', { name: this.name, error });
      socket.destroy();
    }
    // Also gives back the place of a socket that failed before it was anywhere.
    this.#options.share?.hold(this.currentConnections);
  }

  #admit(): boolean {
    const { maxConnections } = this.#settings;
    const { share } = this.#options;
    if (share === undefined) return this.currentConnections < maxConnections;
    return share.offer(maxConnections);
  }

  #ready(carrier: Carrier, early: Buffer | undefined): void {
    this.#open.add(carrier);
    let sink: TransportSink | undefined;
    try {
      sink = this.#options.accept(carrier, this);
    } catch (error) {
      this.#options.log.error('listener.accept.threw', { name: this.name, error });
    }
    if (sink === undefined) carrier.destroy();
    else carrier.begin(sink, early);
  }

  #left(): void {
    this.#options.share?.hold(this.currentConnections);
    if (this.currentConnections === 0) this.#onEmpty?.();
  }
}
