// bin/broker that tells in which worker each client is: the words of the command line and the node are
// the real ones. Whoever connects to a socket in the data directory is told once, as JSON.

import { once } from 'node:events';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { openLog } from '#base/log';
import { rowsIn } from '#node/row-columns';
import { startThreadNode } from '#node/thread-node';
import { brokerCommand } from '../../src/cli/broker.ts';
import type { RunOptions } from '../../src/cli/run-options.ts';
import { type Places, placesSocket } from './places.ts';

/** As in src/main.ts, or a message would cost more here than in the broker that is shipped. */
const inlinedBytecodeMax = 3000;
const answerMs = 5000;

await brokerCommand(process.argv.slice(2), () => Promise.resolve(run));

async function run({ settings, stopping, onReady }: RunOptions): Promise<void> {
  setFlagsFromString(`--max-inlined-bytecode-size-cumulative=${inlinedBytecodeMax}`);
  await using log = openLog(settings.log);
  const node = await startThreadNode(settings, log);
  const server = createServer((socket) => {
    // Whoever asked may be gone by now.
    socket.on('error', () => undefined);
    // One slice has all of them, see `openPairs`.
    const asked = node.workers.everywhere('list', ['connections', undefined], answerMs);
    void asked.then(({ answers }) => {
      const places: Places = answers.map(([, { columns }]) =>
        rowsIn(columns).map(({ clientId }) => `${clientId}`),
      );
      socket.end(JSON.stringify(places));
    });
  });
  server.listen(join(settings.node.dataDir, placesSocket));
  onReady([]);
  await Promise.race([once(stopping, 'abort'), node.failed]);
  server.close();
  await node.stop();
}
