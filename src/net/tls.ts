// TLS in front of a listener: handshakes on sockets that were accepted elsewhere, and certificates
// that follow their files. Law: a changed certificate is used by new handshakes only, no connection
// is dropped for it, and a file that cannot be used leaves the old one in place.

import type { Socket } from 'node:net';
import { createServer, type Server, type TLSSocket, type TlsOptions } from 'node:tls';
import type { Clock } from '#base/clock';
import type { TlsSettings } from '#config/settings';
import type { PeerTls } from '#core/ports';
import { type NetLog, reasonOf } from './carrier.ts';
import { FileWatch, type FileWatchTimes } from './file-watch.ts';
import { filesOf, loadContext, type TlsFiles } from './tls-context.ts';

/** The key of a PSK identity, or undefined when there is none. */
export type PskLookup = (identity: string) => Buffer | undefined;

export interface TlsFrontOptions {
  readonly clock: Clock;
  readonly settings: TlsSettings;
  readonly files: TlsFiles;
  readonly log: NetLog;
  readonly pskLookup?: PskLookup | undefined;
  readonly watchTimes?: FileWatchTimes | undefined;
  /** A handshake is done; `raw` is the socket that was given to `take`. */
  readonly secured: (socket: TLSSocket, raw: Socket, tls: PeerTls) => void;
  /** A handshake failed for a one-word reason; its socket is being closed. */
  readonly failed: (reason: string) => void;
}

export class TlsFront implements Disposable {
  readonly #options: TlsFrontOptions;
  readonly #server: Server;
  readonly #watch: FileWatch;
  readonly #identities: WeakMap<TLSSocket, string> = new WeakMap();

  constructor(options: TlsFrontOptions) {
    const { settings, files } = options;
    this.#options = options;
    const context = loadContext(settings, files);
    this.#server = createServer({ ...context.options, ...this.#serverOptions() });
    this.#server.on('secureConnection', (socket: TLSSocket) => this.#secured(socket));
    this.#server.on('tlsClientError', (error: Error, socket: TLSSocket) => {
      this.#failed(reasonOf(error), socket, error);
    });
    this.#watch = new FileWatch(
      options.clock,
      filesOf(files),
      () => this.#reload(),
      options.watchTimes,
    );
  }

  /** Begins the handshake on an accepted socket; bytes it has read already may be unshifted to it. */
  take(raw: Socket): void {
    this.#server.emit('connection', raw);
  }

  [Symbol.dispose](): void {
    this.#watch[Symbol.dispose]();
  }

  #serverOptions(): TlsOptions {
    const { settings, pskLookup } = this.#options;
    const usesPsk = settings.pskCiphers !== undefined && pskLookup !== undefined;
    return {
      handshakeTimeout: settings.handshakeTimeoutMs,
      requestCert: settings.verifyPeer,
      rejectUnauthorized: settings.verifyPeer && settings.failIfNoPeerCert,
      ...(usesPsk
        ? { pskCallback: (socket, identity) => this.#psk(pskLookup, socket, identity) }
        : {}),
    };
  }

  // Runs inside OpenSSL's handshake: a throw here would end the process.
  #psk(lookup: PskLookup, socket: TLSSocket, identity: string): Buffer | null {
    try {
      const key = lookup(identity);
      if (key === undefined) return null;
      this.#identities.set(socket, identity);
      return key;
    } catch (error) {
      this.#options.log.error('tls.psk.threw', { error });
      return null;
    }
  }

  // We are in a socket's callback: what is thrown on the way ends this connection, not the process.
  #secured(socket: TLSSocket): void {
    try {
      const raw = rawSocketOf(socket);
      const tls = peerTls(socket, this.#identities.get(socket));
      const refusal = this.#refusal(socket, tls);
      if (raw === undefined || refusal !== undefined) {
        this.#failed(refusal ?? 'tls_error', socket, socket.authorizationError);
      } else {
        this.#options.secured(socket, raw, tls);
      }
    } catch (error) {
      this.#options.log.error('tls.secured.threw', { error });
      this.#failed('internal_error', socket, error);
    }
  }

  #refusal(socket: TLSSocket, tls: PeerTls): string | undefined {
    // With verification on, no certificate may be fine (rejectUnauthorized is off then), but a
    // certificate that does not verify never is.
    if (tls.certificate !== undefined && !socket.authorized) return 'bad_certificate';
    // TLS 1.3 falls back to the certificate when it does not know the key; a PSK listener does not.
    const wantsPsk = this.#options.settings.pskCiphers !== undefined;
    return wantsPsk && tls.pskIdentity === undefined ? 'unknown_psk' : undefined;
  }

  #failed(reason: string, socket: TLSSocket, error: unknown): void {
    this.#options.log.debug('tls.handshake.failed', {
      reason,
      address: socket.remoteAddress,
      error,
    });
    this.#options.failed(reason);
    socket.on('error', () => undefined); // told already
    socket.destroy();
  }

  #reload(): void {
    const { settings, files, log } = this.#options;
    try {
      const { options, certificate } = loadContext(settings, files);
      this.#server.setSecureContext(options);
      log.info('tls.certificate.reloaded', {
        file: files.certFile,
        subject: certificate.subject,
        until: certificate.validTo,
      });
    } catch (error) {
      log.error('tls.certificate.kept', { file: files.certFile, error });
    }
  }
}

// NOTE: undocumented, but the only way from a socket of `secureConnection` to the one under it.
// Should it ever be missing, the handshake counts as failed.
function rawSocketOf(socket: TLSSocket): Socket | undefined {
  return (socket as unknown as { readonly _parent?: Socket | null })._parent ?? undefined;
}

function peerTls(socket: TLSSocket, pskIdentity: string | undefined): PeerTls {
  const certificate = socket.getPeerX509Certificate();
  if (certificate === undefined) return { pskIdentity };
  const names: string | string[] | undefined = certificate.toLegacyObject().subject?.CN;
  return {
    commonName: Array.isArray(names) ? names.at(-1) : names,
    // Node lists the names most general first, one a line; RFC 4514 wants the reverse and commas.
    distinguishedName: certificate.subject.split('\n').reverse().join(','),
    certificate: certificate.toString(),
    pskIdentity,
  };
}
