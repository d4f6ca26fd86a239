// Management of a running node: the catalogue of operations, and the faces that are made of it. Started
// when the node runs, stopped before it stops.

import type { ListenerReport } from '#net/listener';
import { ConfigStore } from '#admin/config-store';
import { openControlSocket } from '#admin/control-socket';
import { liveKeys } from '#admin/live-keys';
import { allOperations } from '#admin/operations';
import type { AdminParts } from '#admin/parts';
import { Api } from './api.ts';
import type { HttpPorts } from './http-ports.ts';

export type ManagementParts = Omit<AdminParts, 'httpListeners'> & {
  /** Open already; they are closed by whoever opened them. */
  readonly doors: HttpPorts;
};

export interface Management extends AsyncDisposable {
  readonly parts: AdminParts;
}

const ownName = 'broker_management';
const askMsMax = 1000;

export async function startManagement({ doors, ...given }: ManagementParts): Promise<Management> {
  const { settings, services, node, catalogue } = given;
  const parts: AdminParts = {
    ...given,
    httpListeners: (): readonly ListenerReport[] => doors.reports(),
  };
  const configs = new ConfigStore(parts, liveKeys(parts));
  given.plugins.useConfigs(configs);
  catalogue.add(ownName, allOperations(parts, configs));
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
  const ownerOf = (word: string): Promise<string | undefined> => given.plugins.ownerOf(word);
  const said = { catalogue, node: name, log: root, ownerOf };
  const control = await openControlSocket({ ...said, dataDir, clock });
  doors.serve((owner, request, response) => api.serve(owner, request, response), isReady);
  return {
    parts,
    async [Symbol.asyncDispose]() {
      doors.serve(undefined);
      await api[Symbol.asyncDispose]();
      await control[Symbol.asyncDispose]();
    },
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
