// The entry of the integration thread. It ends when the control thread has nothing more to say.

import { type MessagePort, workerData } from 'node:worker_threads';
import { Calls } from '#base/calls';
import { systemClock } from '#base/clock';
import type { IntegrationCalls, IntegrationOwnerCalls } from './integration-calls.ts';
import { threadStatus } from './thread-status.ts';

const { port } = workerData as { readonly port: MessagePort };

const calls = new Calls<IntegrationOwnerCalls, IntegrationCalls>({
  port,
  ours: { status: threadStatus },
  clock: systemClock,
  peer: 'control',
  // Tells that fail concern nobody who could be told: they end the thread, which is started anew.
  onFault: (error) => {
    throw error;
  },
});
void calls.closed.then(() => process.exit());
