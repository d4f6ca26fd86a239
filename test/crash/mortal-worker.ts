// A worker that dies when it is told to, in one of the ways in which a worker can. It is told by a word
// on a channel that all threads hear; where its clients are it says in the log.

import { BroadcastChannel, workerData } from 'node:worker_threads';
import { WorkerPeers } from '#cluster/worker-peers';
import { node } from '#node/worker';
import { deathChannel, type DeathOrder, type Manner } from './death-order.ts';

const { index } = workerData as { readonly index: number };
const { hooks, log } = node.broker.core;
const deaths = new BroadcastChannel(deathChannel).unref();
deaths.onmessage = (event) => {
  const { worker, manner } = (event as { readonly data: DeathOrder }).data;
  if (worker === index) die[manner]();
};
hooks.on('client.connected', 'test', ({ clientId }, reasonCode) => {
  if (reasonCode === 0) log.info('test.placed', { clientId });
});
hooks.on('client.disconnected', 'test', ({ clientId }) => log.info('test.left', { clientId }));

const die: Readonly<Record<Manner, () => void>> = {
  throw: () => {
    setImmediate(() => {
      throw new Error('Died as told');
    });
  },
  exit: () => process.exit(),
  publish: () => hooks.on('message.publish', 'test', () => process.exit()),
  greeting: () => {
    WorkerPeers.prototype.peerUp = () => process.exit();
  },
  memory: () => {
    const all: unknown[] = [];
    for (;;) all.push(new Array(2 ** 20).fill(0.5));
  },
};
