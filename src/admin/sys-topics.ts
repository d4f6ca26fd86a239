// The topics under `$SYS/brokers/<node>/` that the node as a whole publishes: by the clock what it is and
// what it counts, at once what its threads and alarms have to say. Laws: the first round comes after one
// interval; what is retained is there in every worker, those included that are started again.

import type { Clock, ClockTimer } from '#base/clock';
import { describeError } from '#base/errors';
import type { Logger } from '#base/log';
import type { Settings } from '#config/settings';
import type { SystemEntry } from '#observe/system-publisher';
import type { NodeFace, WorkersFace } from '#node/node-face';
import { allMetrics, allStats } from './all-metrics.ts';
import { systemDescription } from './host-figures.ts';
import type { PluginsFace } from './plugins-face.ts';
import { localTime } from './timestamps.ts';
import { uptimeText } from './uptime.ts';

export interface SystemTopicsParts {
  readonly workers: WorkersFace;
  readonly settings: Settings;
  readonly clock: Clock;
  readonly log: Logger;
}

/** What is published by the clock. */
export interface SystemFigures {
  readonly node: Pick<NodeFace, 'stats' | 'metrics'>;
  readonly plugins: Pick<PluginsFace, 'metrics' | 'gauges'>;
  /** `0.1.0` */
  readonly version: string;
  readonly upMs: () => number;
}

export class SystemTopics implements AsyncDisposable {
  readonly #parts: SystemTopicsParts;
  readonly #prefix: string;
  readonly #timers = new Set<ClockTimer>();
  readonly #underWay = new Set<Promise<void>>();
  #isOver = false;

  constructor(parts: SystemTopicsParts) {
    this.#parts = parts;
    this.#prefix = `$SYS/brokers/${parts.settings.node.name}/`;
  }

  /** `path`: below `$SYS/brokers/<node>/`. Nobody waits for it. */
  publish(path: string, payload: string): void {
    this.#watch(this.#publish([this.#entry(path, payload)]));
  }

  start(figures: SystemFigures): void {
    const { sysIntervalMs, sysHeartbeatMs } = this.#parts.settings.broker;
    this.#every(sysIntervalMs, () => this.#publishFigures(figures));
    this.#every(sysHeartbeatMs, () => this.#publishHeartbeat(figures));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isOver = true;
    for (const timer of this.#timers) timer.cancel();
    this.#timers.clear();
    await Promise.all(this.#underWay);
  }

  #every(ms: number, publish: () => Promise<void>): void {
    if (this.#isOver) return;
    const timer = this.#parts.clock.setTimer(ms, () => {
      this.#timers.delete(timer);
      this.#every(ms, publish);
      this.#watch(publish());
    });
    this.#timers.add(timer);
  }

  async #publishFigures(figures: SystemFigures): Promise<void> {
    const { version } = figures;
    const { workers, settings } = this.#parts;
    const retained: SystemEntry[] = [
      { topic: '$SYS/brokers', payload: settings.node.name, qos: 0, retain: true },
      { ...this.#entry('version', `v${version}`), retain: true },
      { ...this.#entry('sysdescr', systemDescription), retain: true },
    ];
    const counts = [
      ...this.#entriesOf('stats', withSuboptions(allStats(figures))),
      ...this.#entriesOf('metrics', allMetrics(figures)),
    ];
    await workers.uphold('retainSystem', [retained]);
    await this.#publish([...retained, ...counts]);
  }

  async #publishHeartbeat({ upMs }: SystemFigures): Promise<void> {
    const nowMs = this.#parts.clock.nowMs();
    await this.#publish([
      this.#entry('uptime', uptimeText(upMs())),
      this.#entry('datetime', localTime(nowMs)),
    ]);
  }

  #entry(path: string, payload: string): SystemEntry {
    return { topic: this.#prefix + path, payload, qos: 0, retain: false };
  }

  #entriesOf(branch: string, counts: Readonly<Record<string, number>>): SystemEntry[] {
    return Object.entries(counts).map(([name, count]) =>
      this.#entry(`${branch}/${name}`, String(count)),
    );
  }

  async #publish(entries: readonly SystemEntry[]): Promise<void> {
    await this.#parts.workers.anywhere('publishSystem', [entries]);
  }

  /** A worker that is down gets the next round. */
  #watch(publishing: Promise<void>): void {
    const watched = publishing
      .catch((error: unknown) => {
        this.#parts.log.debug('system_topics.unpublished', { error: describeError(error) });
      })
      .finally(() => this.#underWay.delete(watched));
    this.#underWay.add(watched);
  }
}

/** What a subscription was asked for with is kept once for each: the counts are the same. */
function withSuboptions(stats: Readonly<Record<string, number>>): Record<string, number> {
  return {
    ...stats,
    'suboptions/count': stats['subscriptions/count'] ?? 0,
    'suboptions/max': stats['subscriptions/max'] ?? 0,
  };
}
