// One worker of a node, whatever thread it runs in: a broker, its peers, and the calls by which the
// control thread speaks to it. Its store and its listeners are handed in.

import type { MessagePort } from 'node:worker_threads';
import { Calls } from '#base/calls';
import type { Clock } from '#base/clock';
import { describeError } from '#base/errors';
import type { Logger } from '#base/log';
import type { Settings } from '#config/settings';
import { Broker } from '#core/broker';
import type { NodeMemory } from '#core/build-core';
import { SharedGroupMemory } from '#core/group-memory';
import { Metrics } from '#core/metrics';
import type { Peers } from '#core/peers-port';
import { SharedCounters } from '#core/shared-counters';
import { Stats } from '#core/stats';
import type { Store } from '#core/store-port';
import { startModules } from '#modules/start-modules';
import type { ListenerReport } from '#net/listener';
import { Alone } from '#cluster/alone';
import type { ClaimAnswer } from '#cluster/registry';
import { WorkerPeers } from '#cluster/worker-peers';
import { homeOf } from './home.ts';
import type { Place } from './place.ts';
import { type Verbs, verbsOf } from './verbs.ts';
import type { ControlCalls, WorkerCalls } from './worker-calls.ts';

export interface WorkerNodeOptions {
  readonly index: number;
  readonly workers: number;
  readonly settings: Settings;
  readonly clock: Clock;
  readonly log: Logger;
  readonly store: Store;
  /** What the threads of the node count in, and what they agree on about shared subscriptions. */
  readonly counters: SharedArrayBuffer;
  readonly groups: SharedArrayBuffer;
  /** To the control thread. */
  readonly port: MessagePort;
  readonly listen: WorkerCalls['listen'];
  readonly listeners: () => readonly ListenerReport[];
  readonly keepClosed: Place['keepClosed'];
  readonly setLogLevel: Place['setLogLevel'];
  readonly stop: () => Promise<void>;
}

/** How long the control part of a plugin may take to answer. */
const askMsMax = 30_000;

export class WorkerNode {
  readonly broker: Broker;
  readonly calls: Calls<ControlCalls, WorkerCalls>;
  readonly #options: WorkerNodeOptions;
  readonly #verbs: Verbs;
  readonly #peers: WorkerPeers | undefined;
  readonly #answers = new Map<number, ClaimAnswer>();
  #claims = 0;
  /** Whose sessions and wills this worker takes up. */
  #isOurs: (clientId: string) => boolean = () => false;

  constructor(options: WorkerNodeOptions) {
    const { index, workers, settings, clock, log, store, counters, port } = options;
    this.#options = options;
    const shared = new SharedCounters(counters);
    const peers: Peers = workers === 1 ? new Alone() : this.#peersWith(shared);
    this.#peers = peers instanceof WorkerPeers ? peers : undefined;
    const node = memoryOf(options, shared);
    this.broker = new Broker({ settings, clock, log, store, peers, node });
    startModules(this.broker.core);
    this.#peers?.serve(this.broker);
    this.#verbs = this.#verbsHere();
    this.calls = new Calls<ControlCalls, WorkerCalls>({
      port,
      ours: this.#ours(),
      clock,
      peer: 'control',
      onFault: (error) => log.error('call.failed', { worker: index, error: describeError(error) }),
    });
    this.broker.core.alarms.onChange((change, { name, details }) =>
      this.calls.tell('alarm', [change, name, details]),
    );
  }

  #peersWith({ retainedPending }: SharedCounters): WorkerPeers {
    const { index, workers, store } = this.#options;
    return new WorkerPeers({
      index,
      workers,
      store,
      retainedPending,
      registry: {
        claim: (request, answer) => {
          const no = ++this.#claims;
          this.#answers.set(no, answer);
          this.calls.tell('claim', [no, request]);
        },
        release: (clientId) => this.calls.tell('release', [clientId]),
      },
    });
  }

  #ours(): WorkerCalls {
    const { listen, stop } = this.#options;
    const answer = (no: number, refusal?: Error): void => {
      const waiting = this.#answers.get(no);
      this.#answers.delete(no);
      waiting?.(refusal);
    };
    return {
      restore: (ids) => this.#restore(ids),
      granted: (no) => answer(no),
      refused: (no, why) => answer(no, new Error(why)),
      giveUp: (order) => this.#withPeers().giveUp(order),
      hasSession: (clientId) => this.#withPeers().hasSession(clientId),
      peerUp: (index, port) => this.#withPeers().peerUp(index, port),
      peerDown: (index) => this.#withPeers().peerDown(index),
      begin: (isFirst) => this.#begin(isFirst),
      listen,
      stop,
      ...this.#verbs,
    };
  }

  #verbsHere(): Verbs {
    const { index, listeners, keepClosed, setLogLevel } = this.#options;
    return verbsOf({
      broker: this.broker,
      index,
      ask: (plugin, question, args, isLong = false) =>
        this.calls.call(
          'askPlugin',
          [plugin, question, args],
          isLong ? Number.POSITIVE_INFINITY : askMsMax,
        ),
      listeners,
      keepClosed,
      setLogLevel,
      report: (name, value) => this.calls.tell('report', [name, value]),
    });
  }

  /** Nobody is here any more: what plugins hold is undone. */
  endPlugins(): Promise<unknown> {
    return this.#verbs.runPlugins([]);
  }

  /** Says and hears nothing any more. */
  close(): void {
    this.calls.close();
    this.#peers?.close();
  }

  #withPeers(): WorkerPeers {
    if (this.#peers === undefined) throw new TypeError('Cannot speak to peers: there are none');
    return this.#peers;
  }

  #restore(ids: readonly string[] | undefined): { readonly clientIds: readonly string[] } {
    const { index, workers } = this.#options;
    const wanted = ids && new Set(ids);
    this.#isOurs = (clientId) =>
      wanted === undefined ? homeOf(clientId, workers) === index : wanted.has(clientId);
    this.broker.restoreSessions(this.#isOurs);
    const clientIds = Array.from(this.broker.core.sessions.values(), (one) => one.clientId);
    this.#peers?.claims.restored(clientIds);
    return { clientIds };
  }

  #begin(isFirst: boolean): number {
    const { index } = this.#options;
    this.#peers?.handOn((from) => isFirst || from === index);
    return this.broker.core.wills.restore(this.#isOurs);
  }
}

function memoryOf(
  { index, workers, groups }: WorkerNodeOptions,
  shared: SharedCounters,
): NodeMemory {
  const stats = new Stats(shared.stats, index);
  const { heldBytes } = shared;
  return {
    index,
    workers,
    stats,
    metrics: new Metrics(shared.countsOf(index), stats),
    groups: new SharedGroupMemory(groups),
    held(here) {
      heldBytes[index] = here;
      let elsewhere = -here;
      for (let i = 0; i < heldBytes.length; i++) elsewhere += heldBytes[i] as number;
      return elsewhere;
    },
  };
}
