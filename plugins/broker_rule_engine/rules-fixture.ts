// A whole node with rules, and clients of MQTT.js that keep what they get.

import assert from 'node:assert/strict';
import type { IPublishPacket } from 'mqtt';
import { KeepingClient } from '#test/keeping-client';
import { type Managed, type ManagedOptions, startManaged } from '#test/managed';

const deadlineMs = 10_000;

export function startRules(options: ManagedOptions = {}): Promise<Managed> {
  const settings = {
    allow_anonymous: 'true',
    acl_nomatch: 'allow',
    'plugins.loaded': 'broker_management,broker_retainer,broker_rule_engine',
    ...options.settings,
  };
  return startManaged({ ...options, settings });
}

export interface MadeRule {
  readonly id: string;
  readonly for: string | readonly string[];
  readonly enabled: boolean;
  readonly metrics: readonly { readonly node: string; readonly matched: number }[];
  readonly actions: readonly {
    readonly id: string;
    readonly name: string;
    readonly params: Readonly<Record<string, unknown>>;
    readonly metrics: readonly { readonly success: number; readonly failed: number }[];
  }[];
}

export async function makeRule(
  node: Managed,
  rawsql: string,
  actions: readonly object[],
  more: object = {},
): Promise<MadeRule> {
  const { body } = await node.post('/rules', { rawsql, actions, ...more });
  assert.equal(body.code, 0, body.message ?? 'refused');
  return body.data as MadeRule;
}

export async function ruleNow(node: Managed, id: string): Promise<MadeRule> {
  const { body } = await node.get(`/rules/${id}`);
  assert.equal(body.code, 0, body.message ?? 'refused');
  return body.data as MadeRule;
}

/** Everything that was selected, as JSON, to a topic. */
export function toTopic(topic: string, more: object = {}): object {
  return { name: 'republish', params: { target_topic: topic, payload_tmpl: '', ...more } };
}

export class Client extends KeepingClient {
  /** With a subscription. */
  static async reading(node: Managed, filter: string): Promise<Client> {
    const client = await Client.open(node);
    await client.mqtt.subscribeAsync(filter, { qos: 1 });
    return client;
  }

  /** The next messages as JSON. */
  async json(count: number): Promise<readonly Record<string, unknown>[]> {
    const packets = await this.packets(count);
    return packets.map(({ payload }) => JSON.parse(payload.toString()) as Record<string, unknown>);
  }

  async packets(count: number): Promise<readonly IPublishPacket[]> {
    await this.arrived(count, deadlineMs);
    return this.got.splice(0, count);
  }
}
