// One run of one load: a fresh broker, unless the load launches its own, and a fresh generator
// process that is ended when it takes too long. A failed run is an answer, not an exception.

import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { accepting, brokers, freePort, killFamily } from './brokers.ts';
import type { Job } from './generator.ts';
import type { BrokerName, Load, LoadFolder, Outcome } from './load.ts';
import type { Options } from './options.ts';

export interface Order {
  readonly name: string;
  readonly folder: LoadFolder;
  readonly load: Load;
  readonly broker: BrokerName;
  /** `key=value` for our broker, beyond those of the load. */
  readonly settings?: readonly string[];
  readonly variant?: string;
}

/** Without an outcome the run failed, and `failure` says why. */
export interface Attempt {
  readonly outcome: Outcome | undefined;
  readonly failure: string | undefined;
}

/** Beyond the measured seconds: connecting, warming up, settling, disconnecting. */
const overheadSeconds = 120;
const generator = fileURLToPath(new URL('generator.ts', import.meta.url));

export async function runOnce(order: Order, options: Options): Promise<Attempt> {
  try {
    return { outcome: await launchAndRun(order, options), failure: undefined };
  } catch (error) {
    // One failed run is a line of the report, not the end of an hour of others.
    const failure = error instanceof Error ? error.message : String(error);
    return { outcome: undefined, failure };
  }
}

async function launchAndRun(order: Order, options: Options): Promise<Outcome> {
  const { name, folder, load, broker, settings = [] } = order;
  const port = await freePort();
  const variant = order.variant === undefined ? {} : { variant: order.variant };
  const target = { broker, port, pid: 0, seconds: options.seconds, settings, ...variant };
  if (load.launches) return generate({ load: name, folder, target }, load);
  const running = brokers[broker].launch(port, {
    settings: [...(load.settings ?? []), ...settings],
    mosquittoNodelay: options.mosquittoNodelay ?? load.mosquittoNodelay ?? false,
  });
  try {
    await accepting(port, running);
    const job = { load: name, folder, target: { ...target, pid: running.pid } };
    return await generate(job, load);
  } finally {
    await running.stop();
  }
}

/** Runs one job in a process of its own, and ends that process when it takes too long. */
function generate(job: Job, load: Load): Promise<Outcome> {
  const { promise, resolve, reject } = Promise.withResolvers<Outcome>();
  // A larger young generation: the generator's own collections must not cost rate or latency.
  const child = fork(generator, [JSON.stringify(job)], {
    execArgv: ['--max-semi-space-size=64'],
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
  });
  const kill = (): void => killFamily(child, 'SIGKILL');
  process.once('exit', kill);
  const seconds = job.target.seconds + (load.overheadSeconds ?? overheadSeconds);
  const deadline = setTimeout(kill, seconds * 1000);
  let complaint = '';
  child.stderr?.on('data', (chunk: Buffer) => {
    complaint = (complaint + chunk.toString()).slice(-2000);
  });
  child.once('message', (outcome) => resolve(outcome as Outcome));
  child.once('error', reject);
  child.once('close', (code, signal) => {
    const cause = /^\w*Error: (.*)$/m.exec(complaint)?.[1] ?? complaint.trim();
    reject(new Error(`Cannot finish load "${job.load}": ended by ${signal ?? code}, ${cause}`));
  });
  return promise.finally(() => {
    clearTimeout(deadline);
    process.off('exit', kill);
  });
}
