// listener.<kind>.<name> and the keys that every kind of listener has. TLS and WebSocket have
// tables of their own.

import { accessRule, type Address, address, bytesAndBurst } from './compound-type.ts';
import { type Key, type KeysOf, key, optionalKey } from './key.ts';
import type { ListenerSettings } from './settings.ts';
import { durationMs, flag, int, matching, oneOf, truth } from './value-type.ts';

export const listenerKinds = ['tcp', 'ssl', 'ws', 'wss'] as const;
const base = `listener.(${listenerKinds.join('|')}).$`;

type Shipped = Readonly<Record<string, string>>;

/** One value for all listeners of the shipped file. */
export const everywhere = (value: string): Shipped => ({
  'tcp.external': value,
  'tcp.internal': value,
  'ssl.external': value,
  'ws.external': value,
  'wss.external': value,
});

export const bindKey: Key<Address | 'off' | undefined> = optionalKey(base, address, {
  shipped: {
    'tcp.external': '0.0.0.0:1883',
    'tcp.internal': '127.0.0.1:11883',
    'ssl.external': '8883',
    'ws.external': '8083',
    'wss.external': '8084',
  },
  text:
    'Where the listener listens: MQTT over TCP (tcp), TLS (ssl), WebSocket (ws), WebSocket over TLS ' +
    '(wss). A port alone means all addresses. The line makes the listener; off takes it away.',
});

export const accessRuleKey: Key<ListenerSettings['access'][number] | undefined> = optionalKey(
  `${base}.access.<n>`,
  accessRule,
  {
    shipped: {
      'tcp.external.1': 'allow all',
      'ssl.external.1': 'allow all',
      'ws.external.1': 'allow all',
      'wss.external.1': 'allow all',
    },
    text:
      'Addresses that may connect, in the order of the numbers; the first rule that matches ' +
      'decides, and no match accepts. A list of the allowed must therefore end with deny all.',
  },
);

type Common = Omit<
  ListenerSettings,
  'kind' | 'name' | 'host' | 'port' | 'listenOn' | 'access' | 'tls' | 'ws'
>;

export const listenerKeys: KeysOf<Common> = {
  acceptors: key(`${base}.acceptors`, int(1, 1024), '8', {
    shipped: {
      'tcp.external': '8',
      'tcp.internal': '4',
      'ssl.external': '16',
      'ws.external': '4',
      'wss.external': '4',
    },
    text: 'A number for reports about listeners, nothing else: accepting connections needs no pool in this broker.',
  }),
  // The original ships 16 for wss, which is the number of its acceptors in the wrong line.
  maxConnections: key(`${base}.max_connections`, int(1), '1024', {
    shipped: {
      'tcp.external': '1024000',
      'tcp.internal': '1024000',
      'ssl.external': '102400',
      'ws.external': '102400',
      'wss.external': '102400',
    },
    text: 'Most connections at a time; one more is closed at once.',
  }),
  maxConnRate: key(`${base}.max_conn_rate`, int(0), '0', {
    shipped: { ...everywhere('1000'), 'ssl.external': '500' },
    text: 'Most new connections per second; what comes above it waits, as many as backlog, and is refused beyond. 0: no limit.',
  }),
  zone: key(`${base}.zone`, matching(/^[a-z0-9_-]+$/, 'the name of a zone'), 'external', {
    shipped: { ...everywhere('external'), 'tcp.internal': 'internal' },
    text: 'The zone whose keys hold for the clients of this listener.',
  }),
  rateLimit: optionalKey(`${base}.rate_limit`, bytesAndBurst, {
    sample: '1MB,4MB',
    text: 'Bytes per second that are read from one connection, and how many may come at once after a pause.',
  }),
  proxyProtocol: key(`${base}.proxy_protocol`, flag, 'off', {
    sample: 'on',
    text:
      'Whether every connection comes through a load balancer that tells the address of the client ' +
      'by the PROXY protocol, version 1 or 2. A connection without its header is closed.',
  }),
  proxyProtocolTimeoutMs: key(`${base}.proxy_protocol_timeout`, durationMs(1), '3s', {
    sample: '3s',
    text: 'A connection is closed when the PROXY header has not come after this time.',
  }),
  peerCertAsUsername: optionalKey(`${base}.peer_cert_as_username`, oneOf('cn', 'dn', 'crt'), {
    sample: 'cn',
    text:
      "Takes the username from the client's certificate: its common name, its distinguished name, " +
      'or the whole certificate. Without TLS the PROXY protocol can tell the common name.',
  }),
  backlog: key(`${base}.backlog`, int(1, 65_535), '1024', {
    shipped: { ...everywhere('1024'), 'tcp.internal': '512' },
    text: 'Most connections that the operating system keeps waiting to be accepted.',
  }),
  sendTimeoutMs: key(`${base}.send_timeout`, durationMs(1), '15s', {
    shipped: { ...everywhere('15s'), 'tcp.internal': '5s' },
    text: 'How long a client may read nothing while bytes wait for it.',
  }),
  sendTimeoutClose: key(`${base}.send_timeout_close`, flag, 'on', {
    shipped: everywhere('on'),
    text: 'Whether the connection ends when the send timeout is over.',
  }),
  nodelay: key(`${base}.nodelay`, truth, 'true', {
    shipped: { 'tcp.external': 'true', 'tcp.internal': 'false', 'ws.external': 'true' },
    sample: 'true',
    text: 'Whether small packets are sent at once (TCP_NODELAY).',
  }),
};
