// A broker whose rules a test changes while clients are there: everything is allowed but what it has
// forbidden, and who is told what is remembered.

import assert from 'node:assert/strict';
import { type Rechecked, recheckRights } from '#core/recheck';
import type { TestBroker } from '#test/broker';
import type { JoinOptions } from '#test/broker';
import type { RawClient } from '#test/raw-client';

export const notAuthorized = 0x87;
export const controlled: { readonly enableAcl: true } = { enableAcl: true };

export class Rules {
  readonly #forbidden = new Set<string>();
  /** What happened: `denied subscribe a`, `unsubscribed a`, `dropped a not_authorized`. */
  readonly told: string[] = [];
  /** What was asked, by whom it was. */
  readonly asked: string[] = [];
  /** Answers come later. */
  isSlow = false;
  /** Nobody can tell. */
  isBroken = false;

  /** In every worker of this broker. */
  holdIn(broker: TestBroker): this {
    broker.hook(
      'client.check_acl',
      (client, action, topic) => {
        this.asked.push(`${client.clientId} ${action} ${topic}`);
        const answer = this.#answer(action, topic);
        if (this.isBroken) return this.isSlow ? Promise.reject(new Error('broken')) : 'unavailable';
        if (!this.isSlow) return answer;
        return new Promise((resolve) => setImmediate(() => resolve(this.#answer(action, topic))));
      },
      'rules',
    );
    broker.hook('message.check_retained', (_, topic) => this.#answer('publish', topic), 'rules');
    broker.hook(
      'client.denied',
      (_, action, topic) => this.told.push(`denied ${action} ${topic}`),
      'watch',
    );
    broker.hook(
      'session.unsubscribed',
      (_, filter) => this.told.push(`unsubscribed ${filter}`),
      'watch',
    );
    broker.hook(
      'message.dropped',
      ({ payload }, reason) => {
        if (reason === 'not_authorized') this.told.push(`dropped ${payload.toString()}`);
      },
      'watch',
    );
    return this;
  }

  #answer(action: string, topic: string): 'allow' | 'deny' {
    return this.#forbidden.has(`${action} ${topic}`) ? 'deny' : 'allow';
  }

  forbid(...rights: readonly string[]): void {
    for (const right of rights) this.#forbidden.add(right);
  }

  allow(...rights: readonly string[]): void {
    for (const right of rights) this.#forbidden.delete(right);
  }
}

/** In all workers, summed up. */
export async function recheck(broker: TestBroker): Promise<Rechecked> {
  const all = await Promise.all(broker.brokers.map(({ core }) => recheckRights(core)));
  return all.reduce((sum, one) => ({
    clients: sum.clients + one.clients,
    subscriptions: sum.subscriptions + one.subscriptions,
    messages: sum.messages + one.messages,
    undecided: sum.undecided + one.undecided,
  }));
}

/** A session that outlives its connection, in whatever version. */
export async function lasting(
  broker: TestBroker,
  clientId: string,
  options: JoinOptions = {},
): Promise<RawClient> {
  const version = options.version ?? 5;
  const properties = version === 5 ? { sessionExpirySeconds: 1000, ...options.properties } : {};
  return broker.connect({ clientId, cleanStart: false, ...options, properties });
}

/** The texts of all PUBLISH packets that come until a ping is answered; each is acknowledged. */
export async function receivedBy(client: RawClient): Promise<string[]> {
  const seen: string[] = [];
  for (let pings = 0; pings < 3; pings++) {
    client.send({ type: 'pingreq' });
    for (;;) {
      const packet = await client.next();
      if (packet.type === 'pingresp') break;
      if (packet.type === 'pubrel') {
        client.ack('pubcomp', packet.packetId, client.version === 5 ? 0x92 : 0);
        seen.push(`pubrel ${packet.packetId}`);
        continue;
      }
      assert.equal(packet.type, 'publish');
      seen.push(packet.payload.toString());
      if (packet.qos === 1) client.ack('puback', packet.packetId);
      if (packet.qos === 2) {
        client.ack('pubrec', packet.packetId);
        await client.find('pubrel');
        client.ack('pubcomp', packet.packetId);
      }
    }
  }
  return seen;
}
