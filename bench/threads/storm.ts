// A connect storm, as after a restart: ten thousand clients that all come at once and stay, by TLS with
// a full handshake each, or by plain TCP. The broker is new: its code is as cold as after a restart.

import { availableParallelism } from 'node:os';
import { Worker } from 'node:worker_threads';
import { accepting, brokers, type Running } from '../brokers.ts';
import { cpuMicros, openFilesMax } from '../cpu.ts';
import type { Load, Outcome, Target } from '../load.ts';
import { watchMachine } from '../measure.ts';
import type { StormOrder, StormReport } from './storm-clients.ts';

const clientsWanted = 10_000;
/** Under way at a time, of all threads together; less than a listener's backlog. */
const concurrency = 400;
/** Files that either process needs besides the connections. */
const otherFiles = 500;
/** Who is not connected then does not count. */
const secondsMax = 30;
/** For a thread to start, or to say what it has. */
const answerMs = 10_000;

export const load: Load = {
  title: '10 000 clients connect at once and stay',
  figures: ['allConnectedMs', 'connectionsPerSecond', 'cpuMicros'],
  bars: {},
  roundsMax: 1,
  brokers: ['ours'],
  launches: true,
  run,
};

async function run({ port, settings = [], variant }: Target): Promise<Outcome> {
  const isTls = variant === 'tls';
  const kind = isTls ? 'ssl' : 'tcp';
  const listener = [
    ...(isTls ? ['listener.tcp.external=off', `listener.ssl.external=127.0.0.1:${port}`] : []),
    ...(isTls ? ['listener.ssl.external.reuse_sessions=off'] : []),
    `listener.${kind}.external.max_conn_rate=0`,
  ];
  const running = brokers.ours.launch(port, {
    settings: [...listener, ...settings],
    mosquittoNodelay: false,
  });
  try {
    await accepting(port, running);
    return await storm(running, port, isTls);
  } finally {
    await running.stop();
  }
}

async function storm(running: Running, port: number, isTls: boolean): Promise<Outcome> {
  const room = Math.min(openFilesMax('self'), openFilesMax(running.pid)) - otherFiles;
  const count = Math.min(clientsWanted, room);
  // The broker gets the other half of the machine.
  const threads = Math.max(1, Math.floor(availableParallelism() / 2));
  const shared = { port, isTls, concurrency: Math.ceil(concurrency / threads) };
  const workers = Array.from({ length: threads }, (_, thread) => {
    const from = Math.floor((count * thread) / threads);
    const order = { ...shared, from, to: Math.floor((count * (thread + 1)) / threads) };
    return startClients(order);
  });
  try {
    await Promise.all(workers.map((worker) => nextReport(worker)));
    const doubts = watchMachine(running.pid);
    const cpuBefore = cpuMicros(running.pid);
    const begin = performance.now();
    const done = Promise.all(workers.map((worker) => nextReport(worker, secondsMax * 1000)));
    for (const worker of workers) worker.postMessage('go');
    const late = setTimeout(() => {
      for (const worker of workers) worker.postMessage('stop');
    }, secondsMax * 1000);
    const reports = await done.finally(() => clearTimeout(late));
    const ms = performance.now() - begin;
    const micros = cpuMicros(running.pid) - cpuBefore;
    return outcomeOf(count, ms, micros, reports, doubts());
  } finally {
    await Promise.all(workers.map((worker) => worker.terminate()));
  }
}

function outcomeOf(
  count: number,
  ms: number,
  micros: number,
  reports: readonly StormReport[],
  doubts: readonly string[],
): Outcome {
  const sum = (key: keyof StormReport): number =>
    reports.reduce((total, report) => total + report[key], 0);
  const connected = sum('connected');
  const [refused, closed] = [sum('refused'), sum('closed')];
  const notes = [...doubts];
  if (count < clientsWanted) notes.push(`only ${count} clients: open files are limited`);
  if (connected < count) notes.push(`only ${connected} were connected after ${secondsMax} s`);
  if (refused > 0) notes.push(`${refused} attempts were refused and made again`);
  if (closed > 0) notes.push(`the broker closed ${closed} connections`);
  const figures = {
    ...(connected < count ? {} : { allConnectedMs: ms }),
    connectionsPerSecond: connected / (ms / 1000),
    cpuMicros: micros / connected,
  };
  return { figures, lost: 0, extra: 0, notes };
}

function startClients(order: StormOrder): Worker {
  return new Worker(new URL('storm-clients.ts', import.meta.url), { workerData: order });
}

/** First that it is ready; then what it has, when all are connected or it was told to stop. */
function nextReport(worker: Worker, workMs = 0): Promise<StormReport> {
  const { promise, resolve, reject } = Promise.withResolvers<StormReport>();
  const late = setTimeout(
    () => reject(new Error('Cannot go on with the storm: a thread of clients does not answer')),
    workMs + answerMs,
  );
  worker.once('message', resolve);
  worker.once('error', reject);
  return promise.finally(() => {
    clearTimeout(late);
    worker.off('message', resolve);
    worker.off('error', reject);
  });
}
