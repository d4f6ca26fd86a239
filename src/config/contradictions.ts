// What is wrong between keys although each by itself is fine.

import type { ConfigProblem } from './config-error.ts';
import { fillPattern } from './key.ts';
import { bindKey } from './listener-keys.ts';
import { findModuleFaults } from './module-faults.ts';
import { monitorKeys } from './monitor-keys.ts';
import type { HttpListenerSettings, MonitorSettings, Settings } from './settings.ts';
import type { Values } from './values.ts';
import { zoneKeys } from './zone-keys.ts';

/** `attempted`: keys that had a line, also a refused one, so that one slip is told only once. */
export function findContradictions(
  settings: Settings,
  values: Values,
  attempted: ReadonlySet<string>,
): ConfigProblem[] {
  const listeners = everyListener(settings);
  return [
    ...keysOfNoListener(values, attempted),
    ...crossedWatermarks(settings.monitor, values),
    ...flappingWithoutBans(settings.zones, values, attempted),
    ...findModuleFaults(values, attempted),
    ...listeners.flatMap((listener) => halfCertificates(listener, values, attempted)),
    ...listeners.flatMap((listener) => idleTlsKeys(listener, values)),
    ...listeners.flatMap((listener, place) =>
      samePort(listener, listeners.slice(0, place), values),
    ),
  ];
}

/** Any listener; all its keys begin with `key`. */
type AnyListener = Pick<HttpListenerSettings, 'key' | 'host' | 'port' | 'listenOn' | 'tls'>;

function everyListener({ listeners, management, dashboard }: Settings): AnyListener[] {
  const ofClients = listeners.map(({ kind, name, host, port, listenOn, tls }) => {
    return { key: fillPattern(bindKey.pattern, [kind, name]), host, port, listenOn, tls };
  });
  return [...ofClients, ...management.listeners, ...dashboard.listeners];
}

function keysOfNoListener(values: Values, attempted: ReadonlySet<string>): ConfigProblem[] {
  return values.namesUnder('listener', 2).flatMap((names) => {
    const bind = fillPattern(bindKey.pattern, names);
    if (attempted.has(bind)) return [];
    const orphan = [...attempted].find((key) => key.startsWith(`${bind}.`)) ?? bind;
    const text = `Cannot use ${orphan}: there is no such listener, expected a line ${bind} = <port>`;
    return [{ where: values.where(orphan), key: orphan, text }];
  });
}

/** An alarm that is cleared above where it is raised would be raised and cleared for ever. */
function crossedWatermarks(monitor: MonitorSettings, values: Values): ConfigProblem[] {
  const pairs = [
    ['cpuLowWatermark', 'cpuHighWatermark'],
    ['processLowWatermark', 'processHighWatermark'],
  ] as const;
  return pairs.flatMap(([low, high]) => {
    if (monitor[low] <= monitor[high]) return [];
    const key = monitorKeys[low].pattern;
    const text = `Cannot use ${key}: it is above ${monitorKeys[high].pattern}, expected at most that`;
    return [{ where: values.where(key), key, text }];
  });
}

/** Who is banned where bans do not hold would flap on, and be banned elsewhere. */
function flappingWithoutBans(
  zones: Settings['zones'],
  values: Values,
  attempted: ReadonlySet<string>,
): ConfigProblem[] {
  return [...zones.values()].flatMap(({ name, enableBan, enableFlappingDetect }) => {
    const wanted = fillPattern(zoneKeys.enableBan.pattern, [name]);
    const isRefused = attempted.has(wanted) && values.where(wanted) === 'default';
    if (enableBan || !enableFlappingDetect || isRefused) return [];
    const key = fillPattern(zoneKeys.enableFlappingDetect.pattern, [name]);
    const text = `Cannot use ${key}: bans do not hold in this zone, expected ${wanted} = on`;
    return [{ where: values.where(key), key, text }];
  });
}

function halfCertificates(
  { key: base, tls }: AnyListener,
  values: Values,
  attempted: ReadonlySet<string>,
): ConfigProblem[] {
  const [key, cert] = [`${base}.keyfile`, `${base}.certfile`];
  if (!tls || attempted.has(key) === attempted.has(cert)) return [];
  const [present, missing] = attempted.has(key) ? [key, cert] : [cert, key];
  const text = `Cannot use ${present} alone: expected ${missing} as well`;
  return [{ where: values.where(present), key: present, text }];
}

function idleTlsKeys({ key: base, tls }: AnyListener, values: Values): ConfigProblem[] {
  const problems: ConfigProblem[] = [];
  const refuse = (field: string, text: string): void => {
    const key = `${base}.${field}`;
    problems.push({ where: values.where(key), key, text: `Cannot use ${key}: ${text}` });
  };
  if (tls?.ciphers !== undefined && tls.pskCiphers !== undefined) {
    refuse('psk_ciphers', 'ciphers is set too, expected one of the two');
  }
  if (tls?.failIfNoPeerCert === true && !tls.verifyPeer) {
    const text = 'no certificate is asked for, expected verify = verify_peer';
    refuse('fail_if_no_peer_cert', text);
  }
  return problems;
}

function samePort(
  { key, host, port, listenOn }: AnyListener,
  earlier: readonly AnyListener[],
  values: Values,
): ConfigProblem[] {
  const taken = earlier.find((one) => port !== 0 && one.port === port && meet(one.host, host));
  if (!taken) return [];
  const text = `Cannot use ${key} = "${listenOn}": ${taken.key} has that port already, expected another port or off`;
  return [{ where: values.where(key), key, text }];
}

/** Whether two addresses share a socket; all addresses share one with each. */
function meet(a: string | undefined, b: string | undefined): boolean {
  if (a === b || a === undefined || b === undefined || a === '::' || b === '::') return true;
  const isV4 = (host: string): boolean => !host.includes(':');
  return (a === '0.0.0.0' && isV4(b)) || (b === '0.0.0.0' && isV4(a));
}
