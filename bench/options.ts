// The command line of the comparison run.

import { parseArgs } from 'node:util';
import type { BrokerName } from './load.ts';

export interface Options {
  readonly loads: readonly string[];
  readonly seconds: number;
  readonly rounds: number;
  readonly brokers: readonly BrokerName[];
  readonly json: string | undefined;
  /** Undefined: as each load has it. */
  readonly mosquittoNodelay: boolean | undefined;
}

export const usage = `Usage: npm run bench -- [load ...] [option ...]

  load                  all of them when none is named: run with --list to see the names
  --seconds N           measured seconds of each run (3)
  --rounds N            runs of each load on each broker; the median counts (3)
  --only NAME           only "ours" or only "mosquitto"
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
  const unknown = names.find((name) => !known.includes(name));
  if (unknown !== undefined) {
    throw new RangeError(`Cannot find load "${unknown}": known are ${known.join(', ')}`);
  }
  return {
    loads: names.length > 0 ? names : known,
    seconds: between('seconds', values.seconds, 0.1, 600),
    rounds: Math.floor(between('rounds', values.rounds, 1, 100)),
    brokers: brokersOf(values.only),
    json: values.json,
    mosquittoNodelay: values['mosquitto-nodelay'],
  };
}

function brokersOf(only: string | undefined): BrokerName[] {
  if (only === undefined) return ['ours', 'mosquitto'];
  if (only === 'ours' || only === 'mosquitto') return [only];
  throw new RangeError(`Cannot run only "${only}": known are ours, mosquitto`);
}

function between(name: string, written: string, least: number, most: number): number {
  const value = Number(written);
  if (value >= least && value <= most) return value;
  throw new RangeError(`Cannot use --${name} "${written}": it must be ${least} to ${most}`);
}
