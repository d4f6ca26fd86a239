// Loaded into every test process. A test that leaves a server, socket or timer behind would keep its
// process alive for ever, and node waits: so once all tests of the file are done, the file has a few
// seconds to fall silent, and then fails with the kinds of things that still hold it.

import { after } from 'node:test';
import { isMainThread } from 'node:worker_threads';

const graceMs = 5000;

if (isMainThread && process.env.NODE_TEST_CONTEXT === 'child-v8') {
  after(() => {
    // Unreferenced: it fires only when something else keeps the process alive.
    setTimeout(() => {
      const held = [...new Set(process.getActiveResourcesInfo())]
        .filter((kind) => kind !== 'PipeWrap')
        .join(', ');
      console.error(`The tests are done, but the process cannot end: close what is left (${held})`);
      process.exit(1);
    }, graceMs).unref();
  });
}
