// A whole node with its management, for tests: real threads where they are asked for, real sockets, a data
// directory of its own, and one application. Law: an error that the node logged, that is a fault of its
// own, fails the test.

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { type IncomingHttpHeaders, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createLog, type RootLogger } from '#base/log';
import { loadPluginsConfig } from '#plugin/load-config';
import type { NodeFace } from '#node/node-face';
import type { AdminParts } from '#admin/parts';
import { callNode } from '../../src/cli/ctl-call.ts';
import { type ManagedNode, startManagedNode } from '../../src/managed-node.ts';

export interface ManagedOptions {
  /** 0: everything in one thread. */
  readonly workers?: number;
  /** `key=value` by key, as in the configuration. */
  readonly settings?: Readonly<Record<string, string>>;
  /** The lines of a configuration file; otherwise there is none. */
  readonly conf?: string;
  /** One that is kept; otherwise it goes with the node. */
  readonly dir?: string;
  /** Events of level error that the test provokes. */
  readonly expectedErrors?: readonly string[];
}

export interface HttpAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  /** Parsed, where it is JSON. */
  readonly body: Envelope;
}

/** What a test looks into: it asserts what is there. */
export interface Envelope {
  readonly code: number;
  readonly data?: unknown;
  readonly meta?: { readonly page: number; readonly limit: number; readonly count: number };
  readonly message?: string;
}

export interface CtlOutcome {
  readonly stdout: string;
  readonly stderr: string;
  readonly code: number;
}

export interface AskOptions {
  readonly headers?: Readonly<Record<string, string>>;
  /** `name:secret`; empty: none. */
  readonly auth?: string;
  /** Sent as it is, in place of JSON. */
  readonly raw?: string | Buffer;
  readonly port?: number;
}

export async function startManaged(options: ManagedOptions = {}): Promise<Managed> {
  const dir = options.dir ?? mkdtempSync(join(tmpdir(), 'broker-managed-'));
  const wanted: Record<string, string> = {
    'node.workers': String(options.workers ?? 0),
    'node.data_dir': join(dir, 'data'),
    'log.dir': join(dir, 'log'),
    'listener.tcp.external': '127.0.0.1:0',
    'management.listener.http': '127.0.0.1:0',
    'management.default_application.id': testId,
    'management.default_application.secret': testSecret,
    ...options.settings,
  };
  const sets = Object.entries(wanted).map(([key, value]) => `${key}=${value}`);
  const configFile = options.conf === undefined ? '' : writeConf(dir, options.conf);
  const { settings, effective, plugins, keys } = await loadPluginsConfig({
    configFile: configFile || undefined,
    sets,
  });
  const lines: string[] = [];
  const sink = {
    write: (line: string): void => void lines.push(line),
    async [Symbol.asyncDispose]() {},
  };
  const log = createLog('debug', [{ from: 'trace', sink }]);
  const parts = { settings, effective, configFile, found: plugins, keys, version: '0.0.0', log };
  try {
    const whole = await startManagedNode(parts);
    return new Managed(whole, `${testId}:${testSecret}`, { lines, log, dir, options });
  } catch (error) {
    if (options.dir === undefined) rmSync(dir, { recursive: true, force: true });
    throw error;
  }
}

function writeConf(dir: string, lines: string): string {
  const file = join(dir, 'broker.conf');
  writeFileSync(file, lines);
  return file;
}

const testSecret = 'known-to-tests-only';
const testId = 'test';

interface Belongings {
  readonly lines: readonly string[];
  readonly log: RootLogger;
  readonly dir: string;
  readonly options: ManagedOptions;
}

export class Managed implements AsyncDisposable {
  readonly node: NodeFace;
  readonly parts: AdminParts;
  /** `name:secret`, as curl takes it. */
  readonly auth: string;
  /** With the prefix: `http://127.0.0.1:12345/api/v3`. */
  readonly url: string;
  readonly httpPort: number;
  /** Of the first listener. */
  readonly mqttPort: number;
  readonly whole: ManagedNode;
  readonly #belongings: Belongings;
  #isClosed = false;

  constructor(whole: ManagedNode, auth: string, belongings: Belongings) {
    this.whole = whole;
    this.node = whole.node;
    this.parts = whole.management.parts;
    this.auth = auth;
    this.#belongings = belongings;
    this.httpPort = this.portOf('management');
    this.url = `http://127.0.0.1:${this.httpPort}/api/v3`;
    this.mqttPort = whole.node.ports[0] ?? 0;
  }

  portOf(owner: 'management' | 'dashboard', isTls = false): number {
    const { ports } = this.whole.doors;
    const found = ports.find(
      ({ settings }) => settings.owner === owner && (settings.tls !== undefined) === isTls,
    );
    return found?.port ?? 0;
  }

  get dir(): string {
    return this.#belongings.dir;
  }

  /** Lines of its log, each a JSON text. */
  get logged(): readonly string[] {
    return this.#belongings.lines;
  }

  get(path: string, options: AskOptions = {}): Promise<HttpAnswer> {
    return this.ask('GET', path, undefined, options);
  }

  post(path: string, body?: unknown, options: AskOptions = {}): Promise<HttpAnswer> {
    return this.ask('POST', path, body, options);
  }

  put(path: string, body?: unknown, options: AskOptions = {}): Promise<HttpAnswer> {
    return this.ask('PUT', path, body, options);
  }

  delete(path: string, body?: unknown, options: AskOptions = {}): Promise<HttpAnswer> {
    return this.ask('DELETE', path, body, options);
  }

  /** `path` is below /api/v3; one that begins with `@` is whole: `@/status`. */
  ask(
    method: string,
    path: string,
    body: unknown,
    { headers = {}, auth = this.auth, raw, port = this.httpPort }: AskOptions = {},
  ): Promise<HttpAnswer> {
    const bytes = raw ?? (body === undefined ? undefined : JSON.stringify(body));
    const { promise, resolve, reject } = Promise.withResolvers<HttpAnswer>();
    const asked = request({
      host: '127.0.0.1',
      port,
      method,
      path: path.startsWith('@') ? path.slice(1) : `/api/v3${path}`,
      headers: {
        ...(auth === '' ? {} : { authorization: basic(auth) }),
        ...(bytes === undefined ? {} : { 'content-length': Buffer.byteLength(bytes) }),
        connection: 'close',
        ...headers,
      },
    });
    asked.on('error', reject);
    asked.on('response', (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('error', reject);
      response.on('end', () => {
        const text = Buffer.concat(chunks).toString();
        const { statusCode: status = 0, headers: found } = response;
        const isJson = found['content-type'] === 'application/json' && text !== '';
        const parsed = (isJson ? JSON.parse(text) : { code: -1 }) as Envelope;
        resolve({ status, headers: found, text, body: parsed });
      });
    });
    asked.end(bytes);
    return promise;
  }

  /** Has the node run a command as `broker_ctl` does. */
  async ctl(...args: readonly string[]): Promise<CtlOutcome> {
    const said = { stdout: '', stderr: '' };
    const { dataDir } = this.parts.settings.node;
    const outcome = await callNode(
      dataDir,
      { args, json: false },
      {
        out: async (text) => void (said.stdout += text),
        err: async (text) => void (said.stderr += text),
      },
    );
    if (typeof outcome === 'string') assert.fail(`The node is ${outcome}`);
    return { ...said, code: outcome.exitCode };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    const { log, dir, options, lines } = this.#belongings;
    await this.whole[Symbol.asyncDispose]();
    await log[Symbol.asyncDispose]();
    if (options.dir === undefined) rmSync(dir, { recursive: true, force: true });
    const faults = lines
      .map((line) => JSON.parse(line) as { readonly level: string; readonly event: string })
      .filter(({ level, event }) => level === 'error' && !options.expectedErrors?.includes(event));
    assert.deepEqual(faults, [], 'The node logged errors');
  }
}

export function basic(auth: string): string {
  return `Basic ${Buffer.from(auth).toString('base64')}`;
}
