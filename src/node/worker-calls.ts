// What the control thread and a worker ask of each other: the frozen list of calls, as tables of types.
// Laws of the claims: they are told and granted by number, not called, because a grant has to be heard
// before an order that comes right behind it, and the answer of a call is heard a moment later.

import type { MessagePort } from 'node:worker_threads';
import type { RelayedLine } from '#base/log-relay';
import type { AlarmDetails } from '#core/alarms';
import type { ClaimRequest } from '#core/peers-port';
import type { GivenUp, GiveUp } from '#cluster/registry';
import type { Question, ReportName, Reports } from './place.ts';
import type { Verbs } from './verbs.ts';

/** What a worker is asked: to live as part of the node, and what management wants (verbs.ts). */
export type WorkerCalls = Verbs & LifeCalls;

export type LifeCalls = {
  /** Takes up stored sessions: its share at the start, or those that its predecessor owned. */
  restore: (ids: readonly string[] | undefined) => { readonly clientIds: readonly string[] };
  granted: (no: number) => void;
  refused: (no: number, why: string) => void;
  giveUp: (order: GiveUp) => Promise<GivenUp>;
  /** Whether the session has come here, once nothing is under way any more that could bring it. */
  hasSession: (clientId: string) => Promise<boolean>;
  /** Another worker is there, at the other end of the port. */
  peerUp: (index: number, port: MessagePort) => Promise<void>;
  peerDown: (index: number) => Promise<void>;
  /**
   * All workers know each other: what the last process, or the worker before this one, left for others
   * goes to them. Answers how many wills there were.
   */
  begin: (isFirst: boolean) => number;
  /** Opens the listeners, at these ports where they are given; answers the ports. */
  listen: (ports: readonly number[] | undefined) => Promise<readonly number[]>;
  /** Nobody new, everybody told; resolves when all have left and the store has everything. */
  stop: () => Promise<void>;
};

/** What the control thread is told. */
export type ControlCalls = {
  claim: (no: number, request: ClaimRequest) => void;
  release: (clientId: string) => void;
  log: (lines: readonly RelayedLine[]) => void;
  alarm: (change: 'raised' | 'cleared', name: string, details: AlarmDetails) => void;
  report: (name: ReportName, value: Reports[ReportName]) => void;
  /** The worker part of a plugin asks its control part. */
  askPlugin: Question;
};
