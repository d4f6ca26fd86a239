// What the integration thread is asked: the frozen list. Databases, queues and HTTP clients live there,
// so that nothing a slow one does can delay a PUBLISH.

import type { RelayedLine } from '#base/log-relay';
import type { Params } from '#rules/actions/param-spec';
import type { ResourceJob, ResourceOptions, ResourceOrder } from '#rules/resources/job';
import type { ThreadStatus } from './thread-status.ts';

export type IntegrationCalls = {
  status: () => ThreadStatus;
  /** Exactly these resources run from now on. */
  upholdResources: (orders: readonly ResourceOrder[], options: ResourceOptions) => void;
  /** It is deleted, with what waits for it on disk. */
  forgetResource: (id: string) => Promise<void>;
  /** Ends them all; resolves when nothing of them is open. */
  closeResources: () => Promise<void>;
  /** Which of them are alive now. */
  aliveResources: () => Promise<readonly (readonly [string, boolean])[]>;
  /** Undefined: one of this kind came alive. Otherwise the reason. */
  testResource: (
    type: string,
    config: Params,
    options: ResourceOptions,
  ) => Promise<string | undefined>;
  /** Rejects when it has failed for good. */
  performJob: (job: ResourceJob) => Promise<void>;
};

/** What the control thread can be told from there. */
export type IntegrationOwnerCalls = {
  log: (lines: readonly RelayedLine[]) => void;
};

/** The integration thread, or what stands for it in a node of one thread. */
export interface IntegrationFace extends AsyncDisposable {
  /** Something has needed it. */
  readonly isRunning: boolean;
  /** Infinity as deadline: only the end of the thread ends the wait. */
  call<Name extends keyof IntegrationCalls>(
    name: Name,
    args: Readonly<Parameters<IntegrationCalls[Name]>>,
    deadlineMs: number,
  ): Promise<Awaited<ReturnType<IntegrationCalls[Name]>>>;
  /** As `upholdResources`, also for the thread that comes after one that died. */
  uphold(orders: readonly ResourceOrder[], options: ResourceOptions, owner: object): Promise<void>;
  /** None run any more, unless another owner has upheld some since. */
  leave(owner: object): Promise<void>;
}
