// What an action that uses a resource has done in the integration thread: plain data, which goes from thread to
// thread.

import type { Params } from '../actions/param-spec.ts';

export interface ResourceJob {
  readonly resource: string;
  /** Of the action of the rule: jobs of one wait in one line. */
  readonly action: string;
  /** As the type of the resource knows it. */
  readonly job: unknown;
  /** How much of memory it takes, about. */
  readonly bytes: number;
}

/** A resource that is to run. */
export interface ResourceOrder {
  readonly id: string;
  readonly type: string;
  readonly config: Params;
  /** Another one each time that it changes. */
  readonly revision: number;
}

export interface ResourceOptions {
  readonly isLinkLocalDenied: boolean;
  /** Where buffers on disk are, each in a folder of its own. */
  readonly bufferDir: string;
}
