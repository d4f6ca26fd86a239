// bin/broker with workers that die as soon as they are started.

import { openLog } from '#base/log';
import { startThreadNode } from '#node/thread-node';
import { brokerCommand } from '../../src/cli/broker.ts';
import type { RunOptions } from '../../src/cli/run-options.ts';

await brokerCommand(process.argv.slice(2), () => Promise.resolve(run));

async function run({ settings }: RunOptions): Promise<void> {
  await using log = openLog(settings.log);
  await startThreadNode(
    settings,
    log,
    undefined,
    new URL('./stillborn-worker.ts', import.meta.url),
  );
}
