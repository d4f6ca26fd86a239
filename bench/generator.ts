// The generator's process: runs one load against one broker, reports the outcome to the runner and
// ends. A process of its own per run, so that no run inherits another's heap or compiled code.

import { importLoad, type LoadFolder, type Target } from './load.ts';

/** What the runner asks for, as JSON in the first argument. */
export interface Job {
  readonly load: string;
  readonly folder: LoadFolder;
  readonly target: Target;
}

const job = JSON.parse(process.argv[2] ?? '') as Job;
const load = await importLoad(job.load, job.folder);
const outcome = await load.run(job.target);
process.send?.(outcome, () => process.exit(0));
