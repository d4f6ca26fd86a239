// A whole node: its HTTP ports, its threads, what management keeps, its plugins, and management itself,
// started in this order and taken down in the opposite one. Also what tests of management start.

import { setImmediate as turn } from 'node:timers/promises';
import { systemClock } from '#base/clock';
import type { RootLogger } from '#base/log';
import type { Settings } from '#config/settings';
import type { KeyTable } from '#config/key-table';
import type { EffectiveValue } from '#config/values';
import type { FoundPlugin } from '#plugin/discover';
import type { BeforeListening, NodeFace } from '#node/node-face';
import { allMetrics, allStats } from '#admin/all-metrics';
import { Catalogue } from '#admin/catalogue';
import { openServices, type Services } from '#admin/services';
import type { Figures } from '#host/control-context';
import { PluginHost } from '#host/plugin-host';
import { HttpPorts } from '#http/http-ports';
import type { Management } from '#http/management';
import { builtInPlugins } from './built-in-plugins.ts';

export interface ManagedNodeParts {
  readonly settings: Settings;
  readonly effective: readonly EffectiveValue[];
  readonly configFile: string;
  readonly version: string;
  readonly log: RootLogger;
  /** The plugins that were found, and every key there can be. */
  readonly found: readonly FoundPlugin[];
  readonly keys: KeyTable;
}

export interface ManagedNode extends AsyncDisposable {
  readonly node: NodeFace;
  readonly services: Services;
  readonly management: Management;
  readonly plugins: PluginHost;
  readonly doors: HttpPorts;
  /** Whoever has read the documentation can log in to the dashboard. */
  readonly hasShippedPassword: boolean;
}

interface Early {
  readonly services: Services;
  readonly plugins: PluginHost;
}

export async function startManagedNode(parts: ManagedNodeParts): Promise<ManagedNode> {
  const { settings, log, found, ...rest } = parts;
  const clock = systemClock;
  const startedAtMs = clock.nowMs();
  const startedMs = clock.monotonicMs();
  const upMs = (): number => clock.monotonicMs() - startedMs;
  await using opened = new AsyncDisposableStack();
  const doors = opened.use(new HttpPorts({ settings, clock, log: log.child({ part: 'http' }) }));
  await doors.open('management');
  const catalogue = new Catalogue();
  await using early = new AsyncDisposableStack();
  let kept: Early | undefined;
  const figures = new LateFigures();
  const node = await startNode(settings, log, async (workers, records, alarms, integration) => {
    const services = early.use(
      await openServices({ workers, records, alarms, settings, clock, log }),
    );
    warnOfPassword(services, settings, log);
    const builtIn = builtInPlugins({ settings, workers, services, doors, figures });
    const { version, keys } = parts;
    const plugins = early.use(
      new PluginHost({
        ...{ found, builtIn, catalogue, workers, records, settings, clock, log, version, alarms },
        ...{ figures, keys, integration },
      }),
    );
    await plugins.start();
    kept = { services, plugins };
  });
  opened.defer(() => node.stop());
  opened.use(early.move());
  if (kept === undefined) throw new TypeError('a node listens without having asked `before`');
  const { services, plugins } = kept;
  await plugins.serve();
  await turn();
  const { startManagement } = await import('#http/management');
  const given = { ...rest, settings, log, node, services, plugins, catalogue, clock };
  const management = opened.use(await startManagement({ ...given, startedAtMs, upMs, doors }));
  figures.node = management.parts;
  const all = opened.move();
  return {
    node,
    services,
    management,
    plugins,
    doors,
    hasShippedPassword: services.users.hasShippedPassword,
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  };
}

/** Plugins are started before there is a node to read figures of. */
class LateFigures implements Figures {
  node: Management['parts'] | undefined;

  metrics(): Readonly<Record<string, number>> {
    return this.node === undefined ? {} : allMetrics(this.node);
  }

  stats(): Readonly<Record<string, number>> {
    return this.node === undefined ? {} : allStats(this.node);
  }

  async prometheus(): Promise<string> {
    if (this.node === undefined) return '';
    const { prometheusFamilies } = await import('#admin/prometheus');
    const { prometheusText } = await import('#admin/prometheus-text');
    return prometheusText(await prometheusFamilies(this.node));
  }
}

function warnOfPassword({ users }: Services, settings: Settings, log: RootLogger): void {
  if (!users.hasShippedPassword || settings.dashboard.listeners.length === 0) return;
  log.warn('dashboard.password.shipped', { user: settings.dashboard.defaultLogin });
}

/** Each loads what it needs: the control thread of several has no broker in it. */
async function startNode(
  settings: Settings,
  log: RootLogger,
  before: BeforeListening,
): Promise<NodeFace> {
  if (settings.node.workers === 0) {
    const { startSingleNode } = await import('#node/single-node');
    return startSingleNode(settings, log, before);
  }
  const { startThreadNode } = await import('#node/thread-node');
  return startThreadNode(settings, log, before);
}
