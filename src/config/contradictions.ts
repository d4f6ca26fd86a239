// What is wrong between keys although each by itself is fine.

import { httpContradictions } from './build-http.ts';
import type { ConfigProblem } from './config-error.ts';
import { fillPattern } from './key.ts';
import { bindKey } from './listener-keys.ts';
import { monitorKeys } from './monitor-keys.ts';
import type { ListenerSettings, MonitorSettings, Settings } from './settings.ts';
import { tlsKeys } from './tls-keys.ts';
import type { Values } from './values.ts';

/** `attempted`: keys that had a line, also a refused one, so that one slip is told only once. */
export function findContradictions(
  settings: Settings,
  values: Values,
  attempted: ReadonlySet<string>,
): ConfigProblem[] {
  return [
    ...keysOfNoListener(values, attempted),
    ...crossedWatermarks(settings.monitor, values),
    ...settings.listeners.flatMap((listener) => halfCertificates(listener, values, attempted)),
    ...settings.listeners.flatMap((listener) => idleTlsKeys(listener, values)),
    ...settings.listeners.flatMap((listener, place) =>
      samePort(listener, settings.listeners.slice(0, place), values),
    ),
    ...httpContradictions(settings, values, attempted),
  ];
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

function halfCertificates(
  { kind, name, tls }: ListenerSettings,
  values: Values,
  attempted: ReadonlySet<string>,
): ConfigProblem[] {
  const key = fillPattern(tlsKeys.keyFile.pattern, [kind, name]);
  const cert = fillPattern(tlsKeys.certFile.pattern, [kind, name]);
  if (!tls || attempted.has(key) === attempted.has(cert)) return [];
  const [present, missing] = attempted.has(key) ? [key, cert] : [cert, key];
  const text = `Cannot use ${present} alone: expected ${missing} as well`;
  return [{ where: values.where(present), key: present, text }];
}

function idleTlsKeys({ kind, name, tls }: ListenerSettings, values: Values): ConfigProblem[] {
  const problems: ConfigProblem[] = [];
  const refuse = (pattern: string, text: string): void => {
    const key = fillPattern(pattern, [kind, name]);
    problems.push({ where: values.where(key), key, text: `Cannot use ${key}: ${text}` });
  };
  if (tls?.ciphers !== undefined && tls.pskCiphers !== undefined) {
    refuse(tlsKeys.pskCiphers.pattern, 'ciphers is set too, expected one of the two');
  }
  if (tls?.failIfNoPeerCert === true && !tls.verifyPeer) {
    refuse(
      tlsKeys.failIfNoPeerCert.pattern,
      'no certificate is asked for, expected verify = verify_peer',
    );
  }
  return problems;
}

function samePort(
  listener: ListenerSettings,
  earlier: readonly ListenerSettings[],
  values: Values,
): ConfigProblem[] {
  const taken = earlier.find(
    ({ port, host }) => port === listener.port && port !== 0 && meet(host, listener.host),
  );
  if (!taken) return [];
  const key = fillPattern(bindKey.pattern, [listener.kind, listener.name]);
  const other = fillPattern(bindKey.pattern, [taken.kind, taken.name]);
  const text = `Cannot use ${key} = "${listener.listenOn}": ${other} has that port already, expected another port or off`;
  return [{ where: values.where(key), key, text }];
}

/** Whether two addresses share a socket; all addresses share one with each. */
function meet(a: string | undefined, b: string | undefined): boolean {
  if (a === b || a === undefined || b === undefined || a === '::' || b === '::') return true;
  const isV4 = (host: string): boolean => !host.includes(':');
  return (a === '0.0.0.0' && isV4(b)) || (b === '0.0.0.0' && isV4(a));
}
