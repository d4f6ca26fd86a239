// The same as asking.ts in one thread: the only worker is this one.

import { describeError } from '#base/errors';
import type { Gathered } from '#base/gather';
import { unanswered } from './asking.ts';
import type { Upheld, WorkersFace } from './node-face.ts';
import {
  type Place,
  type Question,
  type ReportListener,
  ReportListeners,
  type ReportName,
} from './place.ts';
import { type VerbAnswer, type VerbArgs, type VerbName, type Verbs, verbsOf } from './verbs.ts';

export class AskingHere implements WorkersFace {
  readonly #verbs: Verbs;
  readonly #listeners = new ReportListeners();
  #answer: Question = unanswered;

  constructor(place: Omit<Place, 'report' | 'ask' | 'index'>) {
    this.#verbs = verbsOf({
      ...place,
      index: 0,
      ask: (plugin, question, args) => this.#answer(plugin, question, args),
      report: (name, value) => this.#listeners.tell(name, value, 0),
    });
  }

  async anywhere<V extends VerbName>(verb: V, args: VerbArgs<V>): Promise<VerbAnswer<V>> {
    const run = this.#verbs[verb] as (...args: VerbArgs<V>) => unknown;
    return (await run(...args)) as VerbAnswer<V>;
  }

  atClient<V extends VerbName>(
    _clientId: string,
    verb: V,
    args: VerbArgs<V>,
  ): Promise<VerbAnswer<V> | undefined> {
    return this.anywhere(verb, args);
  }

  async everywhere<V extends VerbName>(
    verb: V,
    args: VerbArgs<V>,
  ): Promise<Gathered<string, VerbAnswer<V>>> {
    try {
      return { answers: [['worker 0', await this.anywhere(verb, args)]], missing: [] };
    } catch (error) {
      return { answers: [], missing: [['worker 0', describeError(error)]] };
    }
  }

  async uphold<V extends VerbName>(verb: V, args: Upheld<V>): Promise<readonly VerbAnswer<V>[]> {
    return [await this.anywhere(verb, typeof args === 'function' ? args() : args)];
  }

  onQuestion(answer: Question): void {
    this.#answer = answer;
  }

  onReport<N extends ReportName>(name: N, listener: ReportListener<N>): void {
    this.#listeners.add(name, listener);
  }
}
