// What other access rules would change for the clients of a worker: their live subscriptions, and the
// publishes that they were decided about lately, asked of the rules that hold and of those proposed. Laws:
// nothing changes and nobody is told; the loop is given back every few milliseconds, however many
// clients there are; other listeners of `client.check_acl` are not asked, whoever compares is told of them.

import { type AccessAction, beforehand, otherwise } from '#core/access';
import { channelOf } from '#core/at-session';
import type { Broker } from '#core/broker';
import type { Channel } from '#core/channel';
import type { Session } from '#core/session';
import { askedFilter } from '#core/subscription';
import { describeRule } from '#access/acl-file';
import type { ShownRule } from '#access/acl-hook';
import type { AclRules } from '#access/acl-rules';

/** Decided otherwise than now. */
export interface AclDifference {
  readonly clientId: string;
  readonly action: AccessAction;
  /** The topic, or the filter as the client wrote it. */
  readonly topic: string;
  /** By the rules that are proposed; by those that hold it is the opposite. */
  readonly isAllowed: boolean;
  /** Undefined: none of those proposed speaks of it. */
  readonly rule: ShownRule | undefined;
}

export interface Compared {
  /** That are connected and whom access rules concern. */
  readonly clients: number;
  readonly subscriptions: number;
  readonly publishes: number;
}

export interface AclDiffSlice extends Compared {
  /** In the order of client ids. */
  readonly rows: readonly AclDifference[];
  /** The next slice begins here; undefined: this was the last. */
  readonly next: string | undefined;
}

/** Of a slice, unless one client has more. */
const sliceRows = 1000;
/** So long it may take, and so long at a time. */
const sliceMs = 200;
const turnMs = 5;
/** Between two looks at the clock. */
const decisionsPerLook = 64;
const sessionsPerBatch = 256;

/** Rules that somebody compares with those that hold, and how far that has come. */
export class AclComparison {
  readonly #broker: Pick<Broker, 'core'>;
  readonly #proposed: AclRules;
  #from: string | undefined = '';
  #decisions = 0;
  #turnEndMs = 0;

  constructor(broker: Pick<Broker, 'core'>, proposed: AclRules) {
    this.#broker = broker;
    this.#proposed = proposed;
  }

  /** Goes on where the last slice ended. `present` are the rules that hold. */
  async slice(present: AclRules): Promise<AclDiffSlice> {
    const { clock } = this.#broker.core;
    const endMs = clock.monotonicMs() + sliceMs;
    const tally: Tally = { rows: [], clients: 0, subscriptions: 0, publishes: 0 };
    this.#turnEndMs = clock.monotonicMs() + turnMs;
    while (this.#from !== undefined) {
      const { sessions, next } = this.#batch(this.#from);
      for (const session of sessions) {
        const channel = channelOf(session);
        if (channel?.state === 'open') await this.#compare(channel, session, present, tally);
      }
      this.#from = next;
      await this.#giveWay();
      if (tally.rows.length >= sliceRows || clock.monotonicMs() > endMs) break;
    }
    return { ...tally, next: this.#from };
  }

  #batch(from: string): { sessions: Session[]; next: string | undefined } {
    const sessions: Session[] = [];
    let next: string | undefined;
    this.#broker.core.sessions.order.visit(from, (session) => {
      if (sessions.length === sessionsPerBatch) {
        next = session.clientId;
        return false;
      }
      sessions.push(session);
      return true;
    });
    return { sessions, next };
  }

  async #compare(
    channel: Channel,
    session: Session,
    present: AclRules,
    tally: Tally,
  ): Promise<void> {
    const { publisher, zone, rights } = channel;
    if (!zone.enableAcl || publisher.isSuperuser) return;
    tally.clients++;
    const publishes = rights?.list().filter(({ action }) => action === 'publish') ?? [];
    for (const { topic } of publishes) {
      if (beforehand(zone, publisher, 'publish', topic) !== undefined) continue;
      tally.publishes++;
      this.#decide(channel, present, 'publish', topic, topic, tally);
      await this.#countDecision();
    }
    for (const subscription of session.subscriptions.values()) {
      const asked = askedFilter(subscription);
      if (asked === undefined) continue;
      tally.subscriptions++;
      this.#decide(channel, present, 'subscribe', asked, subscription.filter, tally);
      await this.#countDecision();
    }
  }

  #decide(
    { publisher, zone }: Channel,
    present: AclRules,
    action: AccessAction,
    topic: string,
    written: string,
    { rows }: Tally,
  ): void {
    const before = present.decide(publisher, action, topic);
    const after = this.#proposed.decide(publisher, action, topic);
    if (before?.isAllowed === after?.isAllowed) return;
    const { sysTopics } = this.#broker.core.settings.broker;
    const rest = otherwise(zone, publisher, topic, sysTopics).isAllowed;
    const isAllowed = after?.isAllowed ?? rest;
    if ((before?.isAllowed ?? rest) === isAllowed) return;
    const rule = after && { line: after.rule.line, text: describeRule(after.rule) };
    rows.push({ clientId: publisher.clientId, action, topic: written, isAllowed, rule });
  }

  async #countDecision(): Promise<void> {
    if (++this.#decisions % decisionsPerLook === 0) await this.#giveWay();
  }

  async #giveWay(): Promise<void> {
    const { clock } = this.#broker.core;
    if (clock.monotonicMs() < this.#turnEndMs) return;
    await new Promise((resolve) => setImmediate(resolve));
    this.#turnEndMs = clock.monotonicMs() + turnMs;
  }
}

interface Tally {
  readonly rows: AclDifference[];
  clients: number;
  subscriptions: number;
  publishes: number;
}
