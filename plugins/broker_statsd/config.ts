// statsd.*: where figures are sent to, and how often.

import { durationMs, type Key, key, optionalKey, type PluginValues, type ValueType } from '#sdk';

export interface StatsdSettings {
  /** `http://127.0.0.1:9091`, without a slash at the end; undefined: nowhere. */
  readonly gateway: string | undefined;
  readonly intervalMs: number;
  readonly udp: UdpTarget | undefined;
}

export interface UdpTarget {
  readonly host: string;
  readonly port: number;
  readonly prefix: string;
}

const intervalMsMin = 100;

/** A bare number is milliseconds, as it always has been. */
const interval: ValueType<number> = {
  name: 'duration',
  expects: 'a number of milliseconds, or a duration such as 15s or 1m, from 100ms to 24d',
  parse: (text) => durationMs(intervalMsMin).parse(/^\d{1,10}$/.test(text) ? `${text}ms` : text),
};

const gateway: ValueType<string> = {
  expects: 'host:port, or an address that begins with http:// or https://',
  parse(text) {
    const address = URL.parse(/^https?:\/\//.test(text) ? text : `http://${text}`);
    if (address === null || address.username !== '' || address.search !== '') return undefined;
    const { protocol, host, pathname } = address;
    return `${protocol}//${host}${pathname.replace(/\/+$/, '')}`;
  },
};

const hostAndPort: ValueType<Omit<UdpTarget, 'prefix'>> = {
  expects: 'host:port, such as 127.0.0.1:8125 or [::1]:8125',
  parse(text) {
    const [, six, other, digits] =
      /^(?:\[([\da-f:]+)\]|([^\s:[\]/]+)):(\d{1,5})$/i.exec(text) ?? [];
    const host = six ?? other;
    const port = Number(digits);
    return host === undefined || port < 1 || port > 65_535 ? undefined : { host, port };
  },
};

/** Names of StatsD are levels with dots in between. */
const prefix: ValueType<string> = {
  expects: 'letters, digits, "_" and "-", with dots in between',
  parse: (text) => (/^[\w-]+(\.[\w-]+)*$/.test(text) ? text : undefined),
};

export const keys: {
  readonly gateway: Key<string | undefined>;
  readonly intervalMs: Key<number>;
  readonly udpServer: Key<Omit<UdpTarget, 'prefix'> | undefined>;
  readonly udpPrefix: Key<string>;
} = {
  gateway: optionalKey('statsd.push.gateway.server', gateway, {
    shipped: '127.0.0.1:9091',
    text: 'Push gateway of Prometheus. Without it nothing is pushed.',
  }),
  intervalMs: key('statsd.interval', interval, '15000', {
    shipped: '15000',
    text: 'How long after a push the next one follows.',
  }),
  udpServer: optionalKey('statsd.udp.server', hostAndPort, {
    sample: '127.0.0.1:8125',
    text: 'StatsD server that figures are sent to by UDP as well. Without it nothing is sent.',
  }),
  udpPrefix: key('statsd.udp.prefix', prefix, 'broker', {
    shipped: 'broker',
    text:
      'What names begin with for StatsD: broker.messages.received. Several nodes that send to one ' +
      'server need one each.',
  }),
};

export function readSettings(values: PluginValues): StatsdSettings {
  const server = values.get(keys.udpServer);
  const prefixOfAll = values.get(keys.udpPrefix);
  return {
    gateway: values.get(keys.gateway),
    intervalMs: values.get(keys.intervalMs),
    udp: server && { ...server, prefix: prefixOfAll },
  };
}
