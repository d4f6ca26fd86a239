// Checked values → the settings of management and of the dashboard.

import { buildTls } from './build-tls.ts';
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
  const tls = { ...values.read(keys.tls), pskCiphers: undefined };
  return buildTls(tls, values.get(keys.versions), root);
}
