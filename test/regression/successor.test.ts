// A worker that takes the place of a dead one, in a thread of its own: what the node upholds holds there
// before anybody is let in. One worker alone, so that every client is with the successor.

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'node:test';
import { BroadcastChannel } from 'node:worker_threads';
import { createLog } from '#base/log';
import { Reason } from '#wire/reason-codes';
import { loadSettings } from '#config/load';
import type { BeforeListening, NodeFace } from '#node/node-face';
import { startThreadNode } from '#node/thread-node';
import { RawClient } from '#test/raw-client';
import { Watch } from '#test/watch';
import { deathChannel, type DeathOrder } from '../crash/death-order.ts';

const entry = new URL('../crash/mortal-worker.ts', import.meta.url);
const deadlineMs = 20_000;

/** A node of one worker that can be killed. */
class Mortal implements AsyncDisposable {
  readonly node: NodeFace;
  readonly #lines: readonly string[];
  readonly #watch: Watch;
  readonly #dir: string;

  constructor(node: NodeFace, lines: readonly string[], watch: Watch, dir: string) {
    this.node = node;
    this.#lines = lines;
    this.#watch = watch;
    this.#dir = dir;
  }

  static async start(before?: BeforeListening): Promise<Mortal> {
    const dir = mkdtempSync(join(tmpdir(), 'broker-successor-'));
    const settings = loadSettings({
      sets: [
        'node.workers=1',
        `node.data_dir=${dir}`,
        'listener.tcp.external=127.0.0.1:0',
        'allow_anonymous=true',
        'acl_nomatch=allow',
        'zone.external.enable_ban=on',
      ],
    });
    const lines: string[] = [];
    const watch = new Watch();
    const sink = {
      write(line: string): void {
        lines.push(line);
        watch.wake();
      },
      async [Symbol.asyncDispose]() {},
    };
    const log = createLog('info', [{ from: 'trace', sink }]);
    return new Mortal(await startThreadNode(settings, log, before, entry), lines, watch, dir);
  }

  /** Resolves when the successor serves. */
  async kill(): Promise<void> {
    const order: DeathOrder = { worker: 0, manner: 'exit' };
    const deaths = new BroadcastChannel(deathChannel);
    deaths.postMessage(order);
    const isServing = (): true | undefined =>
      this.#lines.some((line) => line.includes('worker.restarted')) || undefined;
    await this.#watch.until(isServing, deadlineMs, () => new Error('Cannot see a successor'));
    deaths.close();
  }

  async client(clientId: string): Promise<RawClient> {
    const client = await RawClient.open(this.node.ports[0] ?? 0);
    await client.connect({ clientId });
    return client;
  }

  async codeFor(clientId: string): Promise<number> {
    await using client = await RawClient.open(this.node.ports[0] ?? 0);
    return (await client.connect({ clientId })).reasonCode;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.node.stop();
    rmSync(this.#dir, { recursive: true, force: true });
  }
}

test('a successor has bans, presence and retained system messages', async () => {
  const version = { topic: '$SYS/brokers/x/version', payload: 'v1', qos: 0, retain: true } as const;
  await using mortal = await Mortal.start(async (workers) => {
    await workers.uphold('setBans', [[{ as: 'client_id', who: 'banned', until: undefined }]]);
    await workers.uphold('presence', [1]);
    await workers.uphold('retainSystem', [[version]]);
  });
  const check = async (): Promise<void> => {
    assert.equal(await mortal.codeFor('banned'), Reason.banned);
    await using reader = await mortal.client('reader');
    await reader.subscribe(['$SYS/brokers/x/#', '$SYS/brokers/+/clients/+/connected']);
    assert.equal((await reader.receive()).payload.toString(), 'v1');
    await using _guest = await mortal.client('guest');
    assert.match((await reader.receive()).topic, /\/clients\/guest\/connected$/);
  };
  await check();
  await mortal.kill();
  await check();
});

test('a node of one worker counts each retained message once, also after its death', async () => {
  await using mortal = await Mortal.start();
  const { node } = mortal;
  await using client = await mortal.client('publisher');
  for (const topic of ['a', 'b']) await client.publish(topic, 'kept', { qos: 1, retain: true });
  const counts = (): unknown[] => [
    node.stats()['retained/count'],
    node.metrics()['messages/retained'],
  ];
  assert.deepEqual(counts(), [2, 2]);
  await mortal.kill();
  assert.deepEqual(counts(), [2, 2]);
});
