// A node with a file of access rules that the test writes, and clients that we did not write: MQTT.js and,
// where the kernel has to choose among workers, several of them.

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import mqtt from 'mqtt';
import { type Managed, type ManagedOptions, startManaged } from '#test/managed';

export const notAuthorized = 0x87;

export interface RuledOptions extends ManagedOptions {
  readonly rules: string;
}

export class RuledNode implements AsyncDisposable {
  readonly managed: Managed;
  readonly file: string;
  readonly #dir: string;
  readonly #clients: mqtt.MqttClient[] = [];

  static async start({ rules, settings, ...options }: RuledOptions): Promise<RuledNode> {
    const dir = mkdtempSync(join(tmpdir(), 'broker-acl-'));
    const file = join(dir, 'acl.conf');
    writeFileSync(file, rules);
    try {
      const managed = await startManaged({
        ...options,
        settings: { allow_anonymous: 'true', acl_nomatch: 'deny', acl_file: file, ...settings },
      });
      return new RuledNode(managed, dir, file);
    } catch (error) {
      rmSync(dir, { recursive: true });
      throw error;
    }
  }

  private constructor(managed: Managed, dir: string, file: string) {
    this.managed = managed;
    this.file = file;
    this.#dir = dir;
  }

  write(rules: string): void {
    writeFileSync(this.file, rules);
  }

  async connect(
    clientId: string,
    options: Partial<mqtt.IClientOptions> = {},
  ): Promise<mqtt.MqttClient> {
    const client = await mqtt.connectAsync({
      host: '127.0.0.1',
      port: this.managed.mqttPort,
      clientId,
      protocolVersion: 5,
      reconnectPeriod: 0,
      ...options,
    });
    this.#clients.push(client);
    return client;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#clients.map((client) => client.endAsync(true)));
    await this.managed[Symbol.asyncDispose]();
    rmSync(this.#dir, { recursive: true });
  }
}

const deadlineMs = 20_000;

/** The code that a client of MQTT 5 is answered with: QoS granted, or why not. */
export async function subscribeCode(client: mqtt.MqttClient, filter: string): Promise<number> {
  return inTime(`SUBACK of ${filter}`, (resolve) => {
    client.subscribe(filter, { qos: 1 }, (_error, _granted, packet) => {
      resolve(packet?.granted[0] as number);
    });
  });
}

/** The code of the PUBACK of a client of MQTT 5; 0x10: it went to nobody. */
export async function publishCode(client: mqtt.MqttClient, topic: string): Promise<number> {
  return inTime(`PUBACK of ${topic}`, (resolve) => {
    const take = (packet: mqtt.Packet): void => {
      if (packet.cmd !== 'puback') return;
      client.off('packetreceive', take);
      resolve(packet.reasonCode ?? 0);
    };
    client.on('packetreceive', take);
    client.publish(topic, 'x', { qos: 1 });
  });
}

async function inTime<T>(what: string, begin: (resolve: (value: T) => void) => void): Promise<T> {
  const { promise, resolve, reject } = Promise.withResolvers<T>();
  const late = setTimeout(
    () => reject(new Error(`Cannot wait for ${what} any longer`)),
    deadlineMs,
  );
  begin(resolve);
  return promise.finally(() => clearTimeout(late));
}

export async function until(isSo: () => boolean): Promise<void> {
  const endMs = performance.now() + deadlineMs;
  while (!isSo()) {
    assert.ok(performance.now() < endMs, `it is not so after ${deadlineMs} ms`);
    await new Promise(setImmediate);
  }
}
