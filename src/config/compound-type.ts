// Kinds of value that hold several things at once: addresses, limits, access rules, TLS versions,
// topic priorities. Same law as value-type.ts: read the text, or say what would have been allowed.

import { isIP } from 'node:net';
import { availableParallelism } from 'node:os';
import { parseByteSize } from '#base/byte-size';
import { parseDurationMs } from '#base/duration';
import type { ListenerSettings, MemoryBudget, TlsSettings, ZoneSettings } from './settings.ts';
import type { ValueType } from './value-type.ts';

export interface Address {
  readonly host: string | undefined;
  readonly port: number;
  /** As written. */
  readonly text: string;
}

/** Where a listener listens; `off` switches a listener of the file off. */
export const address: ValueType<Address | 'off'> = {
  expects:
    'a port from 0 to 65535 (0: any free one), <address>:<port>, [<IPv6 address>]:<port>, or off',
  parse(text) {
    if (text === 'off') return 'off';
    const parts = /^(?:(?:\[([^\]]+)\]|([^:[\]]+)):)?(\d{1,5})$/.exec(text);
    if (!parts) return undefined;
    const [, ipv6, name, digits] = parts;
    const port = Number(digits);
    if (port > 65_535 || (ipv6 !== undefined && isIP(ipv6) !== 6)) return undefined;
    if (name !== undefined && !isHost(name)) return undefined;
    return { host: ipv6 ?? name, port, text };
  },
};

function isHost(name: string): boolean {
  // Digits and dots alone are meant as an IPv4 address, so they have to be one.
  if (/^[\d.]+$/.test(name)) return isIP(name) === 4;
  return /^[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?$/.test(name);
}

/** `10,1m`: so many in so long. */
export const countPerDuration: ValueType<NonNullable<ZoneSettings['publishLimit']>> = {
  expects: 'a count above 0 and a duration, separated by a comma, such as 10,1m',
  parse(text) {
    const [left = '', right = '', ...more] = commaList(text);
    const count = /^\d{1,9}$/.test(left) ? Number(left) : 0;
    const perMs = parseDurationMs(right) ?? 0;
    return count > 0 && perMs > 0 && more.length === 0 ? { count, perMs } : undefined;
  },
};

/** `1MB,4MB`: bytes per second, and how many may come at once after a pause. */
export const bytesAndBurst: ValueType<NonNullable<ListenerSettings['rateLimit']>> = {
  expects:
    'bytes per second and a burst that is not smaller, separated by a comma, such as 1MB,4MB',
  parse(text) {
    const [left = '', right = '', ...more] = commaList(text);
    const bytesPerSecond = parseByteSize(left) ?? 0;
    const burst = parseByteSize(right) ?? 0;
    const isSane = bytesPerSecond > 0 && burst >= bytesPerSecond && more.length === 0;
    return isSane ? { bytesPerSecond, burst } : undefined;
  },
};

/** `2GB`, or `50%` of what there is. */
export const sizeOrShare: ValueType<MemoryBudget> = {
  expects: 'a size from 16MB up, such as 512MB or 2GB, or a share from 1% to 95%',
  parse(text) {
    const share = /^(\d{1,2})%$/.exec(text)?.[1];
    if (share !== undefined) {
      const percent = Number(share);
      return percent >= 1 && percent <= 95 ? { share: percent / 100 } : undefined;
    }
    const bytes = parseByteSize(text) ?? 0;
    return bytes >= 16 * 1024 * 1024 ? { bytes } : undefined;
  },
};

/** `allow 10.0.0.0/8`, `deny all`. */
export const accessRule: ValueType<ListenerSettings['access'][number]> = {
  expects: 'allow or deny, then all, an IP address, or a range such as 192.168.0.0/24',
  parse(text) {
    const parts = /^(allow|deny)\s+(\S+)$/.exec(text);
    const range = parts?.[2] ?? '';
    return parts && isRange(range) ? { allow: parts[1] === 'allow', range } : undefined;
  },
};

function isRange(range: string): boolean {
  if (range === 'all') return true;
  const [ip = '', bits, ...more] = range.split('/');
  const family = isIP(ip);
  if (family === 0 || more.length > 0) return false;
  return (
    bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= (family === 4 ? 32 : 128))
  );
}

type TlsVersion = TlsSettings['minVersion'];
const tlsNames: readonly (readonly [string, TlsVersion])[] = [
  ['tlsv1', 'TLSv1'],
  ['tlsv1.1', 'TLSv1.1'],
  ['tlsv1.2', 'TLSv1.2'],
  ['tlsv1.3', 'TLSv1.3'],
];

/** The TLS library takes a lowest and a highest version, so a list with a gap cannot be kept. */
export const tlsVersions: ValueType<{ readonly min: TlsVersion; readonly max: TlsVersion }> = {
  expects: `neighbouring versions out of ${tlsNames.map(([name]) => name).join(', ')}, separated by commas`,
  parse(text) {
    const wanted = new Set(commaList(text));
    const chosen = tlsNames.flatMap(([name], place) => (wanted.delete(name) ? [place] : []));
    const first = chosen[0];
    const last = chosen.at(-1);
    if (wanted.size > 0 || first === undefined || last === undefined) return undefined;
    const min = tlsNames[first]?.[1];
    const max = tlsNames[last]?.[1];
    const hasGap = last - first + 1 !== chosen.length;
    return min === undefined || max === undefined || hasGap ? undefined : { min, max };
  },
};

/** `none`, or `alarm/fire=255,alarm/door=10`. */
export const topicPriorities: ValueType<ReadonlyMap<string, number>> = {
  expects: 'none, or <topic>=<priority from 1 to 255> separated by commas',
  parse(text) {
    const priorities = new Map<string, number>();
    if (text === 'none') return priorities;
    for (const item of commaList(text)) {
      const parts = /^(.+)=(\d{1,3})$/.exec(item);
      const topic = parts?.[1]?.trim() ?? '';
      const priority = Number(parts?.[2]);
      if (topic === '' || !(priority >= 1 && priority <= 255)) return undefined;
      priorities.set(topic, priority);
    }
    return priorities;
  },
};

function commaList(text: string): string[] {
  return text.split(',').map((item) => item.trim());
}

const workersMax = 64;

/** As many threads as are wanted, or as many as leave a core for the others. */
export const workerCount: ValueType<number> = {
  expects: `auto, or a whole number from 0 to ${workersMax}`,
  parse(text) {
    if (text === 'auto') return Math.min(workersMax, Math.max(1, availableParallelism() - 1));
    const count = /^\d+$/.test(text) ? Number(text) : Number.NaN;
    return count <= workersMax ? count : undefined;
  },
};
