// A client of MQTT.js that keeps what it gets, for tests with whole nodes. Law: it listens before it connects,
// so that nothing of a session that goes on is missed.

import mqtt, { type IClientOptions, type IPublishPacket, type MqttClient } from 'mqtt';
import type { Managed } from './managed.ts';
import { Watch } from './watch.ts';

export class KeepingClient implements AsyncDisposable {
  readonly mqtt: MqttClient;
  readonly got: IPublishPacket[] = [];
  readonly #watch = new Watch();

  constructor(client: MqttClient) {
    this.mqtt = client;
    client.on('message', (_topic, _payload, packet) => {
      this.got.push(packet);
      this.#watch.wake();
    });
  }

  /** By MQTT 5 without a word, and not a second time when the connection ends. */
  static async open<T extends KeepingClient>(
    this: new (
      client: MqttClient,
    ) => T,
    { mqttPort }: Pick<Managed, 'mqttPort'>,
    options: IClientOptions = {},
  ): Promise<T> {
    const wanted: IClientOptions = { protocolVersion: 5, reconnectPeriod: 0, ...options };
    const client = mqtt.connect(`mqtt://127.0.0.1:${mqttPort}`, { ...wanted, manualConnect: true });
    const own = new this(client);
    await new Promise<void>((resolve, reject) => {
      client.once('connect', () => resolve());
      client.once('error', reject);
      client.connect();
    });
    return own;
  }

  /** Resolves when so many are in `got`. */
  async arrived(count: number, deadlineMs = 15_000): Promise<void> {
    const look = (): true | undefined => (this.got.length >= count ? true : undefined);
    const late = (): Error => new Error(`Cannot see ${count} messages: ${this.got.length} came`);
    await this.#watch.until(look, deadlineMs, late);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.mqtt.endAsync(true);
  }
}
