// A whole node: its HTTP ports, its threads, what management keeps, and management itself, started in this
// order and taken down in the opposite one. Also what tests of management start.

import { systemClock } from '#base/clock';
import type { RootLogger } from '#base/log';
import type { Settings } from '#config/settings';
import type { EffectiveValue } from '#config/values';
import type { BeforeListening, NodeFace } from '#node/node-face';
import { openServices, type Services } from '#admin/services';
import { HttpPorts } from '#http/http-ports';
import type { Management } from '#http/management';

export interface ManagedNodeParts {
  readonly settings: Settings;
  readonly effective: readonly EffectiveValue[];
  readonly configFile: string;
  readonly version: string;
  readonly log: RootLogger;
}

export interface ManagedNode extends AsyncDisposable {
  readonly node: NodeFace;
  readonly services: Services;
  readonly management: Management;
  readonly doors: HttpPorts;
  /** Whoever has read the documentation can log in to the dashboard. */
  readonly hasShippedPassword: boolean;
}

export async function startManagedNode(parts: ManagedNodeParts): Promise<ManagedNode> {
  const { settings, log } = parts;
  const clock = systemClock;
  const startedAtMs = clock.nowMs();
  const startedMs = clock.monotonicMs();
  const upMs = (): number => clock.monotonicMs() - startedMs;
  await using opened = new AsyncDisposableStack();
  const doors = opened.use(new HttpPorts({ settings, clock, log: log.child({ part: 'http' }) }));
  await doors.open('management');
  let services: Services | undefined;
  const node = await startNode(settings, log, async (workers, records) => {
    services = await openServices({ workers, records, settings, clock, log });
    const { hasShippedPassword: shutIn } = services.users;
    if (shutIn && settings.dashboard.listeners.length > 0) {
      log.warn('dashboard.password.shipped', { user: settings.dashboard.defaultLogin });
    }
    await doors.open('dashboard', { shutIn });
  }).catch(async (error: unknown) => {
    await services?.[Symbol.asyncDispose]();
    throw error;
  });
  opened.defer(() => node.stop());
  if (services === undefined) throw new TypeError('a node listens without having asked `before`');
  opened.use(services);
  const { startManagement } = await import('#http/management');
  const management = opened.use(
    await startManagement({ ...parts, node, services, clock, startedAtMs, upMs, doors }),
  );
  const all = opened.move();
  return {
    node,
    services,
    management,
    doors,
    hasShippedPassword: services.users.hasShippedPassword,
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  };
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
