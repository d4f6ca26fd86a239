// One port that speaks HTTP, with its bounds: connections, time for a request, time for an answer to be
// read. Laws: whoever is slow or silent loses the connection and nobody else does; a changed certificate
// is used for new connections.

import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { createServer as createTlsServer, type Server as TlsServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import type { Clock } from '#base/clock';
import type { Logger } from '#base/log';
import { createServer } from '#base/node-http';
import type { HttpListenerSettings } from '#config/settings';
import { AccessRules } from '#net/access-rules';
import { FileWatch } from '#net/file-watch';
import type { ListenerReport } from '#net/listener';
import { ensureSelfSigned } from '#net/self-signed';
import { filesOf, loadContext, type TlsFiles } from '#net/tls-context';
import { type Answer, failure } from './envelope.ts';
import { SlowReaders } from './slow-readers.ts';

export type Handler = (request: IncomingMessage, response: ServerResponse) => void;

export interface HttpPortOptions {
  readonly settings: HttpListenerSettings;
  readonly requestTimeoutMs: number;
  readonly dataDir: string;
  readonly clock: Clock;
  readonly log: Logger;
  readonly handle: Handler;
}

const keepAliveMs = 30_000;
/** Longer than the largest interval between two looks at slow requests would be of no use. */
const checkMsMax = 5000;
/** For requests that are being answered when the port closes. */
const closeMsMax = 5000;

export class HttpPort implements AsyncDisposable {
  readonly settings: HttpListenerSettings;
  readonly #options: HttpPortOptions;
  readonly #server: Server | TlsServer;
  readonly #sockets = new Set<Socket>();
  /** Answers that have not ended, by connection. */
  readonly #underWay = new WeakMap<Socket, Set<ServerResponse>>();
  readonly #slow: SlowReaders;
  #watch: FileWatch | undefined;

  /** Throws an error that names the key when it cannot listen. */
  static async open(options: HttpPortOptions): Promise<HttpPort> {
    const port = new HttpPort(options);
    try {
      await port.#listen();
      return port;
    } catch (error) {
      await port[Symbol.asyncDispose]();
      throw error;
    }
  }

  private constructor(options: HttpPortOptions) {
    const { settings, clock, requestTimeoutMs } = options;
    this.settings = settings;
    this.#options = options;
    const limits = {
      requestTimeout: requestTimeoutMs,
      headersTimeout: requestTimeoutMs,
      keepAliveTimeout: keepAliveMs,
      connectionsCheckingInterval: Math.min(checkMsMax, Math.ceil(requestTimeoutMs / 4)),
      noDelay: true,
      // Asked for by `#serve`, which answers in an envelope.
      requireHostHeader: false,
    };
    this.#server =
      settings.tls === undefined
        ? createServer(limits)
        : createTlsServer({ ...limits, ...this.#tls() });
    this.#server.maxConnections = settings.maxClients;
    this.#slow = new SlowReaders(clock, settings.sendTimeoutMs);
    const access = new AccessRules(settings.access);
    this.#server.on('connection', (socket: Socket) => this.#accept(socket, access));
    this.#server.on('secureConnection', (socket: TLSSocket) => this.#secured(socket));
    this.#server.on('request', (request, response) => this.#serve(request, response));
    this.#server.on('checkExpectation', (_request, response: ServerResponse) => {
      send(response, failure(417, 417, 'Expectation Failed'));
    });
    this.#server.on('clientError', (error, socket: Socket) => this.#refuse(error, socket));
  }

  /** Where it listens, as it came out: `127.0.0.1:18083`, `*:8080`. */
  get listensOn(): string {
    const { host = '*' } = this.settings;
    return `${host.includes(':') ? `[${host}]` : host}:${this.port}`;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo | null)?.port ?? this.settings.port;
  }

  get protocol(): string {
    const { owner, tls } = this.settings;
    return `${tls === undefined ? 'http' : 'https'}:${owner}`;
  }

  describe(): ListenerReport {
    const { host, listenOn, acceptors, maxClients } = this.settings;
    return {
      protocol: this.protocol,
      listenOn: host === undefined ? String(this.port) : listenOn.replace(/\d+$/, `${this.port}`),
      acceptors,
      maxConns: maxClients,
      currentConns: this.#sockets.size,
      shutdownCount: new Map(),
    };
  }

  /** What is being answered has a moment to end. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#watch?.[Symbol.dispose]();
    this.#slow[Symbol.dispose]();
    if (!this.#server.listening) return;
    const closed = new Promise((resolve) => this.#server.close(resolve));
    this.#server.closeIdleConnections();
    const late = this.#options.clock.setTimer(closeMsMax, () => this.#destroyAll());
    await closed;
    late.cancel();
  }

  #destroyAll(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  async #listen(): Promise<void> {
    const { host, port, backlog } = this.settings;
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.#server.once('error', reject);
    this.#server.listen({ port, backlog, ...(host === undefined ? {} : { host }) }, resolve);
    try {
      await promise;
    } catch (cause) {
      throw cannotListen(this.settings, cause);
    }
    this.#server.off('error', reject);
    this.#server.on('error', (error) => {
      this.#options.log.error('http.failed', { key: this.settings.key, error });
    });
  }

  #serve(request: IncomingMessage, response: ServerResponse): void {
    const { socket, headers, httpVersion } = request;
    const underWay = this.#underWay.get(socket) ?? new Set();
    this.#underWay.set(socket, underWay.add(response));
    response.once('close', () => underWay.delete(response));
    if (headers.host === undefined && httpVersion === '1.1')
      send(response, failure(400, 400, 'Bad Request'));
    else this.#options.handle(request, response);
  }

  /**
   * What came is no request, or not in time. It is told so where no other answer is expected first: an
   * answer that comes too early is taken for that of somebody else.
   */
  #refuse(error: NodeJS.ErrnoException, socket: Socket): void {
    const before = [...(this.#underWay.get(socket) ?? [])];
    if (before.some(({ req, headersSent }) => req.complete || headersSent)) socket.destroy();
    else refuse(error, socket);
  }

  #accept(socket: Socket, access: AccessRules): void {
    const address = socket.remoteAddress?.replace(/^::ffff:(?=\d+\.)/, '');
    if (address === undefined || !access.allows(address)) {
      socket.destroy();
      return;
    }
    this.#sockets.add(socket);
    socket.once('close', () => this.#sockets.delete(socket));
    if (this.settings.tls === undefined) this.#slow.watch(socket);
  }

  /** What waits for the client waits here, and not in the socket below. */
  #secured(socket: TLSSocket): void {
    const isForged = socket.getPeerX509Certificate() !== undefined && !socket.authorized;
    // None may be fine; one that does not verify never is.
    if (isForged && this.settings.tls?.verifyPeer) socket.destroy();
    else this.#slow.watch(socket);
  }

  #tls(): object {
    const { settings, dataDir, clock, log } = this.#options;
    const { tls } = settings;
    if (tls === undefined) return {};
    const { keyFile, certFile } =
      tls.keyFile !== undefined && tls.certFile !== undefined
        ? { keyFile: tls.keyFile, certFile: tls.certFile }
        : ensureSelfSigned(dataDir);
    const { caCertFile, dhFile } = tls;
    const files: TlsFiles = { keyFile, certFile, caCertFile, dhFile };
    this.#watch = new FileWatch(clock, filesOf(files), () => {
      try {
        (this.#server as TlsServer).setSecureContext(loadContext(tls, files).options);
        log.info('tls.certificate.reloaded', { key: settings.key, file: certFile });
      } catch (error) {
        log.error('tls.certificate.kept', { key: settings.key, file: certFile, error });
      }
    });
    return {
      ...loadContext(tls, files).options,
      handshakeTimeout: tls.handshakeTimeoutMs,
      requestCert: tls.verifyPeer,
      rejectUnauthorized: tls.verifyPeer && tls.failIfNoPeerCert,
    };
  }
}

function cannotListen({ key, host, port, listenOn }: HttpListenerSettings, cause: unknown): Error {
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : String(cause);
  const example = host === undefined ? '' : `${host}:`;
  const remedies: Readonly<Record<string, string>> = {
    EADDRINUSE: `it is in use, stop what uses it, choose another with --set ${key}=${example}<port>, or off`,
    EACCES: `not permitted, choose a port over 1023 with --set ${key}=${example}<port>`,
    EADDRNOTAVAIL: `this machine has no such address, choose one with --set ${key}=<address>:${port}`,
  };
  return new Error(`Cannot listen on "${listenOn}" for ${key}: ${remedies[code] ?? code}`, {
    cause,
  });
}

const refusals: Readonly<Record<string, readonly [status: number, words: string]>> = {
  ERR_HTTP_REQUEST_TIMEOUT: [408, 'Request Timeout'],
  HPE_HEADER_OVERFLOW: [431, 'Request Header Fields Too Large'],
};

function send(response: ServerResponse, { status, headers, body }: Answer): void {
  response.writeHead(status, { ...headers, connection: 'close' }).end(body);
}

function refuse(error: NodeJS.ErrnoException, socket: Socket): void {
  const [status, words] = refusals[error.code ?? ''] ?? [400, 'Bad Request'];
  const { headers, body } = failure(status, status, words, { connection: 'close' });
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  const head = [`HTTP/1.1 ${status} ${words}`, ...lines, `content-length: ${body.length}`];
  if (socket.writable) socket.end(`${head.join('\r\n')}\r\n\r\n${body}`);
  socket.destroySoon();
}
