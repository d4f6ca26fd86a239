// HTTP in front of a listener: upgrades requests for the MQTT path to WebSockets and answers every
// other one with an error. Works on sockets that were accepted elsewhere, plain or TLS.

import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { isIP, type Socket } from 'node:net';
import { constants as zlib } from 'node:zlib';
import { type PerMessageDeflateOptions, type WebSocket, WebSocketServer } from 'ws';
import { createServer, STATUS_CODES } from '#base/node-http';
import type { WsDeflateSettings, WsSettings } from '#config/settings';

/** What an upgrade request told about the client. */
export interface UpgradeFacts {
  /** From the headers of a trusted proxy, when configured and sent. */
  readonly address: string | undefined;
  readonly port: number | undefined;
  readonly cookie: string | undefined;
}

export interface WsFrontOptions {
  readonly settings: WsSettings;
  /** Largest message, in bytes, when the settings set no limit. */
  readonly maxMessageBytes: number;
  /** How long a closing handshake may take. */
  readonly closeTimeoutMs: number;
  /** `socket` is the one that was given to `take`. */
  readonly opened: (ws: WebSocket, socket: Socket, facts: UpgradeFacts) => void;
}

const subprotocols: ReadonlySet<string> = new Set(['mqtt', 'mqttv3.1', 'mqttv3.1.1', 'mqttv5']);
const headerBytesMax = 8192;

export class WsFront {
  readonly #options: WsFrontOptions;
  readonly #http: Server;
  readonly #upgrader: WebSocketServer;

  constructor(options: WsFrontOptions) {
    this.#options = options;
    this.#http = createServer({ maxHeaderSize: headerBytesMax });
    this.#http.on('request', (request, response) => this.#answer(request, response));
    this.#http.on('upgrade', (request: IncomingMessage, socket: Socket, head: Buffer) =>
      this.#upgrade(request, socket, head),
    );
    this.#upgrader = new WebSocketServer({
      noServer: true,
      clientTracking: false,
      autoPong: false,
      maxPayload: options.settings.maxFrameBytes || options.maxMessageBytes,
      perMessageDeflate: options.settings.compress && deflateOptions(options.settings.deflate),
      closeTimeout: options.closeTimeoutMs,
      handleProtocols: chooseSubprotocol,
    } as ConstructorParameters<typeof WebSocketServer>[0]);
  }

  /** Waits for the request on an accepted socket; bytes read already may be unshifted to it. */
  take(socket: Socket): void {
    this.#http.emit('connection', socket);
    socket.resume();
  }

  #answer(request: IncomingMessage, response: ServerResponse): void {
    const found = this.#isMqttPath(request);
    response.writeHead(found ? 426 : 404, {
      Connection: found ? 'Upgrade, close' : 'close',
      'Content-Type': 'text/plain',
      ...(found ? { Upgrade: 'websocket' } : {}),
    });
    response.end(found ? 'This path speaks MQTT over WebSocket only\n' : 'Not found\n');
  }

  #upgrade(request: IncomingMessage, socket: Socket, head: Buffer): void {
    const { settings } = this.#options;
    socket.on('error', ignore);
    if (!this.#isMqttPath(request)) {
      refuse(socket, 404, 'Not found');
    } else if (settings.verifyProtocolHeader && offered(request) === undefined) {
      refuse(
        socket,
        400,
        `Sec-WebSocket-Protocol must name one of ${[...subprotocols].join(', ')}`,
      );
    } else {
      this.#upgrader.handleUpgrade(request, socket, head, (ws) => {
        socket.off('error', ignore);
        this.#options.opened(ws, socket, factsOf(request, settings));
      });
    }
  }

  #isMqttPath(request: IncomingMessage): boolean {
    const path = (request.url ?? '').split('?', 1)[0];
    return path === this.#options.settings.mqttPath;
  }
}

/** The first name that the client offers and that is MQTT. */
function offered(request: IncomingMessage): string | undefined {
  const names = request.headers['sec-websocket-protocol']?.split(',') ?? [];
  return names.map((name) => name.trim()).find((name) => subprotocols.has(name));
}

// Only reached with an offer; without an MQTT name in it (allowed when the header is not verified)
// the answer names none.
function chooseSubprotocol(_names: Set<string>, request: IncomingMessage): string | false {
  return offered(request) ?? false;
}

function refuse(socket: Socket, status: 400 | 404, text: string): void {
  const body = `${text}\n`;
  socket.end(
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nConnection: close\r\n` +
      `Content-Type: text/plain\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  );
}

function factsOf(request: IncomingMessage, settings: WsSettings): UpgradeFacts {
  const address = firstValue(request, settings.proxyAddressHeader);
  const port = Number(firstValue(request, settings.proxyPortHeader));
  return {
    address: address !== undefined && isIP(address) !== 0 ? address : undefined,
    port: Number.isInteger(port) && port > 0 && port <= 65535 ? port : undefined,
    cookie: request.headers.cookie,
  };
}

// Each proxy appends the address it saw: the first one is the client.
function firstValue(request: IncomingMessage, header: string | undefined): string | undefined {
  if (header === undefined) return undefined;
  const value = request.headers[header.toLowerCase()];
  const text = Array.isArray(value) ? value[0] : value;
  return text?.split(',', 1)[0]?.trim();
}

const strategies = {
  default: zlib.Z_DEFAULT_STRATEGY,
  filtered: zlib.Z_FILTERED,
  huffman_only: zlib.Z_HUFFMAN_ONLY,
  rle: zlib.Z_RLE,
} as const;

function deflateOptions(settings: WsDeflateSettings): PerMessageDeflateOptions {
  const { level, memLevel, strategy, serverMaxWindowBits, clientMaxWindowBits } = settings;
  return {
    zlibDeflateOptions: {
      ...(level === undefined ? {} : { level }),
      ...(memLevel === undefined ? {} : { memLevel }),
      ...(strategy === undefined ? {} : { strategy: strategies[strategy] }),
    },
    serverNoContextTakeover: !settings.serverContextTakeover,
    clientNoContextTakeover: !settings.clientContextTakeover,
    ...(serverMaxWindowBits === undefined ? {} : { serverMaxWindowBits }),
    ...(clientMaxWindowBits === undefined ? {} : { clientMaxWindowBits }),
  };
}

function ignore(): void {}
