// A node with this plugin, and clients that show it tokens.

import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Managed, startManaged } from '#test/managed';
import { type ConnectOptions, RawClient } from '#test/raw-client';

export const good = 0;
export const notAuthorized = 0x87;
export const unavailable = 0x88;
const waitMsMax = 30_000;

type Settings = Readonly<Record<string, string>>;

/** `settings`: the keys below `auth.jwt.`, and others by their whole name. */
export function startWith(
  workers: number,
  settings: Settings,
  expectedErrors: readonly string[] = [],
): Promise<Managed> {
  return startManaged({
    workers,
    expectedErrors,
    settings: {
      allow_anonymous: 'false',
      acl_nomatch: 'allow',
      'plugins.loaded': 'broker_management,broker_auth_jwt',
      ...Object.fromEntries(
        Object.entries(settings).map(([key, value]) => [key.replace(/^jwt\./, 'auth.jwt.'), value]),
      ),
    },
  });
}

export interface ShowOptions extends ConnectOptions {
  readonly version?: 3 | 4 | 5;
}

/** With the token as the password. */
export async function show(
  { mqttPort }: Managed,
  token: string | undefined,
  { version = 5, ...options }: ShowOptions = {},
): Promise<RawClient> {
  const client = await RawClient.open(mqttPort, version);
  const password = token === undefined ? {} : { password: Buffer.from(token) };
  // MQTT 3 has no password without a username.
  await client.connect({ username: 'ann', ...password, ...options });
  return client;
}

/** What the CONNACK says, to a client that leaves again. */
export async function codeOf(...shown: Parameters<typeof show>): Promise<number | undefined> {
  await using client = await show(...shown);
  return client.connack?.reasonCode;
}

/** Looks again and again until it is so. */
export async function until(look: () => Promise<boolean>, what: string): Promise<void> {
  const lateMs = Date.now() + waitMsMax;
  while (!(await look())) {
    if (Date.now() > lateMs) throw new Error(`Cannot see that ${what}: not after ${waitMsMax} ms`);
    await new Promise((resolve) => setImmediate(resolve));
  }
}

export async function metricsOf(managed: Managed): Promise<Readonly<Record<string, number>>> {
  const { body } = await managed.get('/metrics');
  const [first] = body.data as [{ readonly metrics: Record<string, number> }];
  return first.metrics;
}

export function alarmsOf({ node }: Managed): string[] {
  return node.alarms
    .present()
    .map(({ name }) => name)
    .filter((name) => name.startsWith('auth_jwt/'));
}

/** Publishes what a test wants as a key set. */
export class KeyServer implements AsyncDisposable {
  body = '{"keys":[]}';
  status = 200;
  asked = 0;
  readonly #server: Server;

  static async start(keys: readonly object[]): Promise<KeyServer> {
    const made = new KeyServer(keys);
    await once(made.#server, 'listening');
    return made;
  }

  constructor(keys: readonly object[]) {
    this.publish(keys);
    this.#server = createServer((_, answer) => {
      this.asked++;
      answer.writeHead(this.status).end(this.body);
    }).listen(0, '127.0.0.1');
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/keys`;
  }

  publish(keys: readonly object[]): void {
    this.body = JSON.stringify({ keys });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.#server.listening) return;
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
  }
}

export class KeyFile implements Disposable {
  readonly #dir = mkdtempSync(join(tmpdir(), 'broker-jwt-'));
  readonly path: string = join(this.#dir, 'keys.pem');

  constructor(text: string) {
    this.write(text);
  }

  write(text: string): void {
    writeFileSync(this.path, text);
  }

  /** As editors and deployments do it. */
  replace(text: string): void {
    const fresh = join(this.#dir, 'fresh.pem');
    writeFileSync(fresh, text);
    renameSync(fresh, this.path);
  }

  [Symbol.dispose](): void {
    rmSync(this.#dir, { recursive: true, force: true });
  }
}
