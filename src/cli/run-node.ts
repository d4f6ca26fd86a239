// The process of a broker: it owns the data directory while it runs, ends on a signal, and tells the
// one who started it when it is ready.

import { mkdirSync } from 'node:fs';
import { flushCompileCache } from 'node:module';
import type { PluginsConfig } from '#plugin/load-config';
import { claimPidFile } from './pid-file.ts';
import { showPulse } from './pulse.ts';
import type { Run } from './run-options.ts';

/** From a detached broker to the `start` that waits for it. */
export interface ReadyMessage {
  readonly ready: readonly string[];
}

export async function runNode(
  { settings, effective, plugins, keys }: PluginsConfig,
  configFile: string,
  version: string,
  loadRun: () => Promise<Run>,
): Promise<void> {
  const { dataDir, name } = settings.node;
  mkdirSync(dataDir, { recursive: true, mode: 0o750 });
  using _claim = claimPidFile(dataDir);
  await using pulses = new AsyncDisposableStack();
  const startedAtMs = Date.now();
  const stopping = stopOnSignal();
  const run = await loadRun();
  await run({
    settings,
    effective,
    found: plugins,
    keys,
    configFile,
    version,
    stopping,
    onReady(listeners) {
      const pulse = { pid: process.pid, node: name, version, startedAtMs, listeners };
      pulses.use(showPulse(dataDir, pulse));
      tellStarter(listeners);
      // Otherwise written at a regular exit only, which a broker may never see.
      flushCompileCache();
    },
  });
}

/** The first signal asks, the second one does not. */
function stopOnSignal(): AbortSignal {
  const controller = new AbortController();
  const stop = (signal: NodeJS.Signals): void => {
    if (controller.signal.aborted) process.exit(1);
    controller.abort(signal);
  };
  process.on('SIGTERM', stop);
  process.on('SIGINT', stop);
  return controller.signal;
}

function tellStarter(listeners: readonly string[]): void {
  if (process.send === undefined) return;
  const message: ReadyMessage = { ready: listeners };
  // The starter may be gone by now, which is no reason to end.
  process.send(message, undefined, undefined, () => {
    if (process.connected) process.disconnect?.();
  });
}
