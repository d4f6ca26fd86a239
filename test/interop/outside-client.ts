// MQTT.js as a test uses it: what it receives lies in an inbox until it is asked for, and nothing
// connects again by itself.

import assert from 'node:assert/strict';
import mqtt, {
  type IClientOptions,
  type IClientPublishOptions,
  type IClientSubscribeOptions,
  type IConnackPacket,
  type IDisconnectPacket,
  type IPublishPacket,
  type MqttClient,
} from 'mqtt';
import { defaultDeadlineMs, Inbox } from './inbox.ts';

export type Version = 3 | 4 | 5;

export type OpenOptions = Omit<IClientOptions, 'protocolVersion'> & { version?: Version };

export function urlOf(kind: 'tcp' | 'ssl' | 'ws' | 'wss', port: number): string {
  const scheme = { tcp: 'mqtt', ssl: 'mqtts', ws: 'ws', wss: 'wss' }[kind];
  return `${scheme}://127.0.0.1:${port}${kind.startsWith('ws') ? '/mqtt' : ''}`;
}

/** How a connection ended: the DISCONNECT that the server sent before, if it did. */
export interface End {
  readonly disconnect: IDisconnectPacket | undefined;
}

export class OutsideClient implements AsyncDisposable {
  readonly mqtt: MqttClient;
  readonly messages: Inbox<IPublishPacket> = new Inbox(
    ({ topic, payload }) => `${topic} ${payload.toString().slice(0, 40)}`,
  );
  readonly #ends: Inbox<End> = new Inbox(() => 'the end');
  #connack: IConnackPacket | undefined;

  /** Connects; rejects when it is refused. */
  static async open(url: string, options: OpenOptions = {}): Promise<OutsideClient> {
    const client = new OutsideClient(url, options);
    const { promise, resolve, reject } = Promise.withResolvers<OutsideClient>();
    client.mqtt.once('connect', (connack) => {
      client.#connack = connack;
      resolve(client);
    });
    client.mqtt.once('error', reject);
    client.mqtt.once('close', () => reject(new Error(`Cannot connect to ${url}: it was closed`)));
    try {
      return await promise;
    } catch (error) {
      await client[Symbol.asyncDispose]();
      throw error;
    }
  }

  private constructor(url: string, { version = 5, ...options }: OpenOptions) {
    this.mqtt = mqtt.connect(url, {
      protocolVersion: version,
      protocolId: version === 3 ? 'MQIsdp' : 'MQTT',
      reconnectPeriod: 0,
      connectTimeout: defaultDeadlineMs,
      forceNativeWebSocket: false,
      ...options,
    });
    let disconnect: IDisconnectPacket | undefined;
    this.mqtt.on('message', (_topic, _payload, packet) => this.messages.put(packet));
    this.mqtt.on('disconnect', (packet) => {
      disconnect = packet;
    });
    this.mqtt.on('close', () => {
      this.#ends.put({ disconnect });
      this.messages.end(new Error('the connection is closed'));
    });
    // A reset is one way of closing: `close` follows.
    this.mqtt.on('error', () => undefined);
  }

  get connack(): IConnackPacket {
    assert.ok(this.#connack, 'Cannot give the CONNACK: there was none');
    return this.#connack;
  }

  /** Subscribes; rejects when the server does not grant it. */
  async subscribe(filter: string, options: IClientSubscribeOptions): Promise<void> {
    const [granted] = await this.mqtt.subscribeAsync(filter, options);
    assert.equal(granted?.qos, options.qos, `Cannot subscribe to "${filter}"`);
  }

  /** Resolves when the server has taken it over; for QoS 0, when it was written. */
  async publish(
    topic: string,
    payload: string | Buffer,
    options: IClientPublishOptions = {},
  ): Promise<void> {
    await this.mqtt.publishAsync(topic, payload, options);
  }

  async next(): Promise<IPublishPacket> {
    return await this.messages.take('a message');
  }

  /** The payloads of the next `count` messages, as text. */
  async payloads(count: number): Promise<string[]> {
    const packets = await this.messages.takeMany(count, 'a message');
    return packets.map(({ payload }) => payload.toString());
  }

  /** Says goodbye with a DISCONNECT. */
  async leave(): Promise<void> {
    await this.mqtt.endAsync();
  }

  /** Loses the network, as far as the server can tell. */
  lose(): void {
    this.mqtt.stream.destroy();
  }

  /** Waits until the connection is over, whoever ends it. */
  async ended(deadlineMs?: number): Promise<End> {
    return await this.#ends.take('the end of the connection', undefined, deadlineMs);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.mqtt.endAsync(true);
  }
}
