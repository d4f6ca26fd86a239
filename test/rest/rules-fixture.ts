// Rules as tests of REST see them, and a stream of server-sent events that is read as it comes.

import { get, type IncomingMessage } from 'node:http';
import mqtt from 'mqtt';
import { basic, type Managed, startManaged } from '#test/managed';
import { Watch } from '#test/watch';

export interface ActionRow {
  readonly id: string;
  readonly name: string;
  readonly params: Readonly<Record<string, unknown>>;
  readonly metrics: readonly { node: string; success: number; failed: number }[];
  readonly fallbacks?: readonly ActionRow[];
}

export interface RuleRow {
  readonly id: string;
  readonly name?: string;
  readonly for: string | readonly string[];
  readonly rawsql: string;
  readonly actions: readonly ActionRow[];
  readonly metrics: readonly {
    readonly node: string;
    readonly matched: number;
    readonly speed: number;
    readonly speed_max: number;
    readonly speed_last5m: number;
  }[];
  readonly enabled: boolean;
  readonly on_action_failed: string;
  readonly description: string;
}

const open = { allow_anonymous: 'true', acl_nomatch: 'allow' };
const loaded = { 'plugins.loaded': 'broker_management,broker_retainer,broker_rule_engine' };

export function startRuled(workers = 0, dir?: string): Promise<Managed> {
  const settings = { ...open, ...loaded };
  return startManaged({ workers, settings, ...(dir !== undefined && { dir }) });
}

export function connect(
  { mqttPort: port }: Managed,
  clientId: string,
  options: mqtt.IClientOptions = {},
): Promise<mqtt.MqttClient> {
  return mqtt.connectAsync({ ...options, host: '127.0.0.1', port, clientId, reconnectPeriod: 0 });
}

/** What is told as it comes. */
export class EventStream implements AsyncDisposable {
  readonly #watch = new Watch();
  readonly #response: IncomingMessage;
  #text = '';

  static async open(managed: Managed, path: string): Promise<EventStream> {
    const response = await new Promise<IncomingMessage>((resolve, reject) => {
      const headers = { authorization: basic(managed.auth) };
      get(`${managed.url}${path}`, { headers }, resolve).on('error', reject);
    });
    return new EventStream(response);
  }

  private constructor(response: IncomingMessage) {
    this.#response = response;
    response.on('data', (chunk: Buffer) => {
      this.#text += chunk.toString();
      this.#watch.wake();
    });
    // It is closed by whoever tests.
    response.on('error', () => undefined);
  }

  get type(): string | undefined {
    return this.#response.headers['content-type'];
  }

  get text(): string {
    return this.#text;
  }

  until<T>(look: (text: string) => T | undefined): Promise<T> {
    const late = (): Error => new Error(`Cannot see it in ${this.#text}`);
    return this.#watch.until(() => look(this.#text), 10_000, late);
  }

  /** The data of the events of a name so far. */
  dataOf(name: string): unknown[] {
    const found = this.#text.matchAll(new RegExp(`^event: ${name}\\ndata: (.*)\\n\\n`, 'gm'));
    return Array.from(found, ([, data = '']) => JSON.parse(data) as unknown);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#response.destroy();
  }
}

/** Looks again and again, up to a deadline. */
export async function until<T>(look: () => Promise<T | undefined>): Promise<T> {
  const endMs = performance.now() + 20_000;
  for (;;) {
    const found = await look();
    if (found !== undefined) return found;
    if (performance.now() > endMs) throw new Error('It is not so after 20 s');
    await new Promise(setImmediate);
  }
}
