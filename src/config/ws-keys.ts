// The WebSocket keys of ws and wss listeners.

import { type KeysOf, key, optionalKey } from './key.ts';
import type { WsDeflateSettings, WsSettings } from './settings.ts';
import { byteSize, durationMs, flag, int, matching, oneOf, truth } from './value-type.ts';

const base = 'listener.(ws|wss).$';
const everyWs = (value: string): Record<string, string> => ({
  'ws.external': value,
  'wss.external': value,
});
const headerName = matching(/^[A-Za-z0-9-]+$/, 'the name of an HTTP header');
const takeover = oneOf('takeover', 'no_takeover');
const keepsContext = {
  ...takeover,
  parse(value: string): boolean | undefined {
    const word = takeover.parse(value);
    return word === undefined ? undefined : word === 'takeover';
  },
};

export const wsKeys: KeysOf<Omit<WsSettings, 'deflate'>> = {
  mqttPath: key(`${base}.mqtt_path`, matching(/^\/\S*$/, 'a path that begins with /'), '/mqtt', {
    shipped: everyWs('/mqtt'),
    text: 'Path of the URL that clients open.',
  }),
  verifyProtocolHeader: key(`${base}.verify_protocol_header`, flag, 'on', {
    shipped: everyWs('on'),
    text: 'Whether the client has to offer one of the subprotocols mqtt, mqttv3.1, mqttv3.1.1, mqttv5, as the protocol asks.',
  }),
  proxyAddressHeader: optionalKey(`${base}.proxy_address_header`, headerName, {
    sample: 'X-Forwarded-For',
    text:
      'Header by which a reverse proxy tells the address of the client. Set it only where every ' +
      'connection comes through that proxy.',
  }),
  proxyPortHeader: optionalKey(`${base}.proxy_port_header`, headerName, {
    sample: 'X-Forwarded-Port',
    text: 'Header by which a reverse proxy tells the port of the client.',
  }),
  compress: key(`${base}.compress`, truth, 'false', {
    sample: 'true',
    text: 'Whether frames are compressed (permessage-deflate) for clients that offer it.',
  }),
  maxFrameBytes: key(`${base}.max_frame_size`, byteSize(0, 256 * 1024 ** 2), '0', {
    sample: '0',
    text: 'Largest WebSocket message of a client. 0: no limit of its own; the largest packet still holds.',
  }),
  idleTimeoutMs: key(`${base}.idle_timeout`, durationMs(), '0', {
    sample: '60s',
    text: 'A connection ends after this time without any frame. 0: never; the keepalive of MQTT still holds.',
  }),
};

export const deflateKeys: KeysOf<WsDeflateSettings> = {
  level: optionalKey(`${base}.deflate_opts.level`, int(0, 9), {
    sample: '6',
    text: 'Effort of the compression: 0 none, 1 fast, 9 small.',
  }),
  memLevel: optionalKey(`${base}.deflate_opts.mem_level`, int(1, 9), {
    sample: '8',
    text: 'Memory of the compression: 1 little, 9 much.',
  }),
  strategy: optionalKey(
    `${base}.deflate_opts.strategy`,
    oneOf('default', 'filtered', 'huffman_only', 'rle'),
    { sample: 'default', text: 'Strategy of the compression, as zlib names it.' },
  ),
  serverContextTakeover: key(
    `${base}.deflate_opts.server_context_takeover`,
    keepsContext,
    'takeover',
    {
      sample: 'takeover',
      text: 'Whether the broker keeps its compression window from one message to the next.',
    },
  ),
  clientContextTakeover: key(
    `${base}.deflate_opts.client_context_takeover`,
    keepsContext,
    'takeover',
    {
      sample: 'takeover',
      text: 'Whether the client may keep its compression window from one message to the next.',
    },
  ),
  serverMaxWindowBits: optionalKey(`${base}.deflate_opts.server_max_window_bits`, int(8, 15), {
    sample: '15',
    text: 'Largest compression window of the broker, as a power of two.',
  }),
  clientMaxWindowBits: optionalKey(`${base}.deflate_opts.client_max_window_bits`, int(8, 15), {
    sample: '15',
    text: 'Largest compression window of the client, as a power of two.',
  }),
};
