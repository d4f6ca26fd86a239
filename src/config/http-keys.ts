// The keys of an HTTP listener and of its twin over TLS, for each of those that have them: management
// and the dashboard. One table, so that both are written, checked and explained alike.

import { accessRule, type Address, address } from './compound-type.ts';
import { type Key, type KeysOf, key, optionalKey } from './key.ts';
import type { HttpListenerSettings, ListenerSettings, TlsSettings } from './settings.ts';
import { tlsKeys, tlsVersionsKey } from './tls-keys.ts';
import { durationMs, int } from './value-type.ts';

type Plain = Pick<HttpListenerSettings, 'acceptors' | 'maxClients' | 'backlog' | 'sendTimeoutMs'>;
type HttpTls = Omit<TlsSettings, 'minVersion' | 'maxVersion' | 'pskCiphers'>;

export interface HttpKeys {
  readonly bind: Key<Address | 'off' | undefined>;
  readonly plain: KeysOf<Plain>;
  readonly access: Key<ListenerSettings['access'][number] | undefined>;
}

export interface HttpsKeys extends HttpKeys {
  readonly versions: typeof tlsVersionsKey;
  readonly tls: KeysOf<HttpTls>;
}

interface Shipped {
  readonly bind: string;
  readonly acceptors: string;
  readonly backlog: string;
  readonly text: string;
}

/** `base`: `management.listener.http`. */
export function httpKeys(base: string, shipped: Shipped): HttpKeys {
  return {
    bind: optionalKey(base, address, { shipped: shipped.bind, text: shipped.text }),
    plain: plainKeys(base, { acceptors: '4', maxClients: '512' }, shipped),
    access: accessKey(base),
  };
}

/** The same over TLS, which is not there unless somebody wants it. */
export function httpsKeys(base: string, sample: string): HttpsKeys {
  return {
    bind: optionalKey(base, address, {
      sample,
      text: 'Where the same is served over TLS. Without this line it is not.',
    }),
    plain: plainKeys(base, { acceptors: '8', maxClients: '64' }),
    access: accessKey(base),
    versions: moved(tlsVersionsKey, base, 'tlsv1.2,tlsv1.3'),
    tls: {
      handshakeTimeoutMs: moved(tlsKeys.handshakeTimeoutMs, base, '15s'),
      keyFile: moved(tlsKeys.keyFile, base),
      certFile: moved(tlsKeys.certFile, base),
      caCertFile: moved(tlsKeys.caCertFile, base),
      dhFile: moved(tlsKeys.dhFile, base),
      verifyPeer: moved(tlsKeys.verifyPeer, base),
      failIfNoPeerCert: moved(tlsKeys.failIfNoPeerCert, base),
      ciphers: {
        ...moved(tlsKeys.ciphers, base),
        text: 'Ciphers that a client may use, the preferred first.',
      },
      reuseSessions: moved(tlsKeys.reuseSessions, base, 'on'),
      honorCipherOrder: moved(tlsKeys.honorCipherOrder, base),
    },
  };
}

function plainKeys(
  base: string,
  absent: { readonly acceptors: string; readonly maxClients: string },
  shipped?: Shipped,
): KeysOf<Plain> {
  const said = (value: string): { shipped: string } | { sample: string } =>
    shipped === undefined ? { sample: value } : { shipped: value };
  return {
    acceptors: key(`${base}.acceptors`, int(1, 1024), absent.acceptors, {
      ...said(shipped?.acceptors ?? absent.acceptors),
      text: 'A number for reports about listeners, nothing else: accepting connections needs no pool in this broker.',
    }),
    maxClients: key(`${base}.max_clients`, int(1), absent.maxClients, {
      ...said(absent.maxClients),
      text: 'Most connections at a time; one more is closed at once.',
    }),
    backlog: key(`${base}.backlog`, int(1, 65_535), '1024', {
      ...said(shipped?.backlog ?? '1024'),
      text: 'Most connections that the operating system keeps waiting to be accepted.',
    }),
    sendTimeoutMs: key(`${base}.send_timeout`, durationMs(1), '15s', {
      ...said('15s'),
      text: 'A connection is closed when its client reads nothing for this time while an answer waits for it.',
    }),
  };
}

function accessKey(base: string): HttpKeys['access'] {
  return optionalKey(`${base}.access.<n>`, accessRule, {
    sample: 'allow 127.0.0.1',
    sampleNames: '1',
    text:
      'Addresses that may connect, in the order of the numbers; the first rule that matches ' +
      'decides, and no match accepts. A list of the allowed must therefore end with deny all.',
  });
}

/** A key of the listeners of clients, for this listener. */
function moved<T>(one: Key<T>, base: string, sample: string | undefined = one.sample): Key<T> {
  const field = one.pattern.slice(one.pattern.lastIndexOf('.') + 1);
  return { ...one, pattern: `${base}.${field}`, shipped: {}, sample };
}
