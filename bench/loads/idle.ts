// Connections that only stay: what one costs in memory of the broker's process.

import { Client, openAll } from '../client.ts';
import { openFilesMax, steadyBytes } from '../cpu.ts';
import type { Load, Outcome, Target } from '../load.ts';

const connectionsWanted = 15_000;
/** Files that either process needs besides the connections. */
const otherFiles = 500;
const keepaliveSeconds = 300;

export const load: Load = {
  title: '15 000 idle connections',
  figures: ['bytesPerConnection'],
  bars: { bytesPerConnection: { kind: 'atMost', bar: 8 * 1024, reach: 4 * 1024 } },
  roundsMax: 1,
  settings: ['listener.tcp.external.max_conn_rate=0'],
  run,
};

async function run(target: Target): Promise<Outcome> {
  const room = Math.min(openFilesMax('self'), openFilesMax(target.pid)) - otherFiles;
  const count = Math.min(connectionsWanted, room);
  const before = await steadyBytes(target.pid);
  const clients = await openAll(count, (index) =>
    Client.open(target.port, `bench-idle-${index}`, keepaliveSeconds),
  );
  const after = await steadyBytes(target.pid);
  const gone = clients.filter((client) => !client.isOpen).length;
  await Promise.all(clients.map((client) => client.disconnect()));
  const notes: string[] = [];
  if (count < connectionsWanted) notes.push(`only ${count} connections: open files are limited`);
  if (gone > 0) notes.push(`the broker closed ${gone} connections`);
  return { figures: { bytesPerConnection: (after - before) / count }, lost: 0, extra: 0, notes };
}
