// Checked values → the settings that the rest of the broker reads: units converted by the types,
// paths made absolute, zones and listeners gathered.

import { resolve } from 'node:path';
import { aclKeys } from './acl-keys.ts';
import { brokerKeys } from './broker-keys.ts';
import { buildDashboard, buildManagement } from './build-http.ts';
import { modulesIn } from './build-modules.ts';
import { buildTls } from './build-tls.ts';
import { flappingKeys } from './flapping-keys.ts';
import { accessRuleKey, bindKey, listenerKeys } from './listener-keys.ts';
import { levelFileKey, logKeys } from './log-keys.ts';
import { monitorKeys } from './monitor-keys.ts';
import { nodeKeys } from './node-keys.ts';
import { pluginHostKeys } from './plugin-host-keys.ts';
import { retainerKeys } from './retainer-keys.ts';
import type {
  AclSettings,
  ListenerSettings,
  LogLevel,
  LogSettings,
  NodeSettings,
  PluginHostSettings,
  Settings,
  TlsSettings,
  WsSettings,
  ZoneSettings,
} from './settings.ts';
import { tlsKeys, tlsVersionsKey } from './tls-keys.ts';
import type { Values } from './values.ts';
import { deflateKeys, wsKeys } from './ws-keys.ts';
import { zoneKeys } from './zone-keys.ts';

/** Relative paths start at `root`. */
export function buildSettings(values: Values, root: string): Omit<Settings, 'plugins'> {
  const listeners = listenersIn(values, root);
  return {
    node: nodeIn(values, root),
    log: logIn(values, root),
    broker: values.read(brokerKeys),
    modules: modulesIn(values),
    monitor: values.read(monitorKeys),
    retainer: values.read(retainerKeys),
    zones: zonesIn(values, listeners),
    listeners,
    management: buildManagement(values, root),
    dashboard: buildDashboard(values, root),
    acl: aclIn(values, root),
    flapping: values.read(flappingKeys),
    pluginHost: pluginHostIn(values, root),
  };
}

function aclIn(values: Values, root: string): AclSettings {
  const acl = values.read<AclSettings>(aclKeys);
  return { ...acl, file: acl.file === undefined ? undefined : resolve(root, acl.file) };
}

function pluginHostIn(values: Values, root: string): PluginHostSettings {
  const host = values.read<PluginHostSettings>(pluginHostKeys);
  return { ...host, dir: host.dir === undefined ? undefined : resolve(root, host.dir) };
}

function nodeIn(values: Values, root: string): NodeSettings {
  const node = values.read<NodeSettings>(nodeKeys);
  return { ...node, dataDir: resolve(root, node.dataDir) };
}

function logIn(values: Values, root: string): LogSettings {
  const log = values.read<Omit<LogSettings, 'levelFiles'>>(logKeys);
  const levelFiles = new Map<LogLevel, string>();
  for (const { names, value } of values.ofPattern(levelFileKey)) {
    levelFiles.set(names[0] as LogLevel, value as string);
  }
  return { ...log, dir: resolve(root, log.dir), levelFiles };
}

export function zoneNames(values: Values, listeners: readonly ListenerSettings[]): Set<string> {
  const own = values.namesUnder('zone', 1).map(([name = '']) => name);
  return new Set([...own, ...listeners.map(({ zone }) => zone)]);
}

function zonesIn(
  values: Values,
  listeners: readonly ListenerSettings[],
): ReadonlyMap<string, ZoneSettings> {
  const zones = new Map<string, ZoneSettings>();
  for (const name of zoneNames(values, listeners)) {
    zones.set(name, { name, ...values.read<Omit<ZoneSettings, 'name'>>(zoneKeys, [name]) });
  }
  return zones;
}

function listenersIn(values: Values, root: string): ListenerSettings[] {
  const listeners: ListenerSettings[] = [];
  for (const { names } of values.ofPattern(bindKey)) {
    const bind = values.get(bindKey, names);
    const [kind, name] = names as [ListenerSettings['kind'], string];
    if (bind === undefined || bind === 'off') continue;
    listeners.push({
      kind,
      name,
      host: bind.host,
      port: bind.port,
      listenOn: bind.text,
      ...values.read(listenerKeys, names),
      access: accessOf(values, names),
      tls: kind === 'ssl' || kind === 'wss' ? tlsOf(values, names, root) : undefined,
      ws: kind === 'ws' || kind === 'wss' ? wsOf(values, names) : undefined,
    });
  }
  return listeners;
}

function accessOf(values: Values, listener: readonly string[]): ListenerSettings['access'] {
  const [kind, name] = listener;
  return values
    .ofPattern(accessRuleKey)
    .filter(({ names }) => names[0] === kind && names[1] === name)
    .sort((a, b) => Number(a.names[2]) - Number(b.names[2]))
    .map(({ value }) => value as ListenerSettings['access'][number]);
}

function tlsOf(values: Values, names: readonly string[], root: string): TlsSettings {
  return buildTls(values.read(tlsKeys, names), values.get(tlsVersionsKey, names), root);
}

function wsOf(values: Values, names: readonly string[]): WsSettings {
  return {
    ...values.read<Omit<WsSettings, 'deflate'>>(wsKeys, names),
    deflate: values.read(deflateKeys, names),
  };
}
