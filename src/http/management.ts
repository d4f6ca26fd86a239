// Management of a running node: the catalogue of operations, and the faces that are made of it. Started
// when the node runs, stopped before it stops.

import type { ListenerReport } from '#net/listener';
import { Catalogue } from '#admin/catalogue';
import { openControlSocket } from '#admin/control-socket';
import { allOperations } from '#admin/operations';
import type { AdminParts, DashboardSwitch } from '#admin/parts';
import { Api } from './api.ts';
import type { HttpPorts } from './http-ports.ts';

export type ManagementParts = Omit<AdminParts, 'catalogue' | 'httpListeners' | 'dashboard'> & {
  /** Open already; they are closed by whoever opened them. */
  readonly doors: HttpPorts;
};

export interface Management extends AsyncDisposable {
  /** Plugins add their operations to it. */
  readonly catalogue: Catalogue;
  readonly parts: AdminParts;
}

const ownName = 'broker_management';
const askMsMax = 1000;

export async function startManagement({ doors, ...given }: ManagementParts): Promise<Management> {
  const { settings, services, node } = given;
  const catalogue = new Catalogue();
  const parts: AdminParts = {
    ...given,
    catalogue,
    httpListeners: (): readonly ListenerReport[] => doors.reports(),
    dashboard: dashboardSwitch(doors, given),
  };
  catalogue.add(ownName, allOperations(parts));
  const { clock, log: root } = given;
  const { dataDir, name } = settings.node;
  const log = root.child({ part: 'http' });
  const { bodyBytesMax } = settings.management;
  const api = new Api({ catalogue, services, clock, log, bodyBytesMax });
  const isReady = once(async () => {
    const { missing } = await node.workers.everywhere('status', [], askMsMax);
    return missing.length === 0;
  });
  services.start(parts);
  const control = await openControlSocket({ catalogue, dataDir, node: name, clock, log: root });
  doors.serve((owner, request, response) => api.serve(owner, request, response), isReady);
  return {
    catalogue,
    parts,
    async [Symbol.asyncDispose]() {
      doors.serve(undefined);
      await api[Symbol.asyncDispose]();
      await control[Symbol.asyncDispose]();
    },
  };
}

function dashboardSwitch(
  doors: HttpPorts,
  { settings, services }: Pick<AdminParts, 'settings' | 'services'>,
): DashboardSwitch | undefined {
  if (settings.dashboard.listeners.length === 0) return undefined;
  return {
    get isActive() {
      return doors.isOpen('dashboard');
    },
    start: () => doors.open('dashboard', { shutIn: services.users.hasShippedPassword }),
    stop: () => doors.close('dashboard'),
  };
}

/** Many who ask at once get one answer. */
function once<T>(ask: () => Promise<T>): () => Promise<T> {
  let asked: Promise<T> | undefined;
  return () => {
    asked ??= ask().finally(() => {
      asked = undefined;
    });
    return asked;
  };
}
