// A start over a store of a hundred thousand sessions with ten waiting messages each: how long it takes
// until somebody is answered, what the process holds in memory then, and how soon a client has what
// waited for it. The store is made through the broker itself, which is then asked to stop.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { accepting, brokers, freePort, type Running } from '../brokers.ts';
import { Client, type Receiver } from '../client.ts';
import { residentBytes, steadyBytes } from '../cpu.ts';
import { mosquittoDurable } from '../durable-stage.ts';
import { firstConnack } from '../first-connack.ts';
import { publish } from '../frames.ts';
import type { BrokerName, Load, Outcome, Target } from '../load.ts';
import { median } from '../median.ts';
import { fillSessions, makeSessions, sessionOf } from '../session-fill.ts';

const sessions = 100_000;
const waiting = 10;
/** Sessions that are resumed, spread over all of them. */
const resumed = 50;
const startMsMax = 120_000;
const stopMsMax = 60_000;

export const load: Load = {
  title: '100 000 sessions × 10 waiting messages on disk',
  figures: ['storeStartMs', 'storeBytes', 'waitingMs'],
  bars: {},
  roundsMax: 1,
  launches: true,
  overheadSeconds: 600,
  run,
};

async function run({ broker }: Target): Promise<Outcome> {
  const directory = mkdtempSync(join(tmpdir(), 'bench-durable-'));
  try {
    const filledSeconds = await fill(broker, directory);
    const port = await freePort();
    const begin = performance.now();
    const running = launch(broker, port, directory);
    try {
      const client = await firstConnack(port, running, startMsMax);
      const storeStartMs = performance.now() - begin;
      const storeBytes = residentBytes(running.pid);
      await client.disconnect();
      const { ms, missing } = await resumeSome(port);
      const steady = Math.round((await steadyBytes(running.pid)) / 1024 ** 2);
      const notes = [`filled in ${filledSeconds.toFixed(0)} s; settled at ${steady} MB`];
      const figures = { storeStartMs, storeBytes, waitingMs: median(ms) };
      return { figures, lost: missing, extra: 0, notes };
    } finally {
      await running.stop(stopMsMax);
    }
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

function launch(broker: BrokerName, port: number, directory: string): Running {
  return brokers[broker].launch(port, {
    settings: ['listener.tcp.external.max_conn_rate=0'],
    // Single packets are waited for, which Nagle's algorithm would hold back.
    mosquittoNodelay: true,
    mosquittoSettings: [...mosquittoDurable(false), 'autosave_interval 600'],
    directory,
  });
}

/** Answers how many seconds it took. */
async function fill(broker: BrokerName, directory: string): Promise<number> {
  const port = await freePort();
  const running = launch(broker, port, directory);
  try {
    await accepting(port, running);
    const begin = performance.now();
    await makeSessions(port, sessions);
    await fillSessions(port, sessions, waiting);
    return (performance.now() - begin) / 1000;
  } finally {
    await running.stop(stopMsMax);
  }
}

async function resumeSome(port: number): Promise<{ ms: number[]; missing: number }> {
  const ms: number[] = [];
  let missing = 0;
  for (let turn = 0; turn < resumed; turn++) {
    const inbox = new Waiting();
    const begin = performance.now();
    const client = await Client.resume(port, sessionOf(turn * (sessions / resumed)), () => inbox);
    const took = await inbox.all(begin);
    missing += Math.max(0, waiting - inbox.received);
    client.socket.destroy();
    // One that waits in vain is enough.
    if (took === undefined) break;
    ms.push(took);
  }
  return { ms, missing };
}

/** Counts what waited. */
class Waiting implements Receiver {
  received = 0;
  readonly #done: PromiseWithResolvers<number> = Promise.withResolvers();

  frame(_bytes: Buffer, header: number): void {
    if ((header & 0xf0) === publish && ++this.received === waiting) {
      this.#done.resolve(performance.now());
    }
  }

  /** Milliseconds until all were there; undefined when they do not come. */
  async all(begin: number): Promise<number | undefined> {
    const late = Promise.withResolvers<undefined>();
    const timer = setTimeout(() => late.resolve(undefined), 5000);
    const end = await Promise.race([this.#done.promise, late.promise]);
    clearTimeout(timer);
    return end === undefined ? undefined : end - begin;
  }
}
