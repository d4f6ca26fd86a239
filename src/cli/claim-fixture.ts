// A process that claims data directories when it is told to: for the test of brokers that start
// together. A message is a directory and the moment at which all of them claim it.

import { claimPidFile } from './pid-file.ts';

process.on('message', ([dataDir, atMs]: [string, number]) => {
  // At once means at once: a timer would spread them.
  while (Date.now() < atMs);
  try {
    claimPidFile(dataDir);
    process.send?.('claimed');
  } catch (error) {
    process.send?.((error as Error).message);
  }
});
process.send?.('ready');
