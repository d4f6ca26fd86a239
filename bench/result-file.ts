// What `--json` writes: the machine, the options, and whatever a comparison found.

import { writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import type { Options } from './options.ts';

export function writeResult(file: string, options: Options, found: object): void {
  const machine = { cpu: cpus()[0]?.model, cores: cpus().length, node: process.version };
  const report = { at: new Date().toISOString(), machine, options, ...found };
  writeFileSync(file, `${JSON.stringify(report, null, 2)}\n`);
}
