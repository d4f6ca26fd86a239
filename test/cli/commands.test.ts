// What commands do, besides what they print: in one thread, and in all workers of several.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import test from 'node:test';
import mqtt from 'mqtt';
import { type CtlNode, startCtlNode } from './ctl-node.ts';

/** So many that both workers have some of them. */
const clients = 8;

async function connectAll(node: CtlNode, prefix: string): Promise<void> {
  for (let i = 0; i < clients; i++) await node.client(`${prefix}-${i}`);
}

function loggedCount(node: CtlNode, prefix: string): number {
  const found = node.logged().filter((line) => line.includes('"event":"client.connected"'));
  return found.filter((line) => line.includes(`"clientId":"${prefix}-`)).length;
}

async function done(node: CtlNode, words: string): Promise<void> {
  const { exitCode, err } = await node.ctl(words.split(' '));
  assert.deepEqual([exitCode, err], [0, ''], words);
}

for (const workers of [0, 2]) {
  test(`log levels hold in all of ${workers} workers, from the command on`, async () => {
    await using node = await startCtlNode(workers);
    await connectAll(node, 'before');
    await done(node, 'log primary-level debug');
    await connectAll(node, 'loud');
    await node.until(() => loggedCount(node, 'loud') === clients);
    await done(node, 'log primary-level warning');
    await connectAll(node, 'quiet');
    await done(node, 'log set-level debug');
    await done(node, 'log handlers set-level file error');
    await connectAll(node, 'kept-out');
    // What workers have to say of it has arrived behind their answers.
    await node.node.workers.everywhere('status', []);
    await done(node, 'log handlers set-level file debug');
    await connectAll(node, 'last');
    await node.until(() => loggedCount(node, 'last') === clients);
    const others = ['before', 'quiet', 'kept-out'].map((prefix) => loggedCount(node, prefix));
    assert.deepEqual(others, [0, 0, 0]);
  });

  test(`listeners stop closes the port in all of ${workers} workers, and nothing else`, async () => {
    await using node = await startCtlNode(workers);
    const port = node.node.ports[1] ?? 0;
    const staying = await mqtt.connectAsync({ host: '127.0.0.1', port, reconnectPeriod: 0 });
    try {
      await done(node, `listeners stop mqtt:tcp ${port}`);
      for (let i = 0; i < clients; i++) {
        const [error] = (await once(connect(port, '127.0.0.1'), 'error')) as [{ code: string }];
        assert.equal(error.code, 'ECONNREFUSED');
      }
      await staying.publishAsync('still/here', 'x', { qos: 1 });
      await node.client('by the other door');
    } finally {
      await staying.endAsync();
    }
  });
}
