// A whole node for tests of `broker_ctl`: two listeners, a log file, and a few clients that are always
// the same. Its volatile values (ports, times, directories) can be masked in what it prints.

import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import mqtt, { type MqttClient } from 'mqtt';
import { openLog, type RootLogger } from '#base/log';
import { loadPluginsConfig } from '#plugin/load-config';
import type { NodeFace } from '#node/node-face';
import { callNode } from '../../src/cli/ctl-call.ts';
import { type ManagedNode, startManagedNode } from '../../src/managed-node.ts';

const deadlineMs = 10_000;

export interface CtlAnswer {
  readonly out: string;
  readonly err: string;
  readonly exitCode: number;
}

export async function startCtlNode(workers: number): Promise<CtlNode> {
  const root = mkdtempSync(join(tmpdir(), 'broker-ctl-'));
  const sets = [
    `node.workers=${workers}`,
    `node.data_dir=${join(root, 'data')}`,
    `log.dir=${join(root, 'log')}`,
    'log.to=file',
    'listener.tcp.external=127.0.0.1:0',
    'listener.tcp.internal=127.0.0.1:0',
    'allow_anonymous=true',
    'acl_nomatch=allow',
    'management.listener.http=127.0.0.1:0',
    'dashboard.listener.http=off',
  ];
  const { settings, effective, plugins, keys } = await loadPluginsConfig({ sets });
  const log = openLog(settings.log);
  const parts = {
    ...{ settings, effective, configFile: '', found: plugins, keys, version: '0.1.0', log },
  };
  try {
    return new CtlNode(root, await startManagedNode(parts), log);
  } catch (error) {
    await log[Symbol.asyncDispose]();
    rmSync(root, { recursive: true, force: true });
    throw error;
  }
}

export class CtlNode implements AsyncDisposable {
  readonly root: string;
  readonly dataDir: string;
  readonly node: NodeFace;
  readonly #whole: ManagedNode;
  readonly #log: RootLogger;
  readonly #clients: MqttClient[] = [];

  constructor(root: string, whole: ManagedNode, log: RootLogger) {
    this.root = root;
    this.dataDir = join(root, 'data');
    this.node = whole.node;
    this.#whole = whole;
    this.#log = log;
  }

  async ctl(args: readonly string[], json = false): Promise<CtlAnswer> {
    const said = { out: '', err: '' };
    const outcome = await callNode(
      this.dataDir,
      { args, json },
      {
        out: async (text) => void (said.out += text),
        err: async (text) => void (said.err += text),
      },
    );
    assert.ok(typeof outcome === 'object', JSON.stringify(outcome));
    return { ...said, exitCode: outcome.exitCode };
  }

  async client(clientId: string, options: mqtt.IClientOptions = {}): Promise<MqttClient> {
    const [port = 0] = this.node.ports;
    const client = await mqtt.connectAsync({
      ...options,
      clientId,
      host: '127.0.0.1',
      port,
      reconnectPeriod: 0,
    });
    this.#clients.push(client);
    return client;
  }

  /** c1: subscribed; c2: a session without a client; c3: for whoever wants to kick; a retained message. */
  async populate(): Promise<void> {
    const c1 = await this.client('c1', { username: 'u1' });
    await c1.subscribeAsync('t/+/x', { qos: 1 });
    const lasting = { properties: { sessionExpiryInterval: 3600 }, clean: false } as const;
    const c2 = await this.client('c2', { ...lasting, protocolVersion: 5 });
    await c2.subscribeAsync(['t/y', '$share/g/s/#'], { qos: 0 });
    await c1.publishAsync('r/1', 'kept', { qos: 1, retain: true });
    await c2.endAsync();
    await this.client('c3');
    await this.until(async () => (await this.#connections()) === 2);
  }

  /** As the counters and the listeners of the node see them. */
  async #connections(): Promise<number> {
    const { answers } = await this.node.workers.everywhere('listeners', []);
    const open = answers.flatMap(([, reports]) => reports.map((one) => one.currentConns));
    return Math.max(
      open.reduce((sum, count) => sum + count, 0),
      this.node.stats()['connections/count'] ?? 0,
    );
  }

  /** Looks again and again, up to a deadline. */
  async until(isSo: () => boolean | Promise<boolean>): Promise<void> {
    const endMs = performance.now() + deadlineMs;
    while (!(await isSo())) {
      assert.ok(performance.now() < endMs, `it is not so after ${deadlineMs} ms`);
      await new Promise(setImmediate);
    }
  }

  /** What a test compares must be the same in every run. */
  masked(text: string): string {
    const ports = [...this.node.ports, ...this.#whole.doors.ports.map(({ port }) => port)];
    let masked = text.replaceAll(this.root, '<dir>');
    ports.forEach((port, i) => {
      masked = masked.replaceAll(new RegExp(`\\b${port}\\b`, 'g'), `<port ${i + 1}>`);
    });
    return masked
      .replaceAll(/\d{4}-\d\d-\d\d \d\d:\d\d:\d\d/g, '<time>')
      .replaceAll(/\b\d+ seconds\b/g, '<uptime>')
      .replaceAll(/\b1\d{12}\b/g, '<ms>')
      .replaceAll(/\b1\d{9}\b/g, '<s>')
      .replaceAll(/(127\.0\.0\.1):\d+/g, '$1:<port>')
      .replaceAll(/(AppSecret: )\S+/g, '$1<secret>')
      .replaceAll(/\brule:[0-9a-f]{8}\b/g, 'rule:<hex>')
      .replaceAll(/\b(inspect|republish|do_nothing)_\d+/g, '$1_<n>');
  }

  /** Lines of its log file that have been written so far. */
  logged(): readonly string[] {
    const file = join(this.root, 'log', 'broker.log');
    // It is made with its first line.
    return existsSync(file) ? readFileSync(file, 'utf8').split('\n') : [];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const client of this.#clients) await client.endAsync(true);
    await this.#whole[Symbol.asyncDispose]();
    await this.#log[Symbol.asyncDispose]();
    rmSync(this.root, { recursive: true, force: true });
  }
}
