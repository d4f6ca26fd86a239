// The TLS keys of ssl and wss listeners.

import { tlsVersions } from './compound-type.ts';
import { type Key, type KeysOf, key, optionalKey } from './key.ts';
import type { TlsSettings } from './settings.ts';
import {
  durationMs,
  existingFile,
  flag,
  oneOf,
  text,
  truth,
  type ValueType,
} from './value-type.ts';

const base = 'listener.(ssl|wss).$';
const everyTls = (value: string): Record<string, string> => ({
  'ssl.external': value,
  'wss.external': value,
});
const cipherList = text('names of ciphers as OpenSSL writes them, separated by colons or commas');

const verifyWords = oneOf('verify_peer', 'verify_none');
const verify: ValueType<boolean> = {
  ...verifyWords,
  parse(value) {
    const word = verifyWords.parse(value);
    return word === undefined ? undefined : word === 'verify_peer';
  },
};

export interface TlsVersions {
  readonly min: TlsSettings['minVersion'];
  readonly max: TlsSettings['maxVersion'];
}

export const tlsVersionsKey: Key<TlsVersions> = key(
  `${base}.tls_versions`,
  tlsVersions,
  'tlsv1.2,tlsv1.3',
  {
    shipped: everyTls('tlsv1.2,tlsv1.3'),
    text: 'Versions of TLS that a client may use.',
  },
);

export const tlsKeys: KeysOf<Omit<TlsSettings, 'minVersion' | 'maxVersion'>> = {
  handshakeTimeoutMs: key(`${base}.handshake_timeout`, durationMs(1), '15s', {
    shipped: everyTls('15s'),
    text: 'A connection is closed when its TLS handshake is not over after this time.',
  }),
  keyFile: optionalKey(`${base}.keyfile`, existingFile, {
    sample: 'etc/certs/key.pem',
    text:
      'Private key of the server, PEM. Without it and certfile the broker makes a self-signed ' +
      'certificate in its data directory.',
  }),
  certFile: optionalKey(`${base}.certfile`, existingFile, {
    sample: 'etc/certs/cert.pem',
    text: 'Certificate of the server and those between it and its root, PEM.',
  }),
  caCertFile: optionalKey(`${base}.cacertfile`, existingFile, {
    sample: 'etc/certs/cacert.pem',
    text: 'Certificates of the authorities that client certificates are checked against, PEM.',
  }),
  dhFile: optionalKey(`${base}.dhfile`, existingFile, {
    sample: 'etc/certs/dh-params.pem',
    text: 'Parameters of the Diffie-Hellman key exchange, PEM.',
  }),
  verifyPeer: key(`${base}.verify`, verify, 'verify_none', {
    sample: 'verify_peer',
    text: 'Whether the client is asked for a certificate and a wrong one ends the connection.',
  }),
  failIfNoPeerCert: key(`${base}.fail_if_no_peer_cert`, truth, 'false', {
    sample: 'true',
    text: 'Whether a client without a certificate is refused. Needs verify_peer.',
  }),
  ciphers: optionalKey(`${base}.ciphers`, cipherList, {
    sample: 'ECDHE-ECDSA-AES256-GCM-SHA384:ECDHE-RSA-AES256-GCM-SHA384',
    text: 'Ciphers that a client may use, the preferred first. Not together with psk_ciphers.',
  }),
  pskCiphers: optionalKey(`${base}.psk_ciphers`, cipherList, {
    sample: 'PSK-AES128-CBC-SHA:PSK-AES256-CBC-SHA',
    text: 'Ciphers for clients that identify by a pre-shared key instead of certificates. Not together with ciphers.',
  }),
  reuseSessions: key(`${base}.reuse_sessions`, flag, 'on', {
    shipped: everyTls('on'),
    text: 'Whether a client that comes back may resume its TLS session, which saves a handshake.',
  }),
  honorCipherOrder: key(`${base}.honor_cipher_order`, flag, 'on', {
    sample: 'on',
    text: "Whether the server's order of ciphers decides instead of the client's.",
  }),
};
