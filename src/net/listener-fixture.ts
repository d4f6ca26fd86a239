// What the tests of this folder share: a listener on a free port of 127.0.0.1, sinks that record or
// echo, a log that remembers, and waiting for something named instead of for some time.

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ListenerSettings, TlsSettings, WsSettings } from '#config/settings';
import type { Transport, TransportSink } from '#core/ports';
import type { NetLog } from './carrier.ts';
import { Listener, type ListenerOptions } from './listener.ts';

export const plainTls: TlsSettings = {
  minVersion: 'TLSv1.2',
  maxVersion: 'TLSv1.3',
  handshakeTimeoutMs: 5000,
  keyFile: undefined,
  certFile: undefined,
  caCertFile: undefined,
  dhFile: undefined,
  verifyPeer: false,
  failIfNoPeerCert: false,
  ciphers: undefined,
  pskCiphers: undefined,
  reuseSessions: true,
  honorCipherOrder: true,
};

export const plainWs: WsSettings = {
  mqttPath: '/mqtt',
  verifyProtocolHeader: true,
  proxyAddressHeader: undefined,
  proxyPortHeader: undefined,
  compress: false,
  deflate: {
    level: undefined,
    memLevel: undefined,
    strategy: undefined,
    serverContextTakeover: true,
    clientContextTakeover: true,
    serverMaxWindowBits: undefined,
    clientMaxWindowBits: undefined,
  },
  maxFrameBytes: 0,
  idleTimeoutMs: 0,
};

export function listenerSettings(
  kind: ListenerSettings['kind'],
  changes: Partial<ListenerSettings> = {},
): ListenerSettings {
  return {
    kind,
    name: 'external',
    host: '127.0.0.1',
    port: 0,
    listenOn: '127.0.0.1:0',
    acceptors: 4,
    maxConnections: 100,
    maxConnRate: 0,
    zone: 'external',
    rateLimit: undefined,
    access: [],
    proxyProtocol: false,
    proxyProtocolTimeoutMs: 3000,
    peerCertAsUsername: undefined,
    backlog: 128,
    sendTimeoutMs: 15_000,
    sendTimeoutClose: true,
    nodelay: true,
    tls: kind === 'ssl' || kind === 'wss' ? plainTls : undefined,
    ws: kind === 'ws' || kind === 'wss' ? plainWs : undefined,
    ...changes,
  };
}

/** A temporary directory that goes with the test. */
export class TempDir implements Disposable {
  readonly path: string = mkdtempSync(join(tmpdir(), 'broker-net-'));

  [Symbol.dispose](): void {
    rmSync(this.path, { recursive: true, force: true });
  }
}

export class RecordingLog implements NetLog {
  readonly events: string[] = [];
  debug(event: string): void {
    this.events.push(event);
  }
  info(event: string): void {
    this.events.push(event);
  }
  warn(event: string): void {
    this.events.push(event);
  }
  error(event: string): void {
    this.events.push(event);
  }
}

/** One accepted connection as its sink saw it. */
export class RecordingSink implements TransportSink {
  readonly transport: Transport;
  readonly chunks: Buffer[] = [];
  closedFor: string | undefined;
  drains = 0;
  onReceive: (bytes: Buffer) => void = () => undefined;
  onDrained: () => void = () => undefined;

  constructor(transport: Transport) {
    this.transport = transport;
  }

  get bytes(): Buffer {
    return Buffer.concat(this.chunks);
  }

  receive(bytes: Buffer, start: number, end: number): void {
    const copy = Buffer.from(bytes.subarray(start, end));
    this.chunks.push(copy);
    this.onReceive(copy);
  }

  drained(): void {
    this.drains++;
    this.onDrained();
  }

  closed(reason: string): void {
    assert.equal(this.closedFor, undefined, 'closed is told once');
    this.closedFor = reason;
  }
}

/** A started listener and the sinks of its connections, in the order they came. */
export class TriedListener implements AsyncDisposable {
  readonly listener: Listener;
  readonly sinks: RecordingSink[] = [];
  readonly log: RecordingLog = new RecordingLog();
  readonly #dir = new TempDir();

  constructor(
    settings: ListenerSettings,
    options: Partial<ListenerOptions> = {},
    prepare: (sink: RecordingSink) => void = () => undefined,
  ) {
    this.listener = new Listener({
      settings,
      log: this.log,
      dataDir: this.#dir.path,
      maxPacketBytes: 1024 * 1024,
      accept: (transport) => {
        const sink = new RecordingSink(transport);
        this.sinks.push(sink);
        prepare(sink);
        return sink;
      },
      ...options,
    });
  }

  static async open(...args: ConstructorParameters<typeof TriedListener>): Promise<TriedListener> {
    const tried = new TriedListener(...args);
    await tried.listener.start();
    return tried;
  }

  get port(): number {
    const port = this.listener.boundPort;
    assert.ok(port !== undefined, 'the listener is open');
    return port;
  }

  get dataDir(): string {
    return this.#dir.path;
  }

  async sink(nth = 0): Promise<RecordingSink> {
    await until(`connection ${nth}`, () => this.sinks.length > nth);
    const sink = this.sinks[nth];
    assert.ok(sink !== undefined);
    return sink;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.listener[Symbol.asyncDispose]();
    this.#dir[Symbol.dispose]();
  }
}

/** Writes everything back; a keeper of the write contract. */
export function echo(sink: RecordingSink): void {
  const owed: Buffer[] = [];
  let blocked = false;
  const flush = (): void => {
    while (!blocked && owed.length > 0) {
      const next = owed.shift();
      if (next !== undefined) blocked = !sink.transport.write(next);
    }
  };
  sink.onReceive = (bytes) => {
    owed.push(bytes);
    flush();
  };
  sink.onDrained = () => {
    blocked = false;
    flush();
  };
}

/** Turns the event loop until the claim holds; fails by name after a deadline. */
export async function until(what: string, holds: () => boolean, deadlineMs = 5000): Promise<void> {
  const deadline = performance.now() + deadlineMs;
  while (!holds()) {
    assert.ok(performance.now() < deadline, `Timed out waiting for ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
}
