// npm run test:crash -- --rounds 1000 --seed 7 --set node.workers=3
//
// Many rounds in one go, with progress and figures; the exit code is 1 when a law was broken.

import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { BrokerProcess } from './broker-under-test.ts';
import { crashRun } from './crash-run.ts';
import { CutOffBroker } from './cut-off-broker.ts';
import { deathRun, mortalBroker } from './death-run.ts';
import { TraceFile } from './trace.ts';

const usage = `Usage: npm run test:crash -- [option ...]

  --rounds N       how often the broker is ended (1000)
  --seed N         repeats the choices of a run (drawn by chance)
  --set KEY=VALUE  a setting of the broker; as often as needed
  --entry FILE     a program, or a script (.ts), to run in place of bin/broker
  --deaths N       let N workers die in place of the process, one after another
  --cut-only       cut the connections and let the process live: is it about the crash at all?
  --go-on          do all rounds, whatever breaks
  --trace          write every packet to a file beside the log
  --keep           keep log and data of a run without a fault as well
  --help           print this
`;

const deathWorkers = 3;

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '1000' },
    seed: { type: 'string' },
    set: { type: 'string', multiple: true, default: [] },
    entry: { type: 'string' },
    deaths: { type: 'string' },
    'cut-only': { type: 'boolean', default: false },
    'go-on': { type: 'boolean', default: false },
    trace: { type: 'boolean', default: false },
    keep: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});
if (values.help) print(usage.trimEnd());
else process.exitCode = await (values.deaths === undefined ? run() : runDeaths());

async function run(): Promise<number> {
  const rounds = Number(values.rounds);
  const seed = Number(values.seed ?? (Math.random() * 0x7fff_ffff) | 0);
  if (!Number.isInteger(rounds) || rounds < 1 || !Number.isInteger(seed)) {
    print(
      `Cannot use --rounds "${values.rounds}" --seed "${values.seed}": both must be whole numbers`,
    );
    return 2;
  }
  const inner = new BrokerProcess({ sets: values.set, entry: values.entry });
  await using broker = values['cut-only'] ? new CutOffBroker(inner) : inner;
  print(`Seed ${seed}, ${rounds} rounds; log and data in ${broker.place}`);
  using trace = values.trace ? new TraceFile(join(broker.place, 'packets.log')) : undefined;
  const begin = performance.now();
  const { figures, violations, failure } = await crashRun({
    rounds,
    seed,
    broker,
    ...(values['go-on'] && { isEnough: () => false }),
    trace: trace && ((line) => trace.write(line)),
    onRound: (so) => {
      const seconds = ((performance.now() - begin) / 1000).toFixed(0);
      if (so.rounds % 10 === 0) print(`${seconds} s: ${so.line}`);
    },
  });
  broker.isKept ||= values.keep;
  print(`\n${figures.summary(violations.counts)}`);
  if (failure !== undefined) print(`\n${failure}`);
  return failure === undefined ? 0 : 1;
}

async function runDeaths(): Promise<number> {
  const rounds = Number(values.deaths);
  const seed = Number(values.seed ?? (Math.random() * 0x7fff_ffff) | 0);
  if (!Number.isInteger(rounds) || rounds < 1 || !Number.isInteger(seed)) {
    print(
      `Cannot use --deaths "${values.deaths}" --seed "${values.seed}": both must be whole numbers`,
    );
    return 2;
  }
  await using broker = mortalBroker(deathWorkers, values.set);
  print(`Seed ${seed}, ${rounds} deaths; log and data in ${broker.place}`);
  using trace = values.trace ? new TraceFile(join(broker.place, 'packets.log')) : undefined;
  const { figures, violations, failure } = await deathRun({
    rounds,
    seed,
    broker,
    workers: deathWorkers,
    ...(values['go-on'] && { isEnough: () => false }),
    trace: trace && ((line) => trace.write(line)),
    onRound: (line) => print(line),
  });
  broker.isKept ||= values.keep;
  print(`\n${figures.summary(violations.counts)}`);
  if (failure !== undefined) print(`\n${failure}`);
  return failure === undefined ? 0 : 1;
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}
