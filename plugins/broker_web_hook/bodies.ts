// What the web server is told of each event, as JSON. Law: a name that is not there is `undefined`, as text,
// which is how clients of this interface know it; a payload is never mangled.

import { isUtf8 } from 'node:buffer';
import type { ClientInfo, MessageView } from '#sdk';
import type { PayloadEncoding } from './config.ts';

export type Body = Readonly<Record<string, unknown>>;

export interface SubscriptionOptions {
  readonly qos: number;
  readonly noLocal: boolean;
  readonly retainAsPublished: boolean;
  readonly retainHandling: number;
}

const noName = 'undefined';

export function clientNames({ clientId, username }: ClientInfo): Body {
  return { client_id: clientId, username: username ?? noName };
}

export function connectedBody(client: ClientInfo): Body {
  return {
    action: 'client_connected',
    ...clientNames(client),
    keepalive: client.keepaliveSeconds,
    ipaddress: client.address,
    proto_ver: client.version,
    connected_at: Math.floor(client.connectedAtMs / 1000),
    conn_ack: 0,
  };
}

export function optionsOf(options: SubscriptionOptions): Body {
  const { qos, noLocal, retainAsPublished, retainHandling } = options;
  return { qos, nl: Number(noLocal), rap: Number(retainAsPublished), rh: retainHandling };
}

export function messageBody(message: MessageView, encoding: PayloadEncoding): Body {
  return {
    from_client_id: message.clientId,
    from_username: message.username ?? noName,
    topic: message.topic,
    qos: message.qos,
    retain: message.retain,
    ...payloadOf(message.payload, encoding),
    ts: Math.floor(message.timestampMs / 1000),
  };
}

function payloadOf(payload: Buffer, encoding: PayloadEncoding): Body {
  if (encoding === 'base64') return { payload: payload.toString('base64') };
  if (encoding === 'base62') return { payload: base62(payload) };
  if (isUtf8(payload)) return { payload: payload.toString() };
  return { payload: payload.toString('base64'), encoding: 'base64' };
}

const escaped: Readonly<Record<string, string>> = { '9': '9A', '+': '9B', '/': '9C', '=': '' };

/**
 * base64 with letters and digits alone: its last three signs are `9A`, `9B` and `9C`, and nothing is
 * filled up at the end.
 */
export function base62(bytes: Buffer): string {
  return bytes.toString('base64').replaceAll(/[9+/=]/g, (sign) => escaped[sign] ?? sign);
}
