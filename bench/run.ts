// The comparison: every load on every broker, brokers alternating within a round so that whatever
// else the machine does hits both. Progress goes to stderr, the tables to stdout; the exit code is
// 1 when a run failed or a message was lost. A missed bar is for a reader to judge.

import { fork } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { fileURLToPath } from 'node:url';
import { accepting, brokers, freePort, killFamily } from './brokers.ts';
import type { Job } from './generator.ts';
import { type BrokerName, importLoad, type Load, loadNames, type Outcome } from './load.ts';
import { type Options, parseOptions } from './options.ts';
import { isSound, type Row, type Run, summarize } from './summary.ts';
import { renderOutcome, renderTables } from './table.ts';

/** Beyond the measured seconds: connecting, warming up, settling, disconnecting. */
const overheadSeconds = 120;
const generator = fileURLToPath(new URL('generator.ts', import.meta.url));

for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  // Leaving by exit() lets every started process be ended on the way out.
  process.once(signal, () => process.exit(130));
}
const asked = understand(process.argv.slice(2));
if (typeof asked === 'string') process.stdout.write(asked);
else await compare(asked);

function understand(args: readonly string[]): Options | string {
  try {
    return parseOptions(args, loadNames());
  } catch (error) {
    if (!(error instanceof RangeError || error instanceof TypeError)) throw error;
    console.error(error.message);
    process.exit(2);
  }
}

async function compare(options: Options): Promise<void> {
  const available = options.brokers.filter((name) => {
    const reason = brokers[name].missing();
    if (reason !== undefined) console.error(`Leaving out ${name}: ${reason}`);
    return reason === undefined;
  });
  const runs: Run[] = [];
  const rows: Row[] = [];
  for (const name of options.loads) {
    const load = await importLoad(name);
    const loadRuns = await runRounds(name, load, available, options);
    runs.push(...loadRuns);
    rows.push(summarize(name, load, loadRuns));
  }
  console.log(renderTables(rows));
  if (options.json !== undefined) writeJson(options.json, options, rows, runs);
  process.exitCode = runs.length > 0 && runs.every(isSound) ? 0 : 1;
}

async function runRounds(
  name: string,
  load: Load,
  available: readonly BrokerName[],
  options: Options,
): Promise<Run[]> {
  const runs: Run[] = [];
  const rounds = Math.min(options.rounds, load.roundsMax ?? options.rounds);
  for (let round = 1; round <= rounds; round++) {
    for (const broker of available) {
      if (load.brokers?.includes(broker) === false) continue;
      const run = await runOnce({ name, load, broker, round }, options);
      const said = run.outcome === undefined ? run.failure : renderOutcome(run.outcome);
      console.error(`${name} ${round}/${rounds} ${broker.padEnd(9)} ${said}`);
      runs.push(run);
    }
  }
  return runs;
}

async function runOnce(
  what: { name: string; load: Load; broker: BrokerName; round: number },
  options: Options,
): Promise<Run> {
  const { broker, round } = what;
  const base = { load: what.name, broker, round };
  try {
    const port = await freePort();
    const job = { load: what.name, target: { broker, port, pid: 0, seconds: options.seconds } };
    if (what.load.launches)
      return { ...base, outcome: await generate(job, what.load), failure: undefined };
    const running = brokers[broker].launch(port, {
      settings: what.load.settings ?? [],
      mosquittoNodelay: options.mosquittoNodelay ?? what.load.mosquittoNodelay ?? false,
    });
    try {
      await accepting(port, running);
      const target = { ...job.target, pid: running.pid };
      return {
        ...base,
        outcome: await generate({ ...job, target }, what.load),
        failure: undefined,
      };
    } finally {
      await running.stop();
    }
  } catch (error) {
    // One failed run is a line of the report, not the end of an hour of others.
    const failure = error instanceof Error ? error.message : String(error);
    return { ...base, outcome: undefined, failure };
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

function writeJson(
  file: string,
  options: Options,
  rows: readonly Row[],
  runs: readonly Run[],
): void {
  const machine = { cpu: cpus()[0]?.model, cores: cpus().length, node: process.version };
  const medians = rows.map(({ name, medians: figures, remarks }) => ({ name, figures, remarks }));
  const report = { at: new Date().toISOString(), machine, options, medians, runs };
  writeFileSync(file, `${JSON.stringify(report, null, 2)}\n`);
}
