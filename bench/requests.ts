// Reading by REST at a rate, as dashboards and scripts do: lists, lookups, metrics, one after another.

import { Agent, get } from 'node:http';
import { Latency } from './latency.ts';
import { Pacer } from './pacer.ts';

const socketsMax = 20;

export class Requests {
  readonly latency: Latency = new Latency();
  failed = 0;
  readonly #port: number;
  readonly #auth: string;
  readonly #paths: readonly string[];
  readonly #agent = new Agent({ keepAlive: true, maxSockets: socketsMax });
  readonly #open = new Set<Promise<void>>();
  #pacer: Pacer | undefined;
  #done = 0;
  #seconds = 0;
  #startedAt = 0;

  /** `clients`: some that are looked up. */
  constructor(port: number, auth: string, clients: readonly string[]) {
    this.#port = port;
    this.#auth = auth;
    this.#paths = [
      '/api/v3/connections?_page=3&_limit=100',
      '/api/v3/sessions?_limit=100',
      '/api/v3/subscriptions?_limit=100',
      '/api/v3/routes',
      '/api/v3/nodes',
      '/api/v3/brokers',
      '/api/v3/metrics',
      '/api/v3/stats',
      '/api/v3/listeners',
      '/api/v3/alarms/present',
      '/metrics',
      ...clients.flatMap((id) => [`/api/v3/connections/${id}`, `/api/v3/sessions/${id}`]),
    ];
  }

  /** The first request builds the routes, and the secret is checked once. */
  async warmUp(): Promise<void> {
    for (const path of this.#paths) await this.#ask(path);
    this.latency.clear();
    this.#done = 0;
  }

  start(rate: number): void {
    let next = 0;
    this.#startedAt = performance.now();
    this.#pacer = new Pacer(rate, (count) => {
      for (let i = 0; i < count; i++) {
        const asked = this.#ask(this.#paths[next++ % this.#paths.length] ?? '/');
        this.#open.add(asked);
        void asked.finally(() => this.#open.delete(asked));
      }
    });
  }

  async stop(): Promise<void> {
    this.#pacer?.stop();
    this.#seconds += (performance.now() - this.#startedAt) / 1000;
    await Promise.all(this.#open);
  }

  get rate(): number {
    return this.#done / this.#seconds;
  }

  #ask(path: string): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const from = performance.now();
    const options = { host: '127.0.0.1', port: this.#port, path, auth: this.#auth };
    const asked = get({ ...options, agent: this.#agent }, (answer) => {
      answer.resume();
      answer.once('end', () => {
        if (answer.statusCode === 200) this.#done++;
        else this.failed++;
        this.latency.record(performance.now() - from);
        resolve();
      });
    });
    asked.once('error', () => {
      this.failed++;
      resolve();
    });
    return promise;
  }
}
