// Waiting for a broker as a client does: a CONNECT every two milliseconds from its launch on.

import { setTimeout as delay } from 'node:timers/promises';
import { type Running, refuseDead } from './brokers.ts';
import { Client } from './client.ts';

const askEveryMs = 2;

/** Connected at the first CONNACK; fails when the process ends or takes longer. */
export async function firstConnack(port: number, running: Running, msMax: number): Promise<Client> {
  const deadline = performance.now() + msMax;
  for (;;) {
    refuseDead(running, deadline);
    const client = await openOrUndefined(port);
    if (client !== undefined) return client;
    await delay(askEveryMs);
  }
}

async function openOrUndefined(port: number): Promise<Client | undefined> {
  try {
    return await Client.open(port, 'bench-start');
  } catch {
    // Nobody listens yet; whether that will change is asked before the next attempt.
    return undefined;
  }
}
