// Finds out whether the addresses of the settings are free, before workers share them: ports that are
// opened to be shared are given to a second broker as well, and the kernel would spread the clients
// over both.

import { createServer, type ListenOptions, type Server } from 'node:net';
import type { ListenerSettings, Settings } from '#config/settings';
import { cannotListen } from './listen-error.ts';

/** Throws as a listener does that cannot be opened. All are free again when it is done. */
export async function probePorts({ listeners }: Pick<Settings, 'listeners'>): Promise<void> {
  const held: Server[] = [];
  try {
    // Held together, so that two listeners of the settings with one address are found as well.
    for (const one of listeners) held.push(await hold(one));
  } finally {
    await Promise.all(held.map((server) => new Promise((closed) => server.close(closed))));
  }
}

async function hold(settings: ListenerSettings): Promise<Server> {
  const { host, port } = settings;
  const where: ListenOptions = host === undefined ? { port } : { port, host };
  // Who connects in this moment is not served by anybody.
  const server = createServer((socket) => socket.destroy());
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  server.once('error', reject);
  server.listen(where, resolve);
  try {
    await promise;
  } catch (cause) {
    throw cannotListen(settings, cause);
  }
  return server;
}
