// The command line of the comparison run.

import { parseArgs } from 'node:util';
import type { BrokerName } from './load.ts';
import { type PartName, partNames } from './threads/trials.ts';

export interface Options {
  readonly loads: readonly string[];
  /** Ours with itself, by its number of workers; undefined: loads on brokers. */
  readonly threads: readonly PartName[] | undefined;
  readonly seconds: number;
  readonly rounds: number;
  readonly brokers: readonly BrokerName[];
  readonly json: string | undefined;
  /** Undefined: as each load has it. */
  readonly mosquittoNodelay: boolean | undefined;
}

export const usage: string = `Usage: npm run bench -- [load ...] [option ...]
       npm run bench -- threads [option ...]

  load                  all of them when none is named: run with --list to see the names
  threads               ours with 0, 1 and 2 workers, what crossing costs, connect storms
  --seconds N           measured seconds of each run (3)
  --rounds N            runs of each load on each broker; the median counts (3)
  --only NAME           only "ours" or only "mosquitto"; of threads some parts, as in "s1,storm":
                        ${partNames.join(', ')}
  --json FILE           write every run and the medians to FILE
  --mosquitto-nodelay   start Mosquitto with set_tcp_nodelay true, --no-mosquitto-nodelay with
                        false, whatever the load says
  --list                print the names of the loads
  --help                print this
`;

/** What to do; or, as text, what to print instead. Throws a RangeError that names the mistake. */
export function parseOptions(args: readonly string[], known: readonly string[]): Options | string {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    allowNegative: true,
    options: {
      seconds: { type: 'string', default: '3' },
      rounds: { type: 'string', default: '3' },
      only: { type: 'string' },
      json: { type: 'string' },
      'mosquitto-nodelay': { type: 'boolean' },
      list: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) return usage;
  if (values.list) return `${known.join('\n')}\n`;
  const names = positionals.map((name) => name.toLowerCase());
  const isThreads = names.includes('threads');
  if (isThreads && names.length > 1) {
    throw new RangeError('Cannot run threads beside loads: name its parts with --only');
  }
  const unknown = isThreads ? undefined : names.find((name) => !known.includes(name));
  if (unknown !== undefined) {
    throw new RangeError(`Cannot find load "${unknown}": known are ${known.join(', ')}, threads`);
  }
  return {
    loads: names.length > 0 ? names : known,
    threads: isThreads ? partsOf(values.only) : undefined,
    seconds: between('seconds', values.seconds, 0.1, 600),
    rounds: Math.floor(between('rounds', values.rounds, 1, 100)),
    brokers: isThreads ? ['ours'] : brokersOf(values.only),
    json: values.json,
    mosquittoNodelay: values['mosquitto-nodelay'],
  };
}

function brokersOf(only: string | undefined): BrokerName[] {
  if (only === undefined) return ['ours', 'mosquitto'];
  if (only === 'ours' || only === 'mosquitto') return [only];
  throw new RangeError(`Cannot run only "${only}": known are ours, mosquitto`);
}

function partsOf(only: string | undefined): readonly PartName[] {
  if (only === undefined || only === 'ours') return partNames;
  const wanted = only.toLowerCase().split(',');
  const unknown = wanted.find((name) => !partNames.some((part) => part === name));
  if (unknown !== undefined) {
    const known = partNames.join(', ');
    throw new RangeError(`Cannot run only "${unknown}" of threads: known are ${known}`);
  }
  return partNames.filter((part) => wanted.includes(part));
}

function between(name: string, written: string, least: number, most: number): number {
  const value = Number(written);
  if (value >= least && value <= most) return value;
  throw new RangeError(`Cannot use --${name} "${written}": it must be ${least} to ${most}`);
}
