// A running node as management sees it, however many threads it has.

import type { Gathered } from '#base/gather';
import type { Alarms } from '#core/alarms';
import type { IntegrationThread } from './integration-thread.ts';
import type { ListKind, Row } from './lists.ts';
import type { ThreadStatus } from './thread-status.ts';

export interface NodeFace {
  /** Of each listener, in the order of the settings. */
  readonly ports: readonly number[];
  readonly alarms: Alarms;
  metrics(): Readonly<Record<string, number>>;
  stats(): Readonly<Record<string, number>>;
  /** Rows by worker, and which workers did not answer in time, with the reason. */
  list(kind: ListKind, deadlineMs: number): Promise<Gathered<string, readonly Row[]>>;
  /** How its threads are doing, by name; the integration thread when something has needed it. */
  threads(deadlineMs: number): Promise<Gathered<string, ThreadStatus>>;
  readonly integration: IntegrationThread;
  /** Ends the connection of a client. False: it is not connected. */
  kick(clientId: string): Promise<boolean>;
  /** Rejects when the node cannot go on. */
  readonly failed: Promise<never>;
  stop(): Promise<void>;
}
