// Checked values → the settings of management and of the dashboard, and what is wrong between their
// keys although each by itself is fine.

import { resolve } from 'node:path';
import type { ConfigProblem } from './config-error.ts';
import { dashboardHttp, dashboardHttps, dashboardKeys } from './dashboard-keys.ts';
import type { HttpKeys, HttpsKeys } from './http-keys.ts';
import {
  defaultAppKeys,
  managementHttp,
  managementHttps,
  managementKeys,
} from './management-keys.ts';
import type {
  DashboardSettings,
  HttpListenerSettings,
  ListenerSettings,
  ManagementSettings,
  Settings,
  TlsSettings,
} from './settings.ts';
import type { Values } from './values.ts';

type Owner = HttpListenerSettings['owner'];

export function buildManagement(values: Values, root: string): ManagementSettings {
  const listeners = both(values, root, 'management', managementHttp, managementHttps);
  return { ...values.read(managementKeys), ...values.read(defaultAppKeys), listeners };
}

export function buildDashboard(values: Values, root: string): DashboardSettings {
  const listeners = both(values, root, 'dashboard', dashboardHttp, dashboardHttps);
  return { ...values.read(dashboardKeys), listeners };
}

function both(
  values: Values,
  root: string,
  owner: Owner,
  http: HttpKeys,
  https: HttpsKeys,
): HttpListenerSettings[] {
  return [
    ...listenerIn(values, owner, http, () => undefined),
    ...listenerIn(values, owner, https, () => tlsIn(values, root, https)),
  ];
}

function listenerIn(
  values: Values,
  owner: Owner,
  keys: HttpKeys,
  tls: () => TlsSettings | undefined,
): HttpListenerSettings[] {
  const bind = values.get(keys.bind);
  if (bind === undefined || bind === 'off') return [];
  const { host, port, text: listenOn } = bind;
  const access = values
    .ofPattern(keys.access)
    .sort((a, b) => Number(a.names[0]) - Number(b.names[0]))
    .map(({ value }) => value as ListenerSettings['access'][number]);
  const plain = values.read(keys.plain);
  const { pattern: key } = keys.bind;
  return [{ key, owner, host, port, listenOn, ...plain, access, tls: tls() }];
}

function tlsIn(values: Values, root: string, keys: HttpsKeys): TlsSettings {
  const tls = values.read(keys.tls);
  const { min, max } = values.get(keys.versions);
  const absolute = (file: string | undefined): string | undefined =>
    file === undefined ? undefined : resolve(root, file);
  return {
    ...tls,
    minVersion: min,
    maxVersion: max,
    keyFile: absolute(tls.keyFile),
    certFile: absolute(tls.certFile),
    caCertFile: absolute(tls.caCertFile),
    dhFile: absolute(tls.dhFile),
    ciphers: tls.ciphers?.replaceAll(/\s*,\s*/g, ':'),
    pskCiphers: undefined,
  };
}

type Taken = Pick<HttpListenerSettings, 'key' | 'host' | 'port'>;

/** `attempted`: keys that had a line, also a refused one, so that one slip is told only once. */
export function httpContradictions(
  { management, dashboard, listeners }: Settings,
  values: Values,
  attempted: ReadonlySet<string>,
): ConfigProblem[] {
  const problems: ConfigProblem[] = [];
  const refuse = (key: string, text: string): void => {
    problems.push({ where: values.where(key), key, text: `Cannot use ${key}${text}` });
  };
  const taken: Taken[] = listeners.map(({ kind, name, host, port }) => {
    return { key: `listener.${kind}.${name}`, host, port };
  });
  for (const { key, host, port, tls } of [...management.listeners, ...dashboard.listeners]) {
    const other = taken.find((one) => port !== 0 && port === one.port && meet(host, one.host));
    if (other !== undefined) {
      refuse(key, `: ${other.key} has port ${port} already, expected another port or off`);
    }
    taken.push({ key, host, port });
    const files = [`${key}.keyfile`, `${key}.certfile`];
    const [present, ...more] = files.filter((file) => attempted.has(file));
    if (tls !== undefined && present !== undefined && more.length === 0) {
      const missing = files.find((file) => file !== present);
      refuse(present, ` alone: expected ${missing} as well`);
    }
    if (tls?.failIfNoPeerCert === true && !tls.verifyPeer) {
      refuse(
        `${key}.fail_if_no_peer_cert`,
        ': no certificate is asked for, expected verify = verify_peer',
      );
    }
  }
  return problems;
}

/** Whether two addresses can share a socket. */
function meet(a: string | undefined, b: string | undefined): boolean {
  const isWide = (host: string | undefined): boolean =>
    host === undefined || host === '0.0.0.0' || host === '::';
  return a === b || isWide(a) || isWide(b);
}
