// The parts of the broker that are plugins by name: management, the dashboard's port, retained messages.

import type { Settings } from '#config/settings';
import type { WorkersFace } from '#node/node-face';
import type { BuiltIn } from '#host/built-in';
import type { HttpPorts } from '#http/http-ports';
import type { Services } from '#admin/services';
import type { Figures } from '#host/control-context';

export interface BuiltInParts {
  readonly settings: Settings;
  readonly workers: WorkersFace;
  readonly services: Services;
  readonly doors: HttpPorts;
  readonly figures: Pick<Figures, 'stats'>;
}

export function builtInPlugins(parts: BuiltInParts): readonly BuiltIn[] {
  return [
    { name: 'broker_management', description: 'Broker Management API and CLI' },
    dashboard(parts),
    retainer(parts),
  ];
}

function dashboard({ settings, services, doors }: BuiltInParts): BuiltIn {
  const wanted = 'expected dashboard.listener.http = <port> and a restart of the broker';
  let closing: Promise<void> = Promise.resolve();
  return {
    name: 'broker_dashboard',
    description: 'Broker Dashboard',
    obstacle: () =>
      settings.dashboard.listeners.length > 0
        ? undefined
        : `Cannot start broker_dashboard: it has no listener, ${wanted}`,
    isActive: () => doors.isOpen('dashboard'),
    async start() {
      await closing;
      await doors.open('dashboard', { shutIn: services.users.hasShippedPassword });
    },
    async stop() {
      // Not waited for: who asks over that very port has to get his answer before it can close.
      closing = doors.close('dashboard');
      closing.catch(() => undefined);
    },
  };
}

function retainer({ workers, settings, figures }: BuiltInParts): BuiltIn {
  const count = (): number => figures.stats()['retained/count'] ?? 0;
  return {
    name: 'broker_retainer',
    description: 'Broker Retainer',
    start: async () => void (await workers.uphold('retain', [true])),
    stop: async () => void (await workers.uphold('retain', [false])),
    async operations() {
      const { retainedOperations } = await import('#admin/operations/retained');
      return retainedOperations({ workers, settings, count });
    },
  };
}
