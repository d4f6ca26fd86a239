// What the node tells of itself while it runs, put together: system topics, presence, alarms with their
// history, and the monitors that raise them. Workers are prepared before anybody is let in; what works by
// the clock begins when the node serves.

import { describeError } from '#base/errors';
import { cpuTimes, diskUse, memoryUse } from '#observe/machine';
import { type HostFigures, HostMonitor } from '#observe/host-monitor';
import { type SysmonReport, ThreadWatch } from '#observe/thread-watch';
import type { NodeFace, NodeRecords } from '#node/node-face';
import { AlarmBook } from './alarms.ts';
import { fileFigures } from './host-figures.ts';
import { type SystemFigures, SystemTopics, type SystemTopicsParts } from './sys-topics.ts';

export interface ObservationParts extends SystemTopicsParts {
  readonly records: NodeRecords;
  /** For tests: in place of the real machine. */
  readonly figures?: HostFigures;
}

export interface ObservedNode extends SystemFigures {
  readonly node: Pick<NodeFace, 'stats' | 'metrics' | 'alarms'>;
}

export class Observation implements AsyncDisposable {
  readonly topics: SystemTopics;
  readonly #parts: ObservationParts;
  #watch: ThreadWatch | undefined;
  #host: HostMonitor | undefined;

  constructor(parts: ObservationParts) {
    this.#parts = parts;
    this.topics = new SystemTopics(parts);
  }

  /** Nobody has been let in. */
  async prepare(): Promise<void> {
    const { workers, settings } = this.#parts;
    const { presence, presenceQos } = settings.modules;
    workers.onReport('sysmon', (report, worker) => this.#tell(`worker ${worker}`, report));
    await workers.uphold('presence', [presence ? presenceQos : undefined]);
    // In one thread management is still to be loaded, which takes long enough to be warned of.
    if (settings.node.workers > 0) await this.#watchWorkers();
  }

  async #watchWorkers(): Promise<void> {
    const { workers, settings } = this.#parts;
    await workers.uphold('watchThread', [settings.monitor]);
  }

  /** The node serves. */
  start(observed: ObservedNode): void {
    const { settings, clock, records, log } = this.#parts;
    const { alarms } = observed.node;
    const book = new AlarmBook(alarms, {
      records,
      clock,
      log,
      publish: (path, payload) => this.topics.publish(path, payload),
    });
    this.topics.start(observed);
    this.#host = new HostMonitor({
      clock,
      limits: settings.monitor,
      figures: this.#parts.figures ?? this.#machine(),
      raise: (id, text) => book.raise(id, text),
      clear: (id) => alarms.clear(id),
      onFault: (error) => log.warn('monitor.failed', { error: describeError(error) }),
    });
    // With no worker of its own this thread is the worker, and watched as such.
    if (settings.node.workers === 0) {
      void this.#watchWorkers();
      return;
    }
    const report = (said: SysmonReport): void => this.#tell('control', said);
    this.#watch = new ThreadWatch({ clock, limits: settings.monitor, report });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#host?.[Symbol.dispose]();
    this.#watch?.[Symbol.dispose]();
    await this.topics[Symbol.asyncDispose]();
  }

  #machine(): HostFigures {
    const { dataDir } = this.#parts.settings.node;
    return {
      cpu: cpuTimes,
      memory: memoryUse,
      disk: () => diskUse(dataDir),
      async files() {
        const { open, max } = await fileFigures();
        return open > 0 ? { used: open, max } : undefined;
      },
    };
  }

  #tell(thread: string, { event, info }: SysmonReport): void {
    this.#parts.log.warn(`sysmon.${event}`, { thread, info });
    this.topics.publish(`sysmon/${event}`, `${event} warning: thread = ${thread}, info: ${info}`);
  }
}
