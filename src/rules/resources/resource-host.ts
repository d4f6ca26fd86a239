// The resources that run, in whichever thread this is: made, asked whether they live, given jobs. Laws: it is
// brought to what the control thread says each time that it says so; a resource that changed or is gone
// fails what waits for it; what one throws touches no other.

import { existsSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '#base/clock';
import { describeError } from '#base/errors';
import type { Logger } from '#base/log';
import type { Params } from '../actions/param-spec.ts';
import { ActionQueue } from './action-queue.ts';
import { type BufferedJob, DiskBuffer } from './disk-buffer.ts';
import type { ResourceJob, ResourceOptions, ResourceOrder } from './job.ts';
import { bufferLimits, type QueueLimits, queueLimits } from './queue-params.ts';
import { JobFault, type Resource } from './resource-type.ts';
import { resourceTypeNamed } from './type-table.ts';

interface Running {
  readonly order: ResourceOrder;
  readonly resource: Resource;
  readonly limits: QueueLimits;
  readonly queues: Map<string, ActionQueue>;
  /** On disk, where events wait before they come into a queue. */
  readonly buffer: DiskBuffer | undefined;
  free: number;
}

/** What comes from disk waits for somebody to be there; how much comes at once is bounded there. */
function limitsOfDisk({ retryMs }: QueueLimits): QueueLimits {
  const none = Number.POSITIVE_INFINITY;
  return { jobsMax: none, bytesMax: none, awayMs: none, retryMs };
}

/** Of one look at all of them; none takes longer by itself. */
const aliveMsMax = 15_000;

export class ResourceHost {
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #running = new Map<string, Running>();
  /** Those that could not be made, and why. */
  readonly #broken = new Map<string, string>();
  /** Buffers that are being closed, by resource: whoever takes the place waits for it. */
  readonly #closing = new Map<string, Promise<void>>();
  #options: ResourceOptions = { isLinkLocalDenied: true, bufferDir: '' };

  constructor(clock: Clock, log: Logger) {
    this.#clock = clock;
    this.#log = log;
  }

  /** Exactly these from now on. */
  uphold(orders: readonly ResourceOrder[], options: ResourceOptions): void {
    const isOther = options.isLinkLocalDenied !== this.#options.isLinkLocalDenied;
    this.#options = options;
    const wanted = new Map(orders.map((order) => [order.id, order]));
    for (const [id, running] of this.#running) {
      if (isOther || wanted.get(id)?.revision !== running.order.revision) this.#end(running);
    }
    this.#broken.clear();
    for (const order of orders) if (!this.#running.has(order.id)) this.#begin(order);
  }

  /** Which of them are alive now. */
  async alive(): Promise<readonly (readonly [string, boolean])[]> {
    const looks = [...this.#running].map(async ([id, { resource }]) => {
      return [id, (await this.#lifeFault(resource)) === undefined] as const;
    });
    const broken = [...this.#broken.keys()].map((id) => [id, false] as const);
    return [...(await Promise.all(looks)), ...broken];
  }

  /** Undefined: it came alive. Otherwise the reason. */
  async test(type: string, config: Params, options: ResourceOptions): Promise<string | undefined> {
    try {
      const resource = this.#make(type, config, options);
      try {
        return await this.#lifeFault(resource);
      } finally {
        await resource.close();
      }
    } catch (error) {
      return describeError(error);
    }
  }

  /** Resolves when it is done, rejects when it has failed for good. */
  perform({ resource: id, action, job, bytes }: ResourceJob): Promise<void> {
    const running = this.#running.get(id);
    if (running === undefined) {
      const why = this.#broken.get(id) ?? 'there is none';
      return Promise.reject(new JobFault(`Cannot use resource "${id}": ${why}`, false));
    }
    const { buffer } = running;
    if (buffer?.isTaking === true) return buffer.append({ action, job, bytes });
    return this.#queued(running, action, running.limits, { action, job, bytes });
  }

  #queued(
    running: Running,
    line: string,
    limits: QueueLimits,
    { job, bytes }: BufferedJob,
  ): Promise<void> {
    const queue = running.queues.get(line) ?? this.#queueOf(running, line, limits);
    return queue.offer(job, bytes).finally(() => {
      if (queue.isIdle && running.queues.get(line) === queue) running.queues.delete(line);
    });
  }

  /** It is deleted, and with it what waits for it. */
  async forget(id: string): Promise<void> {
    const running = this.#running.get(id);
    if (running !== undefined) this.#end(running);
    const closed = this.#closing.get(id);
    const dir = this.#bufferDir(id);
    const gone = Promise.resolve(closed).then(() => rm(dir, { recursive: true, force: true }));
    // Another one of this name begins when the folder is gone, and not before.
    const over = gone.catch(() => undefined);
    this.#closing.set(id, over);
    await gone;
    if (this.#closing.get(id) === over) this.#closing.delete(id);
  }

  /** Resolves when buffers are closed. */
  async close(): Promise<void> {
    for (const running of this.#running.values()) this.#end(running);
    await Promise.all(this.#closing.values());
  }

  #make(type: string, config: Params, { isLinkLocalDenied }: ResourceOptions): Resource {
    const found = resourceTypeNamed(type);
    if (found === undefined) throw new TypeError(`there is no type "${type}"`);
    return found.create(config, { clock: this.#clock, log: this.#log, isLinkLocalDenied });
  }

  #begin(order: ResourceOrder): void {
    const { id, type, config } = order;
    try {
      const resource = this.#make(type, config, this.#options);
      const free = resource.concurrency;
      const buffer = this.#bufferOf(order);
      const limits = queueLimits(config);
      const running: Running = { order, resource, limits, queues: new Map(), buffer, free };
      this.#running.set(id, running);
      const fromDisk = limitsOfDisk(limits);
      buffer?.drain((job) => this.#queued(running, `disk ${job.action}`, fromDisk, job));
    } catch (error) {
      const text = describeError(error);
      this.#broken.set(id, text);
      this.#log.error('resource.not_started', { resource: id, error: text });
    }
  }

  /** Also where it is not wanted any more and something is left in it. */
  #bufferOf({ id, config }: ResourceOrder): DiskBuffer | undefined {
    const { isWanted, bytesMax } = bufferLimits(config);
    const dir = this.#bufferDir(id);
    if (!isWanted && !existsSync(dir)) return undefined;
    const after = this.#closing.get(id);
    return new DiskBuffer({
      dir,
      bytesMax,
      isTaking: isWanted,
      id,
      log: this.#log,
      clock: this.#clock,
      after,
    });
  }

  #bufferDir(id: string): string {
    // Whatever the id is, this is a folder inside of the other.
    return join(this.#options.bufferDir, encodeURIComponent(id).replace(/^\./, '%2E') || '%');
  }

  #end(running: Running): void {
    const { order, resource, queues, buffer } = running;
    if (buffer !== undefined) this.#closing.set(order.id, buffer.close());
    this.#running.delete(order.id);
    const gone = new JobFault(`Resource "${order.id}" was changed or deleted meanwhile`, false);
    for (const queue of queues.values()) queue.close(gone);
    const failed = (error: unknown): void => {
      this.#log.warn('resource.not_closed', { resource: order.id, error: describeError(error) });
    };
    try {
      void Promise.resolve(resource.close()).catch(failed);
    } catch (error) {
      failed(error);
    }
  }

  #queueOf(running: Running, line: string, limits: QueueLimits): ActionQueue {
    const { resource, queues } = running;
    const queue: ActionQueue = new ActionQueue({
      ...{ resource, limits, clock: this.#clock },
      takeSlot: () => {
        if (running.free === 0) return false;
        running.free--;
        // Behind the others, so that each has its turn.
        queues.delete(line);
        queues.set(line, queue);
        return true;
      },
      freeSlot: () => {
        running.free++;
        for (const one of queues.values()) one.pump();
      },
    });
    queues.set(line, queue);
    return queue;
  }

  /** Undefined: it is alive. */
  async #lifeFault(resource: Resource): Promise<string | undefined> {
    const { promise: late, resolve } = Promise.withResolvers<boolean>();
    const timer = this.#clock.setTimer(aliveMsMax, () => resolve(false));
    try {
      const isAlive = await Promise.race([resource.isAlive(), late]);
      return isAlive ? undefined : 'it cannot be reached';
    } catch (error) {
      // A look that fails has seen no life.
      return error instanceof JobFault ? error.message : describeError(error);
    } finally {
      timer.cancel();
    }
  }
}
