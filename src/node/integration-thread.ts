// The control thread's side of integration.ts: started by the first call, and by the next one after it
// has died; by itself, a moment later, where resources are upheld there. Law: a call to it settles by its
// answer, its deadline, or the end of the thread.

import { MessageChannel, Worker } from 'node:worker_threads';
import { CallError, Calls } from '#base/calls';
import type { Clock, ClockTimer } from '#base/clock';
import { describeError } from '#base/errors';
import type { Logger, RootLogger } from '#base/log';
import { writeRelayed } from '#base/log-relay';
import type { ResourceOptions, ResourceOrder } from '#rules/resources/job';
import type {
  IntegrationCalls,
  IntegrationFace,
  IntegrationOwnerCalls,
} from './integration-calls.ts';

export interface IntegrationThreadOptions {
  readonly clock: Clock;
  readonly log: Logger;
  /** Where its lines go; without one they go nowhere. */
  readonly root?: RootLogger;
  readonly charsLimit?: number;
  /** For tests: what the thread runs. */
  readonly entry?: URL;
}

interface Running {
  readonly calls: Calls<IntegrationCalls, IntegrationOwnerCalls>;
  readonly ended: Promise<void>;
}

const ownEntry = new URL('integration.ts', import.meta.url);
const upholdMsMax = 10_000;
const closeMsMax = 3000;
/** How long after its death one that upholds something is started again. */
const restartMs = 1000;

export class IntegrationThread implements IntegrationFace {
  readonly #options: IntegrationThreadOptions;
  #running: Running | undefined;
  #isStopping = false;
  #owner: object | undefined;
  #upheld: Parameters<IntegrationCalls['upholdResources']> | undefined;
  #restart: ClockTimer | undefined;

  constructor(options: IntegrationThreadOptions) {
    this.#options = options;
  }

  get isRunning(): boolean {
    return this.#running !== undefined;
  }

  call<Name extends keyof IntegrationCalls>(
    name: Name,
    args: Readonly<Parameters<IntegrationCalls[Name]>>,
    deadlineMs: number,
  ): Promise<Awaited<ReturnType<IntegrationCalls[Name]>>> {
    if (this.#isStopping) {
      return Promise.reject(new Error(`Cannot call "${name}": the integration thread has stopped`));
    }
    this.#running ??= this.#start();
    const running = this.#running;
    return running.calls.call(name, args, deadlineMs).catch((error: unknown) => {
      // Its port closes a moment before its thread is over.
      if (error instanceof CallError && error.code === 'call_closed') this.#over(running);
      throw error;
    });
  }

  async leave(owner: object): Promise<void> {
    const options = this.#upheld?.[1];
    if (this.#owner !== owner || this.#isStopping || options === undefined) return;
    await this.uphold([], options, owner);
  }

  async uphold(
    orders: readonly ResourceOrder[],
    options: ResourceOptions,
    owner: object,
  ): Promise<void> {
    const { isRunning } = this;
    this.#owner = owner;
    const isNeeded = isRunning || orders.length > 0;
    // Before it is upheld: a thread that starts would be told twice.
    const told = isNeeded && this.call('upholdResources', [orders, options], upholdMsMax);
    this.#upheld = orders.length === 0 ? undefined : [orders, options];
    await told;
  }

  #over(running: Running): void {
    if (this.#running !== running) return;
    this.#running = undefined;
    if (this.#upheld === undefined || this.#isStopping) return;
    this.#restart?.cancel();
    this.#restart = this.#options.clock.setTimer(restartMs, () => {
      if (!this.#isStopping) this.#running ??= this.#start();
    });
  }

  #start(): Running {
    const { clock, log, root, charsLimit = 0, entry = ownEntry } = this.#options;
    const { port1, port2 } = new MessageChannel();
    const worker = new Worker(entry, {
      workerData: { port: port2, level: root?.level ?? 'emergency', charsLimit },
      transferList: [port2],
      name: 'integration',
    });
    const calls = new Calls<IntegrationCalls, IntegrationOwnerCalls>({
      port: port1,
      ours: { log: (lines) => root !== undefined && writeRelayed(root, lines) },
      clock,
      peer: 'integration',
      onFault: (error) => log.error('integration.failed', { error: describeError(error) }),
    });
    worker.on('error', (error) => log.error('integration.died', { error: describeError(error) }));
    const { promise: ended, resolve } = Promise.withResolvers<void>();
    const running = { calls, ended };
    worker.once('exit', () => {
      this.#over(running);
      calls.close();
      resolve();
    });
    if (this.#upheld !== undefined) {
      // Before anything else that it is asked; what it answers is told by the calls that follow.
      calls.call('upholdResources', this.#upheld, upholdMsMax).catch((error: unknown) => {
        log.error('integration.not_ready', { error: describeError(error) });
      });
    }
    return running;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isStopping = true;
    this.#restart?.cancel();
    const running = this.#running;
    // One that hangs is not waited for.
    await running?.calls.call('closeResources', [], closeMsMax).catch(() => undefined);
    running?.calls.close();
    await running?.ended;
  }
}
