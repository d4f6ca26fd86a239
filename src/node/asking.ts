// Asking workers by verbs, and hearing what they report. Law: what is upheld holds in every worker that
// lets anybody in: those that are there, and each successor before it listens.

import { CallError, type Calls } from '#base/calls';
import type { Clock } from '#base/clock';
import { gather, type Gathered } from '#base/gather';
import type { Upheld, WorkersFace } from './node-face.ts';
import {
  type Question,
  type ReportListener,
  ReportListeners,
  type ReportName,
  type Reports,
} from './place.ts';
import type { VerbAnswer, VerbArgs, VerbName } from './verbs.ts';
import type { ControlCalls, WorkerCalls } from './worker-calls.ts';

/** A worker that can be asked. */
export interface Asked {
  readonly index: number;
  readonly calls: Calls<WorkerCalls, ControlCalls>;
  readonly isUp: boolean;
}

export interface AskingParts {
  readonly clock: Clock;
  readonly workers: () => readonly Asked[];
  /** Who has the session of a client; undefined: nobody. */
  readonly ownerOf: (clientId: string) => number | undefined;
}

const answerMsMax = 10_000;

export class Asking implements WorkersFace {
  readonly #parts: AskingParts;
  readonly #upheld = new Map<VerbName, { argsNow: () => readonly unknown[]; deadlineMs: number }>();
  readonly #listeners = new ReportListeners();
  #answer: Question = unanswered;

  constructor(parts: AskingParts) {
    this.#parts = parts;
  }

  async atClient<V extends VerbName>(
    clientId: string,
    verb: V,
    args: VerbArgs<V>,
  ): Promise<VerbAnswer<V> | undefined> {
    const owner = this.#parts.ownerOf(clientId);
    const asked = owner === undefined ? undefined : this.#parts.workers()[owner];
    return asked && ask(asked, verb, args, answerMsMax);
  }

  async anywhere<V extends VerbName>(
    verb: V,
    args: VerbArgs<V>,
    deadlineMs: number = answerMsMax,
  ): Promise<VerbAnswer<V>> {
    const asked = this.#parts.workers().find(({ isUp }) => isUp);
    if (asked === undefined) {
      throw new CallError('call_closed', `Cannot ask for ${verb}: no worker is up`);
    }
    return ask(asked, verb, args, deadlineMs);
  }

  everywhere<V extends VerbName>(
    verb: V,
    args: VerbArgs<V>,
    deadlineMs: number = answerMsMax,
  ): Promise<Gathered<string, VerbAnswer<V>>> {
    const { clock, workers } = this.#parts;
    return gather(
      workers().map(
        (asked) => [`worker ${asked.index}`, ask(asked, verb, args, deadlineMs)] as const,
      ),
      { clock, deadlineMs },
    );
  }

  async uphold<V extends VerbName>(
    verb: V,
    args: Upheld<V>,
    deadlineMs: number = answerMsMax,
  ): Promise<readonly VerbAnswer<V>[]> {
    const argsNow = typeof args === 'function' ? args : () => args;
    this.#upheld.set(verb, { argsNow, deadlineMs });
    // One that is down is told before it lets anybody in, and so is the successor of one that dies now.
    const up = this.#parts.workers().filter(({ isUp }) => isUp);
    const answers = await Promise.all(
      up.map((asked) =>
        ask(asked, verb, argsNow(), deadlineMs).then((answer) => [answer], passIfClosed),
      ),
    );
    return answers.flat() as VerbAnswer<V>[];
  }

  /** A worker is about to listen. */
  async prepare(asked: Asked): Promise<void> {
    for (const [verb, { argsNow, deadlineMs }] of this.#upheld) {
      await ask(asked, verb, argsNow() as never, deadlineMs);
    }
  }

  onQuestion(answer: Question): void {
    this.#answer = answer;
  }

  /** The worker part of a plugin asks. */
  asked(plugin: string, question: string, args: readonly unknown[]): Promise<unknown> {
    return this.#answer(plugin, question, args);
  }

  onReport<N extends ReportName>(name: N, listener: ReportListener<N>): void {
    this.#listeners.add(name, listener);
  }

  reported<N extends ReportName>(worker: number, name: N, value: Reports[N]): void {
    this.#listeners.tell(name, value, worker);
  }
}

/** Nobody answers before there are plugins. */
export const unanswered: Question = async (plugin) => {
  throw new TypeError(`Cannot ask ${plugin}: there is no plugin host`);
};

function passIfClosed(error: unknown): [] {
  if (!(error instanceof CallError && error.code === 'call_closed')) throw error;
  return [];
}

function ask<V extends VerbName>(
  { calls }: Asked,
  verb: V,
  args: VerbArgs<V>,
  deadlineMs: number,
): Promise<VerbAnswer<V>> {
  const asked = calls.call(verb, args as Readonly<Parameters<WorkerCalls[V]>>, deadlineMs);
  return asked as Promise<VerbAnswer<V>>;
}
