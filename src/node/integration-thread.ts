// The control thread's side of integration.ts: started by the first call, and by the next one after it
// has died. Law: a call to it settles by its answer, its deadline, or the end of the thread.

import { MessageChannel, Worker } from 'node:worker_threads';
import { CallError, Calls } from '#base/calls';
import type { Clock } from '#base/clock';
import { describeError } from '#base/errors';
import type { Logger } from '#base/log';
import type { IntegrationCalls, IntegrationOwnerCalls } from './integration-calls.ts';

export interface IntegrationThreadOptions {
  readonly clock: Clock;
  readonly log: Logger;
  /** For tests: what the thread runs. */
  readonly entry?: URL;
}

interface Running {
  readonly calls: Calls<IntegrationCalls, IntegrationOwnerCalls>;
  readonly ended: Promise<void>;
}

export class IntegrationThread implements AsyncDisposable {
  readonly #options: IntegrationThreadOptions;
  #running: Running | undefined;
  #isStopping = false;

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

  #over(running: Running): void {
    if (this.#running === running) this.#running = undefined;
  }

  #start(): Running {
    const { clock, log, entry = new URL('integration.ts', import.meta.url) } = this.#options;
    const { port1, port2 } = new MessageChannel();
    const worker = new Worker(entry, {
      workerData: { port: port2 },
      transferList: [port2],
      name: 'integration',
    });
    const calls = new Calls<IntegrationCalls, IntegrationOwnerCalls>({
      port: port1,
      ours: {},
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
    return running;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isStopping = true;
    const running = this.#running;
    running?.calls.close();
    await running?.ended;
  }
}
