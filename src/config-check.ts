// What `broker config check` looks at besides keys: the files that they name, read as a start would read
// them. Law: whatever would keep a broker from starting, or make it start with less than was written, is
// told here, all of it at once, and nothing is changed.

import { describeMistake } from '#base/errors';
import type { TlsSettings } from '#config/settings';
import { loadContext } from '#net/tls-context';
import type { FoundPlugin } from '#plugin/discover';
import type { PluginsConfig } from '#plugin/load-config';
import { readAcl } from '#admin/acl-source';
import { LoadedList } from '#host/loaded-list';

/** One text for each. */
export async function checkFiles({ settings, plugins }: PluginsConfig): Promise<readonly string[]> {
  const { acl, listeners, management, dashboard } = settings;
  const problems: string[] = [];
  const look = async (what: () => unknown): Promise<void> => {
    try {
      const found = await what();
      if (Array.isArray(found)) problems.push(...(found as string[]));
    } catch (error) {
      problems.push(describeMistake(error));
    }
  };
  const { file } = acl;
  if (file !== undefined) await look(() => readAcl(file));
  for (const { tls } of [...listeners, ...management.listeners, ...dashboard.listeners]) {
    await look(() => tls && checkTls(tls));
  }
  let loaded = settings.pluginHost.loaded;
  await look(() => {
    loaded = new LoadedList(settings.node.dataDir).read() ?? loaded;
  });
  for (const found of plugins) {
    if (loaded.includes(found.name)) await look(() => checkPlugin(found, settings.plugins));
  }
  return problems;
}

function checkTls(tls: TlsSettings): void {
  const { keyFile, certFile, caCertFile, dhFile } = tls;
  // Without files of its own it has what the broker makes for itself.
  if (keyFile === undefined || certFile === undefined) return;
  loadContext(tls, { keyFile, certFile, caCertFile, dhFile });
}

async function checkPlugin(
  { name, definition, fault }: FoundPlugin,
  settings: ReadonlyMap<string, unknown>,
): Promise<readonly string[]> {
  if (definition === undefined) return [`Cannot start ${name}: ${fault}`];
  const { default: check } = (await definition.check?.()) ?? {};
  return (await check?.(settings.get(name) as never)) ?? [];
}
