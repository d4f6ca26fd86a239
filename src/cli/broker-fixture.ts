// The program `broker` around a broker that does nothing: for the tests of the command line.
// A node whose name begins with `broken` fails to start.

import { brokerCommand } from './broker.ts';
import type { Run } from './run-options.ts';

const run: Run = async ({ settings, stopping, onReady, configFile, version }) => {
  const { name } = settings.node;
  if (name.startsWith('broken')) throw new Error('Cannot listen on 127.0.0.1:1: it is broken');
  const { to: log } = settings.log;
  if (log !== 'off') console.log(JSON.stringify({ name, configFile, version, log }));
  const alive = setInterval(() => {}, 1000);
  onReady(['mqtt:tcp 127.0.0.1:1']);
  await new Promise((stopped) => stopping.addEventListener('abort', stopped));
  clearInterval(alive);
};

await brokerCommand(process.argv.slice(2), async () => run);
