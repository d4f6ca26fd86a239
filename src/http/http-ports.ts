// The HTTP ports of a node. They open before anybody is let in, so that a port in use stops the start and
// a load balancer hears "not yet", and close last. What they answer is set when management is there.

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Clock } from '#base/clock';
import type { Logger } from '#base/log';
import type { HttpListenerSettings, Settings } from '#config/settings';
import type { ListenerReport } from '#net/listener';
import { type Answer, unavailable } from './envelope.ts';
import { HttpPort } from './http-port.ts';
import { answerProbe, type Health } from './probes.ts';

export type Owner = HttpListenerSettings['owner'];
export type Serve = (owner: Owner, request: IncomingMessage, response: ServerResponse) => void;

export interface DoorsParts {
  readonly settings: Settings;
  readonly clock: Clock;
  readonly log: Logger;
}

export class HttpPorts implements AsyncDisposable {
  readonly #parts: DoorsParts;
  readonly #ports: HttpPort[] = [];
  #serve: Serve | undefined;
  #isReady: () => Promise<boolean> = async () => false;

  constructor(parts: DoorsParts) {
    this.#parts = parts;
  }

  /** `shutIn`: where a listener names no address, it is this machine's own. */
  async open(owner: Owner, { shutIn = false }: { readonly shutIn?: boolean } = {}): Promise<void> {
    for (const one of this.#parts.settings[owner].listeners) {
      const isOurs = shutIn && one.host === undefined;
      const settings = isOurs
        ? { ...one, host: '127.0.0.1', listenOn: `127.0.0.1:${one.port}` }
        : one;
      this.#ports.push(await this.#port(settings));
    }
  }

  async close(owner: Owner): Promise<void> {
    const leaving = this.#ports.filter(({ settings }) => settings.owner === owner);
    for (const port of leaving) {
      this.#ports.splice(this.#ports.indexOf(port), 1);
      await port[Symbol.asyncDispose]();
    }
  }

  isOpen(owner: Owner): boolean {
    return this.#ports.some(({ settings }) => settings.owner === owner);
  }

  get ports(): readonly HttpPort[] {
    return this.#ports;
  }

  reports(): readonly ListenerReport[] {
    return this.#ports.map((port) => port.describe());
  }

  /** From now on these are answered; undefined: not any more. */
  serve(serve: Serve | undefined, isReady: () => Promise<boolean> = async () => false): void {
    this.#serve = serve;
    this.#isReady = isReady;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.serve(undefined);
    await this.close('dashboard');
    await this.close('management');
  }

  #port(settings: HttpListenerSettings): Promise<HttpPort> {
    const { settings: all, clock, log } = this.#parts;
    const health: Health = {
      node: all.node.name,
      isReady: () => this.#isReady().catch(() => false),
    };
    return HttpPort.open({
      settings,
      requestTimeoutMs: all.management.requestTimeoutMs,
      dataDir: all.node.dataDir,
      clock,
      log,
      handle: (request, response) => {
        if (answerProbe(health, request, response)) return;
        if (this.#serve === undefined) send(response, unavailable);
        else this.#serve(settings.owner, request, response);
      },
    });
  }
}

function send(response: ServerResponse, { status, headers, body }: Answer): void {
  response.writeHead(status, { ...headers, connection: 'close' });
  response.end(body);
}
