// What a run came to, in numbers.

import type { Level } from './books.ts';

export const endings = ['kill', 'kill-at-start', 'stop', 'kill-at-stop'] as const;
/** How a process was ended: at work, before it listened or soon after, asked to, or while it stopped. */
export type Ending = (typeof endings)[number];

export class Figures {
  rounds = 0;
  readonly ended: Record<Ending, number> = {
    kill: 0,
    'kill-at-start': 0,
    stop: 0,
    'kill-at-stop': 0,
  };
  readonly acknowledged: Record<Level, number> = { 1: 0, 2: 0 };
  delivered = 0;
  /** Copies beyond the first, where QoS 1 allows them. */
  repeated = 0;
  lost = 0;
  /** Publishes that the broker could not store, and said so. */
  refused = 0;
  /** Connections that an older one of the same client took over, its CONNECT being read later. */
  crossed = 0;
  /** From the launch of a process to the first CONNACK. */
  readonly restartMs: number[] = [];
  /** Sessions that had a CONNACK and nothing else acknowledged, and were gone after a kill. */
  unproven = 0;

  get kills(): number {
    const { kill, 'kill-at-start': atStart, 'kill-at-stop': atStop } = this.ended;
    return kill + atStart + atStop;
  }

  /** One line, for progress. */
  get line(): string {
    const { 1: one, 2: two } = this.acknowledged;
    return (
      `${this.rounds} rounds, ${this.kills} kills, ${this.ended.stop} stops; acknowledged ` +
      `${one} QoS 1, ${two} QoS 2; delivered ${this.delivered}, repeated ${this.repeated}`
    );
  }

  /** A line for each figure. `counts`: violations by kind. */
  summary(counts: ReadonlyMap<string, number>): string {
    const sorted = this.restartMs.toSorted((a, b) => a - b);
    const at = (share: number): string =>
      (
        sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN
      ).toFixed(0);
    const rows: [string, string | number][] = [
      ['rounds', this.rounds],
      ...endings.map((ending): [string, number] => [`ended by ${ending}`, this.ended[ending]]),
      ['acknowledged QoS 1', this.acknowledged[1]],
      ['acknowledged QoS 2', this.acknowledged[2]],
      ['delivered', this.delivered],
      ['repeated (QoS 1)', this.repeated],
      ['lost', this.lost],
      ['doubled (QoS 2)', counts.get('doubled') ?? 0],
      ['restart to first CONNACK, ms', `p50 ${at(0.5)}, p99 ${at(0.99)}, max ${at(1)}`],
      ['refused', this.refused],
      ['taken over by an older one', this.crossed],
      ['sessions gone, CONNACK only', this.unproven],
      ['violations', [...counts].map(([kind, count]) => `${kind} ${count}`).join(', ') || 'none'],
    ];
    const width = Math.max(...rows.map(([name]) => name.length));
    return rows.map(([name, value]) => `${name.padEnd(width)}  ${value}`).join('\n');
  }
}
