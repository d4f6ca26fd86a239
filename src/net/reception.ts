// The way from an accepted socket to a transport: admitted (access rules, rate), told by a proxy who
// it is, secured, upgraded. Law: a socket that is not yet a transport is in `#arriving` until it
// becomes one or closes, so that none is left behind; refusals are told by one word each.

import type { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import type { WebSocket } from 'ws';
import type { ListenerSettings } from '#config/settings';
import type { PeerInfo, PeerTls } from '#core/ports';
import { AcceptGate } from './accept-gate.ts';
import { AccessRules } from './access-rules.ts';
import type { Carrier, CarrierHome } from './carrier.ts';
import { Deadlines } from './deadlines.ts';
import type { FileWatchTimes } from './file-watch.ts';
import { peerOf, peerToldByHttp, peerToldByProxy, peerWithTls } from './peer.ts';
import { ProxyReader } from './proxy-reader.ts';
import { ensureSelfSigned } from './self-signed.ts';
import { adoptTcp, adoptTls } from './tcp.ts';
import { type PskLookup, TlsFront } from './tls.ts';
import { type UpgradeFacts, WsFront } from './websocket.ts';
import { WsTransport } from './ws-transport.ts';

export interface ReceptionOptions {
  readonly settings: ListenerSettings;
  readonly home: CarrierHome;
  readonly dataDir: string;
  readonly maxPacketBytes: number;
  readonly pskLookup: PskLookup | undefined;
  readonly watchTimes: FileWatchTimes | undefined;
  /** Where `max_conn_rate` is accounted for, when other threads have the same listener. */
  readonly tokens: BigInt64Array | undefined;
  /** A transport is there; `early` are bytes that came before it and go to its sink first. */
  readonly ready: (carrier: Carrier, early: Buffer | undefined) => void;
  readonly refused: (reason: string) => void;
  /** A socket has left, as a transport or for good. */
  readonly left: () => void;
}

/** From accept to upgrade; a client that only opens a socket must not hold it for ever. */
const upgradeTimeoutMs = 15_000;
/** A frame may carry several packets, so small packet limits do not make for small frames. */
const smallestMessageLimit = 256 * 1024;
const packetHeaderBytes = 5;

export class Reception {
  readonly #options: ReceptionOptions;
  readonly #settings: ListenerSettings;
  readonly #home: CarrierHome;
  readonly #rules: AccessRules;
  readonly #gate: AcceptGate<Socket> | undefined;
  readonly #proxyDeadlines: Deadlines<ProxyReader>;
  readonly #upgradeDeadlines: Deadlines<Socket>;
  readonly #idleDeadlines: Deadlines<WsTransport> | undefined;
  readonly #arriving: Map<Socket, PeerInfo | undefined> = new Map();
  readonly #onClose: (this: Socket) => void;
  #tls: TlsFront | undefined;
  #ws: WsFront | undefined;

  constructor(options: ReceptionOptions) {
    const { settings, home } = options;
    const { clock } = home;
    this.#options = options;
    this.#settings = settings;
    this.#home = home;
    this.#rules = new AccessRules(settings.access);
    if (settings.maxConnRate > 0) {
      const serve = (socket: Socket): void => this.#serve(socket);
      const { maxConnRate, backlog } = settings;
      this.#gate = new AcceptGate(clock, maxConnRate, backlog, serve, options.tokens);
    }
    const proxyTimeoutMs = settings.proxyProtocolTimeoutMs;
    this.#proxyDeadlines = new Deadlines(clock, proxyTimeoutMs, (late) => late.overdue());
    this.#upgradeDeadlines = new Deadlines(clock, upgradeTimeoutMs, (late) =>
      this.#refuse(late, 'idle_timeout'),
    );
    const idleTimeoutMs = settings.ws?.idleTimeoutMs ?? 0;
    if (idleTimeoutMs > 0) {
      this.#idleDeadlines = new Deadlines(clock, idleTimeoutMs, (late) => late.onIdle());
    }
    const reception = this;
    this.#onClose = function onClose() {
      reception.#leave(this);
    };
  }

  /** Sockets that have not become transports yet. */
  get waiting(): number {
    return this.#arriving.size;
  }

  /** Reads certificates and gets ready. Throws when they cannot be used. */
  open(): void {
    this.#tls = this.#settings.tls === undefined ? undefined : this.#openTls(this.#settings.tls);
    if (this.#settings.ws === undefined) return;
    const { maxPacketBytes } = this.#options;
    this.#ws = new WsFront({
      settings: this.#settings.ws,
      maxMessageBytes: Math.max(maxPacketBytes + packetHeaderBytes, smallestMessageLimit),
      closeTimeoutMs: this.#settings.sendTimeoutMs || upgradeTimeoutMs,
      opened: (ws, socket, facts) => this.#upgraded(ws, socket, facts),
    });
  }

  /** Closes what has not become a transport. */
  close(): void {
    this.#gate?.clear();
    for (const socket of [...this.#arriving.keys()]) socket.destroy();
    this.#tls?.[Symbol.dispose]();
  }

  // The stages, in order. Each hands the socket on, or closes it.

  /** A socket was accepted and is paused. `admit` asks, at most once, whether there is a place. */
  arrived(socket: Socket, admit: () => boolean): void {
    const address = socket.remoteAddress;
    if (address === undefined) {
      socket.destroy(); // gone before we looked
    } else if (!this.#rules.allows(address)) {
      this.#refuse(socket, 'access_denied');
    } else if (!admit()) {
      this.#refuse(socket, 'max_connections');
    } else if (this.#gate === undefined) {
      this.#serve(socket);
    } else {
      this.#arrive(socket, undefined);
      if (!this.#gate.offer(socket)) this.#refuse(socket, 'max_conn_rate');
    }
  }

  #serve(socket: Socket): void {
    if (socket.destroyed) return;
    const peer = peerOf(socket);
    if (!this.#settings.proxyProtocol) {
      this.#secure(socket, peer, undefined);
      return;
    }
    this.#arrive(socket, peer);
    new ProxyReader(socket, this.#proxyDeadlines, (outcome) => {
      if ('refused' in outcome) this.#refuse(socket, outcome.refused);
      else this.#secure(socket, peerToldByProxy(peer, outcome.header), outcome.rest);
    });
  }

  #secure(socket: Socket, peer: PeerInfo, early: Buffer | undefined): void {
    if (this.#tls === undefined) {
      this.#upgrade(socket, socket, peer, early);
      return;
    }
    this.#arrive(socket, peer);
    if (early !== undefined && early.length > 0) socket.unshift(early);
    this.#tls.take(socket);
  }

  #secured(socket: TLSSocket, raw: Socket, tls: PeerTls): void {
    const peer = this.#arriving.get(raw);
    if (peer === undefined) socket.destroy();
    else this.#upgrade(socket, raw, peerWithTls(peer, tls), undefined);
  }

  #upgrade(socket: Socket, raw: Socket, peer: PeerInfo, early: Buffer | undefined): void {
    if (this.#ws === undefined) {
      const adopt = socket === raw ? adoptTcp : adoptTls;
      this.#options.ready(adopt(socket, peer, this.#home), early);
      this.#leave(raw);
      return;
    }
    // From here on the socket that speaks HTTP stands for the connection.
    this.#arrive(socket, peer);
    if (socket !== raw) this.#leave(raw);
    this.#upgradeDeadlines.watch(socket);
    if (early !== undefined && early.length > 0) socket.unshift(early);
    this.#ws.take(socket);
  }

  #upgraded(ws: WebSocket, socket: Socket, facts: UpgradeFacts): void {
    const peer = this.#arriving.get(socket);
    if (peer === undefined) {
      ws.terminate();
      return;
    }
    const told = peerToldByHttp(peer, facts);
    const transport = new WsTransport(ws, socket, told, this.#home, this.#idleDeadlines);
    this.#options.ready(transport, undefined);
    this.#leave(socket);
  }

  #arrive(socket: Socket, peer: PeerInfo | undefined): void {
    if (!this.#arriving.has(socket)) {
      socket.on('error', ignore);
      socket.on('close', this.#onClose);
    }
    this.#arriving.set(socket, peer);
  }

  #leave(socket: Socket): void {
    if (!this.#arriving.delete(socket)) return;
    this.#upgradeDeadlines.forget(socket);
    socket.off('close', this.#onClose);
    this.#options.left();
  }

  #refuse(socket: Socket, reason: string): void {
    this.#options.refused(reason);
    socket.on('error', ignore);
    socket.destroy();
  }

  #openTls(settings: NonNullable<ListenerSettings['tls']>): TlsFront {
    const { dataDir, pskLookup, watchTimes } = this.#options;
    const { clock, log } = this.#home;
    const { keyFile, certFile, caCertFile, dhFile } = settings;
    let pair = { keyFile: keyFile ?? '', certFile: certFile ?? '' };
    if (keyFile === undefined || certFile === undefined) {
      const made = ensureSelfSigned(dataDir);
      if (made.created) log.warn('tls.self_signed.created', { file: made.certFile });
      pair = made;
    }
    return new TlsFront({
      clock,
      settings,
      files: { keyFile: pair.keyFile, certFile: pair.certFile, caCertFile, dhFile },
      log,
      pskLookup,
      watchTimes,
      secured: (socket, raw, tls) => this.#secured(socket, raw, tls),
      failed: this.#options.refused,
    });
  }
}

// An error before there is a transport closes the socket, and `close` follows.
function ignore(): void {}
