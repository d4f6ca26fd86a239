// What the control part of a plugin can do: it runs once on the node, beside management. Law: everything
// is the plugin's own and goes with it.

import type { Clock } from '#base/clock';
import type { Gathered } from '#base/gather';
import type { Logger } from '#base/log';
import type { Alarms } from '#core/alarms';
import type { RecordStore } from '#core/store-port';
import type { IntegrationFace } from '#node/integration-calls';
import type { ResourceOptions, ResourceOrder } from '#rules/resources/job';
import type { Answers, PluginMessage } from '#plugin/worker-context';
import type { ChangedPlugin } from './plugin-shelf.ts';

export interface ControlContext<S = unknown> {
  readonly settings: S;
  readonly log: Logger;
  readonly clock: Clock;
  /** Aborted when the plugin is unloaded. */
  readonly signal: AbortSignal;
  readonly nodeName: string;
  readonly version: string;
  /** The broker's directory; a plugin writes only into one of its own name below it. */
  readonly dataDir: string;
  /** One of the plugin's `metrics`. */
  count(metric: string, by?: number): void;
  /** One of the plugin's `gauges`: there are so many now. */
  gauge(name: string, count: number): void;
  every(ms: number, call: () => unknown): () => void;
  after(ms: number, call: () => unknown): () => void;
  /** Called when the plugin is unloaded. Answers how to have it done now. */
  defer(undo: () => unknown): () => void;
  /** What outlives the process, by key. Await `flushed` before saying that it is kept. */
  records(kind: string): RecordStore;
  flushed(): Promise<void>;
  /** What worker parts can ask, by name; see `WorkerContext.ask`. */
  answers(table: Answers): void;
  /**
   * Asks the worker part in every worker; see `WorkerContext.answers`. Answers who answered, and who did
   * not within 10 seconds or has no answer, with the reason; by `worker 0`, `worker 1` and so on.
   */
  askWorkers(question: string, ...args: readonly unknown[]): Promise<Gathered<string, unknown>>;
  /**
   * The same value for every worker part, those that come later too; see `WorkerContext.onShared`. Resolves
   * when those that run have taken it up.
   */
  share(value: unknown): Promise<void>;
  /** As the broker itself: through hooks, past access control. Resolves to the number of copies when it is safe. */
  publish(message: PluginMessage): Promise<number>;
  /** Ends the connection of a client. False: it is not connected. */
  kick(clientId: string): Promise<boolean>;
  readonly alarms: Pick<Alarms, 'raise' | 'clear'>;
  /** The thread of resources; started when the first is upheld there. */
  readonly integration: Pick<IntegrationFace, 'call'> & {
    /** Until the plugin is unloaded. */
    uphold(orders: readonly ResourceOrder[], options: ResourceOptions): Promise<void>;
  };
  /** Figures of the node, as management reads them. */
  readonly figures: Figures;
  /** The other plugins, for one that looks after them. */
  readonly plugins: PluginsControl;
}

export interface PluginsControl {
  /** Those that run and whose code on disk is another than the one that runs. */
  changed(): readonly ChangedPlugin[];
  /** Takes up the code and the file of one. Rejects with the reason; what ran runs on then. */
  reload(plugin: string): Promise<void>;
}

export interface Figures {
  metrics(): Readonly<Record<string, number>>;
  stats(): Readonly<Record<string, number>>;
  /** As Prometheus reads them. */
  prometheus(): Promise<string>;
}
