// The entry of the integration thread: resources, and what actions have them do. It ends when the control
// thread has nothing more to say.

import { type MessagePort, workerData } from 'node:worker_threads';
import { Calls } from '#base/calls';
import { systemClock } from '#base/clock';
import type { LogLevelName } from '#base/log';
import { relayLog } from '#base/log-relay';
import { ResourceHost } from '#rules/resources/resource-host';
import type { IntegrationCalls, IntegrationOwnerCalls } from './integration-calls.ts';
import { integrationAnswers } from './integration-answers.ts';

const { port, level, charsLimit } = workerData as {
  readonly port: MessagePort;
  readonly level: LogLevelName;
  readonly charsLimit: number;
};

const log = relayLog(level, charsLimit, (lines) => calls.tell('log', [lines]), {
  thread: 'integration',
});
const calls: Calls<IntegrationOwnerCalls, IntegrationCalls> = new Calls({
  port,
  ours: integrationAnswers(new ResourceHost(systemClock, log)),
  clock: systemClock,
  peer: 'control',
  // Tells that fail concern nobody who could be told: they end the thread, which is started anew.
  onFault: (error) => {
    throw error;
  },
});
void calls.closed.then(() => process.exit());
