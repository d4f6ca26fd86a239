// A broker that outlives its own death: the driver's clients reach it through a door, and "killing" it
// only cuts every connection and shuts the door. Whatever the driver finds wrong then is wrong with its
// books, or with how a living broker treats lost connections.

import { createConnection, createServer, type Server, type Socket } from 'node:net';
import type { BrokerUnderTest } from './broker-under-test.ts';

export class CutOffBroker implements BrokerUnderTest {
  readonly #inner: BrokerUnderTest;
  readonly #sockets = new Set<Socket>();
  #door: Server | undefined;

  constructor(inner: BrokerUnderTest) {
    this.#inner = inner;
  }

  get port(): number | undefined {
    const address = this.#door?.address();
    return typeof address === 'object' ? address?.port : undefined;
  }

  get workers(): number {
    return this.#inner.workers;
  }

  get place(): string {
    return this.#inner.place;
  }

  get onFault(): (line: string) => void {
    return this.#inner.onFault;
  }

  set onFault(onFault: (line: string) => void) {
    this.#inner.onFault = onFault;
  }

  get isKept(): boolean {
    return this.#inner.isKept;
  }

  set isKept(isKept: boolean) {
    this.#inner.isKept = isKept;
  }

  async start(): Promise<void> {
    if (this.#inner.port === undefined) await this.#inner.start();
    const port = this.#inner.port ?? 0;
    const door = createServer((client) => this.#connect(client, port));
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    door.once('error', reject);
    door.listen(0, '127.0.0.1', resolve);
    await promise;
    // One that was told to die while it started has a door already.
    await this.kill();
    this.#door = door;
  }

  async kill(): Promise<void> {
    const door = this.#door;
    this.#door = undefined;
    if (door === undefined) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    door.close(() => resolve());
    for (const socket of this.#sockets) socket.destroy();
    await promise;
  }

  async stop(): Promise<number | null> {
    await this.kill();
    return 0;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill();
    await this.#inner[Symbol.asyncDispose]();
  }

  #connect(client: Socket, port: number): void {
    const server = createConnection({ port, host: '127.0.0.1', noDelay: true });
    client.setNoDelay(true);
    for (const [from, to] of [
      [client, server],
      [server, client],
    ] as const) {
      this.#sockets.add(from);
      from.on('data', (chunk) => to.write(chunk));
      from.on('end', () => to.end());
      // A reset is one way of closing: `close` follows.
      from.on('error', () => undefined);
      from.on('close', () => {
        this.#sockets.delete(from);
        to.destroy();
      });
    }
  }
}
