// The comparison: every load on every broker, brokers alternating within a round so that whatever
// else the machine does hits both. Progress goes to stderr, the tables to stdout; the exit code is
// 1 when a run failed or a message was lost. A missed bar is for a reader to judge.

import { brokers } from './brokers.ts';
import { type BrokerName, importLoad, type Load, loadNames } from './load.ts';
import { runOnce } from './one-run.ts';
import { type Options, parseOptions } from './options.ts';
import { writeResult } from './result-file.ts';
import { isSound, type Row, type Run, summarize } from './summary.ts';
import { renderOutcome, renderTables } from './table.ts';
import { compareThreads } from './threads/compare.ts';

for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  // Leaving by exit() lets every started process be ended on the way out.
  process.once(signal, () => process.exit(130));
}
const asked = understand(process.argv.slice(2));
if (typeof asked === 'string') process.stdout.write(asked);
else if (asked.threads !== undefined) await compareThreads(asked.threads, asked);
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
  if (options.json !== undefined) {
    const medians = rows.map(({ name, medians: figures, remarks }) => ({ name, figures, remarks }));
    writeResult(options.json, options, { medians, runs });
  }
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
      const attempt = await runOnce({ name, folder: 'loads', load, broker }, options);
      const said = attempt.outcome ? renderOutcome(attempt.outcome) : attempt.failure;
      console.error(`${name} ${round}/${rounds} ${broker.padEnd(9)} ${said}`);
      runs.push({ load: name, broker, round, ...attempt });
    }
  }
  return runs;
}
