// What is retained on each topic: the last acknowledged message, or one that was sent after it and is
// not acknowledged. A topic has one publisher and one QoS, so that "after" is certain.

import type { Sent } from './books.ts';
import { parsePayload } from './numbered-message.ts';
import type { Violations } from './violations.ts';

interface Entry {
  acked: Sent | undefined;
  /** Number of the last message, acknowledged or not, that took the retained one away. */
  lastClear: number;
}

/** What the topics must hold at one moment, or whatever was sent after it. */
export class RetainedClaims {
  readonly #acked: ReadonlyMap<string, Sent | undefined>;
  readonly #entries: ReadonlyMap<string, Readonly<Entry>>;

  constructor(entries: ReadonlyMap<string, Readonly<Entry>>) {
    this.#entries = entries;
    this.#acked = new Map([...entries].map(([topic, { acked }]) => [topic, acked]));
  }

  /** Topics that cannot be without a message. */
  get required(): string[] {
    return [...this.#acked.keys()].filter((topic) => this.#absence(topic) !== undefined);
  }

  /** `found`: payloads by topic, as a subscription that came after the claims was sent them. */
  objections(found: ReadonlyMap<string, Buffer>): string[] {
    const wrong: string[] = [];
    for (const topic of this.#acked.keys()) {
      const payload = found.get(topic);
      const why = payload === undefined ? this.#absence(topic) : this.#presence(topic, payload);
      if (why !== undefined) wrong.push(`"${topic}" ${why}`);
    }
    const strangers = found.keys().filter((topic) => !this.#entries.has(topic));
    return [...wrong, ...strangers.map((topic) => `"${topic}" holds what nobody sent`)];
  }

  #absence(topic: string): string | undefined {
    const acked = this.#acked.get(topic);
    const lastClear = this.#entries.get(topic)?.lastClear ?? 0;
    if (acked === undefined || lastClear >= acked.number) return undefined;
    return `holds nothing instead of ${acked.number} of "${acked.publisher}", which is acknowledged`;
  }

  #presence(topic: string, payload: Buffer): string | undefined {
    const found = parsePayload(payload);
    const acked = this.#acked.get(topic);
    if (found.topic !== topic) return `holds a message for "${found.topic}"`;
    if (acked === undefined || found.number >= acked.number) return undefined;
    const fate = acked.isClear ? 'took it away' : 'took its place';
    return `holds ${found.number} of "${found.publisher}", but ${acked.number} ${fate} and is acknowledged`;
  }
}

export class RetainedBook {
  readonly #entries = new Map<string, Entry>();
  readonly #violations: Violations;

  constructor(violations: Violations) {
    this.#violations = violations;
  }

  sent({ topic, isClear, number }: Sent): void {
    const entry = this.#entries.get(topic) ?? { acked: undefined, lastClear: 0 };
    if (isClear) entry.lastClear = number;
    this.#entries.set(topic, entry);
  }

  acknowledged(sent: Sent): void {
    const entry = this.#entries.get(sent.topic);
    if (entry !== undefined) entry.acked = sent;
  }

  /** Ask before subscribing, judge afterwards: what comes meanwhile is newer. */
  claims(): RetainedClaims {
    return new RetainedClaims(this.#entries);
  }

  judge(claims: RetainedClaims, found: ReadonlyMap<string, Buffer>): void {
    for (const objection of claims.objections(found)) this.#violations.add('retained', objection);
  }
}
