// The socket through which `broker_ctl` has the node run commands. A request is one line of JSON,
// {"args":[…],"json":false,"cwd":"/…"}; the answer is lines {"out":"…"} and {"err":"…"} and at last {"exit":0}.
// Laws: only the owner of the data directory can open it, from the first moment on; a request, whoever
// waits for one and whoever does not read have limits; a client that goes away ends its command.

import { chmodSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';
import { dirname, join } from 'node:path';
import type { Clock } from '#base/clock';
import { describeError } from '#base/errors';
import { controlSocketName, socketPath } from '#base/socket-path';
import { Console, type ConsoleParts } from './console.ts';
import { ControlClient } from './control-client.ts';

export interface ControlSocketParts extends ConsoleParts {
  readonly dataDir: string;
  readonly clock: Clock;
}

const clientsMax = 32;

/** A node whose file system has no sockets still serves: it says so in its log. */
export async function openControlSocket(parts: ControlSocketParts): Promise<AsyncDisposable> {
  const control = new ControlSocket(parts);
  try {
    await control.open();
  } catch (error) {
    parts.log.error('control.closed', { dataDir: parts.dataDir, error: describeError(error) });
  }
  return control;
}

class ControlSocket implements AsyncDisposable {
  readonly #parts: ControlSocketParts;
  readonly #commands: Console;
  readonly #server: Server;
  readonly #clients = new Set<ControlClient>();
  /** Who is told that there is no room. */
  readonly #refused = new Set<ControlClient>();
  readonly #stack = new AsyncDisposableStack();

  constructor(parts: ControlSocketParts) {
    this.#parts = parts;
    this.#commands = new Console(parts);
    this.#server = createServer((socket) => this.#accept(socket));
    this.#server.maxConnections = 2 * clientsMax;
  }

  async open(): Promise<void> {
    const { dataDir, log } = this.#parts;
    const { path } = this.#stack.use(socketPath(dataDir, controlSocketName));
    // Bound where nobody else can look, and moved when its mode is right. It replaces what a killed
    // node left behind.
    const nursery = join(dirname(path), `.${process.pid}`);
    const born = join(nursery, 's');
    rmSync(nursery, { recursive: true, force: true });
    mkdirSync(nursery, { mode: 0o700 });
    try {
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      this.#server.once('error', reject);
      this.#server.listen(born, resolve);
      await promise;
      this.#server.off('error', reject);
      this.#stack.defer(() => this.#close());
      chmodSync(born, 0o600);
      renameSync(born, path);
      this.#stack.defer(() => rmSync(path, { force: true }));
    } finally {
      rmSync(nursery, { recursive: true, force: true });
    }
    this.#server.on('error', (error) => log.error('control.failed', { error }));
    this.#server.unref();
  }

  #accept(socket: Socket): void {
    const { clock, log } = this.#parts;
    const isFull = this.#clients.size >= clientsMax;
    const client = new ControlClient({ socket, clock, log, commands: this.#commands });
    const present = isFull ? this.#refused : this.#clients;
    present.add(client);
    socket.once('close', () => present.delete(client));
    if (isFull) {
      client.refuse(`Cannot run a command: ${clientsMax} are running, which is the limit`);
      return;
    }
    client.serve();
  }

  async #close(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#server.close(() => resolve());
    for (const client of [...this.#clients, ...this.#refused]) client.end();
    await promise;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#stack[Symbol.asyncDispose]();
  }
}
