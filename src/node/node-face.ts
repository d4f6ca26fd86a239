// A running node as management sees it, however many threads it has. Its workers are asked by verbs
// (verbs.ts): the one that has a client, any one, or all of them.

import type { Gathered } from '#base/gather';
import type { Alarms } from '#core/alarms';
import type { HistogramCounts } from '#core/histograms';
import type { Store } from '#core/store-port';
import type { IntegrationFace } from './integration-calls.ts';
import type { ThreadStatus } from './thread-status.ts';
import type { Question, ReportListener, ReportName } from './place.ts';
import type { VerbAnswer, VerbArgs, VerbName } from './verbs.ts';

/** What outlives the process, besides messages: records by kind. */
export type NodeRecords = Pick<Store, 'records' | 'flushed'>;

export type Upheld<V extends VerbName> = VerbArgs<V> | (() => VerbArgs<V>);

/** Asks the workers of a node. */
export interface WorkersFace {
  /** At the worker that has the session of this client. Undefined: nobody has one. */
  atClient<V extends VerbName>(
    clientId: string,
    verb: V,
    args: VerbArgs<V>,
  ): Promise<VerbAnswer<V> | undefined>;
  /** At one worker, the same as long as it lives. */
  anywhere<V extends VerbName>(
    verb: V,
    args: VerbArgs<V>,
    deadlineMs?: number,
  ): Promise<VerbAnswer<V>>;
  /** At all workers: who answered, and who did not in time, with the reason. */
  everywhere<V extends VerbName>(
    verb: V,
    args: VerbArgs<V>,
    deadlineMs?: number,
  ): Promise<Gathered<string, VerbAnswer<V>>>;
  /**
   * At all workers, and at each that comes later before it lets anybody in, until the same verb is
   * upheld with other arguments: state that every worker has to have (bans, traces). A function is
   * asked for the arguments each time, for what is long and changes by little: those that are there are
   * told the changes by `everywhere`, and those that come later the whole of it. Answers what those that
   * are there said.
   */
  uphold<V extends VerbName>(
    verb: V,
    args: Upheld<V>,
    deadlineMs?: number,
  ): Promise<readonly VerbAnswer<V>[]>;
  /** Who answers what the worker parts of plugins ask. */
  onQuestion(answer: Question): void;
  /** Heard from all workers, those that come later too. */
  onReport<N extends ReportName>(name: N, listener: ReportListener<N>): void;
}

export interface NodeFace {
  readonly workers: WorkersFace;
  /** Of each listener, in the order of the settings. */
  readonly ports: readonly number[];
  readonly alarms: Alarms;
  readonly records: NodeRecords;
  /** How many entries each table of the store has, of what is on disk. */
  tables(): Readonly<Record<string, number>>;
  metrics(): Readonly<Record<string, number>>;
  stats(): Readonly<Record<string, number>>;
  histograms(): readonly HistogramCounts[];
  /** How its threads are doing, by name; the integration thread when something has needed it. */
  threads(deadlineMs: number): Promise<Gathered<string, ThreadStatus>>;
  readonly integration: IntegrationFace;
  /** Rejects when the node cannot go on. */
  readonly failed: Promise<never>;
  stop(): Promise<void>;
}

/** Called when the workers are there and nobody has been let in. */
export type BeforeListening = (
  workers: WorkersFace,
  records: NodeRecords,
  alarms: Alarms,
  integration: IntegrationFace,
) => Promise<void>;
