// What stands for the integration thread in a node of one thread: the same answers, given here. Loaded when
// something needs it first.

import type { Clock } from '#base/clock';
import type { Logger } from '#base/log';
import type { ResourceOptions, ResourceOrder } from '#rules/resources/job';
import type { IntegrationCalls, IntegrationFace } from './integration-calls.ts';

export class IntegrationHere implements IntegrationFace {
  readonly #clock: Clock;
  readonly #log: Logger;
  #here: Promise<IntegrationCalls> | undefined;
  #isStopping = false;
  #owner: object | undefined;

  constructor(clock: Clock, log: Logger) {
    this.#clock = clock;
    this.#log = log;
  }

  get isRunning(): boolean {
    return this.#here !== undefined;
  }

  /** Whatever it is bounds itself: there is no other thread that could hang. */
  async call<Name extends keyof IntegrationCalls>(
    name: Name,
    args: Readonly<Parameters<IntegrationCalls[Name]>>,
  ): Promise<Awaited<ReturnType<IntegrationCalls[Name]>>> {
    if (this.#isStopping) throw new Error(`Cannot call "${name}": the node stops`);
    this.#here ??= this.#open();
    const answers = await this.#here;
    const answer = answers[name] as (...given: typeof args) => unknown;
    return (await answer(...args)) as Awaited<ReturnType<IntegrationCalls[Name]>>;
  }

  uphold(orders: readonly ResourceOrder[], options: ResourceOptions, owner: object): Promise<void> {
    this.#owner = owner;
    return this.call('upholdResources', [orders, options]);
  }

  async leave(owner: object): Promise<void> {
    if (this.#owner !== owner || this.#isStopping) return;
    this.#owner = undefined;
    await (await this.#here)?.closeResources();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isStopping = true;
    await (await this.#here)?.closeResources();
  }

  async #open(): Promise<IntegrationCalls> {
    const { ResourceHost } = await import('#rules/resources/resource-host');
    const { integrationAnswers } = await import('./integration-answers.ts');
    const host = new ResourceHost(this.#clock, this.#log);
    return integrationAnswers(host);
  }
}
