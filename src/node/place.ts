// Where a verb runs, and what a worker tells the control thread by itself; see verbs.ts.

import type { LogLevelName } from '#base/log';
import type { Broker } from '#core/broker';
import type { ListenerReport } from '#net/listener';
import type { FlappingEvent } from '#observe/flapping';
import type { SysmonReport } from '#observe/thread-watch';
import type { TraceBatch } from '#observe/tracer';

/** The worker that a verb runs in. */
export interface Place {
  readonly broker: Broker;
  /** Of this worker, from 0. */
  readonly index: number;
  /** Asks the control part of a plugin. */
  readonly ask: LongQuestion;
  /** Of each listener, in the order of the settings. */
  readonly listeners: () => readonly ListenerReport[];
  /** Of the listeners, by their place in the settings; all others are open. */
  readonly keepClosed: (places: readonly number[]) => Promise<void>;
  /** Of this worker's log. */
  readonly setLogLevel: (level: LogLevelName) => void;
  /** Tells the control thread; see `Reports`. */
  readonly report: Report;
}

/** What the worker part of a plugin asks its control part. */
export type Question = (
  plugin: string,
  question: string,
  args: readonly unknown[],
) => Promise<unknown>;

/** `isLong`: only the end of the other thread ends the wait. */
export type LongQuestion = (
  ...asked: [...Parameters<Question>, isLong?: boolean]
) => Promise<unknown>;

/** What workers tell the control thread without being asked. */
export interface Reports {
  /** Lines of traces, those of one turn. */
  readonly traced: TraceBatch;
  /** Something about its thread; see `watchThread`. */
  readonly sysmon: SysmonReport;
  /** Who came and went, in zones that watch for it; those of one turn. */
  readonly flapping: readonly FlappingEvent[];
}
export type ReportName = keyof Reports;
export type Report = <N extends ReportName>(name: N, value: Reports[N]) => void;
export type ReportListener<N extends ReportName> = (value: Reports[N], worker: number) => void;

/** Who hears what workers report. */
export class ReportListeners {
  readonly #byName = new Map<ReportName, ReportListener<never>[]>();

  add<N extends ReportName>(name: N, listener: ReportListener<N>): void {
    this.#byName.set(name, [...(this.#byName.get(name) ?? []), listener]);
  }

  tell<N extends ReportName>(name: N, value: Reports[N], worker: number): void {
    for (const listener of this.#byName.get(name) ?? []) listener(value as never, worker);
  }
}
