// What a kind of resource is: words for people, parameters, and a function that makes one, which runs in the
// integration thread. Laws: making one opens nothing that has to be waited for; whatever one does ends in
// time; one that was closed is never asked again.

import type { Clock } from '#base/clock';
import type { Logger } from '#base/log';
import type { ParamSpecs, Params } from '../actions/param-spec.ts';
import type { Words } from '../rule-service.ts';

export interface ResourceType {
  readonly name: string;
  /** The plugin that brings it. */
  readonly provider: string;
  readonly title: Words;
  readonly description: Words;
  readonly params: ParamSpecs;
  /** What specifications cannot say; throws with the reason. */
  readonly check?: (config: Params) => void;
  readonly create: (config: Params, env: ResourceEnv) => Resource;
}

export interface ResourceEnv {
  readonly clock: Clock;
  readonly log: Logger;
  /** Addresses that belong to the machine's surroundings, cloud metadata above all, are refused. */
  readonly isLinkLocalDenied: boolean;
}

/** One that runs. */
export interface Resource {
  /** Batches under way at once, of all actions together. */
  readonly concurrency: number;
  /** Jobs of one action that it takes together. */
  readonly batchMax: number;
  isAlive(): Promise<boolean>;
  /** All of them or, rejecting, none of them as far as anybody can tell. See JobFault. */
  perform(jobs: readonly unknown[]): Promise<void>;
  close(): void | Promise<void>;
}

/** A job could not be done. Anything else that is thrown is not tried again. */
export class JobFault extends Error {
  override readonly name = 'JobFault';
  /** It may go well the next time. */
  readonly isPassing: boolean;
  /** Nobody is there, and whatever the job, it would have failed. */
  readonly isAway: boolean;

  constructor(message: string, isPassing: boolean, isAway = false) {
    super(message);
    this.isPassing = isPassing;
    this.isAway = isAway;
  }
}

export function defineResourceType(type: ResourceType): ResourceType {
  return type;
}
