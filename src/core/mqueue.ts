// The messages a session cannot be given yet: bounded per priority, the oldest of the same priority
// goes first when it is full, higher priorities leave first. Without a table of priorities it is one
// queue, and a session that never queues holds no storage.

import { Deque } from '#base/deque';
import type { ZoneSettings } from '#config/settings';
import type { Delivery } from './delivery.ts';
import type { Message } from './message.ts';
import type { Stored } from './session-journal.ts';

export interface Queued extends Stored {
  readonly message: Message;
  readonly delivery: Delivery;
  /** A client may have been sent it before. */
  readonly mayBeSent: boolean;
}

type Limits = Pick<ZoneSettings, 'maxMqueueLen' | 'mqueuePriorities' | 'mqueueDefaultPriority'>;

export class Mqueue {
  readonly #limits: Limits;
  /** By priority, highest first; one entry when no priorities are set. */
  #lanes: { readonly priority: number; readonly queue: Deque<Queued> }[] = [];
  length = 0;
  dropped = 0;
  /** Among them those that no store was told of. */
  unpromised = 0;

  constructor(limits: Limits) {
    this.#limits = limits;
  }

  /** Answers the message that had to go, if one had to. */
  push(queued: Queued): Queued | undefined {
    const queue = this.#laneFor(queued.message.topic);
    queue.push(queued);
    this.#count(queued, 1);
    const max = this.#limits.maxMqueueLen;
    if (max === 0 || queue.length <= max) return undefined;
    this.dropped++;
    return this.#count(queue.shift() as Queued, -1);
  }

  /** One more of this topic's priority would be one too many. */
  isFullFor(topic: string): boolean {
    const { maxMqueueLen: max } = this.#limits;
    const priority = this.#priorityOf(topic);
    const lane = this.#lanes.find((one) => one.priority === priority);
    return max > 0 && (lane?.queue.length ?? 0) >= max;
  }

  /** Takes back what was queued before, whatever the bound. */
  restore(queued: Queued): void {
    this.#laneFor(queued.message.topic).push(queued);
    this.#count(queued, 1);
  }

  #count(queued: Queued, by: 1 | -1): Queued {
    this.length += by;
    if (queued.seq === 0) this.unpromised += by;
    return queued;
  }

  peek(): Queued | undefined {
    for (const { queue } of this.#lanes) {
      if (queue.length > 0) return queue.peek();
    }
    return undefined;
  }

  shift(): Queued | undefined {
    for (const { queue } of this.#lanes) {
      if (queue.length > 0) return this.#count(queue.shift() as Queued, -1);
    }
    return undefined;
  }

  /** Takes out the oldest that no store was told of. */
  takeUnpromised(): Queued | undefined {
    if (this.unpromised === 0) return undefined;
    for (const { queue } of this.#lanes) {
      for (let i = 0; i < queue.length; i++) {
        if ((queue.at(i) as Queued).seq === 0) return this.#count(queue.removeAt(i), -1);
      }
    }
    return undefined;
  }

  /** Takes out everything that `wanted` names, in order. */
  extract(wanted: (queued: Queued) => boolean): Queued[] {
    const taken: Queued[] = [];
    for (const { queue } of this.#lanes) {
      for (let left = queue.length; left > 0; left--) {
        const queued = queue.shift() as Queued;
        if (wanted(queued)) taken.push(this.#count(queued, -1));
        else queue.push(queued);
      }
    }
    return taken;
  }

  #laneFor(topic: string): Deque<Queued> {
    const priority = this.#priorityOf(topic);
    for (const lane of this.#lanes) if (lane.priority === priority) return lane.queue;
    const queue = new Deque<Queued>();
    this.#lanes.push({ priority, queue });
    this.#lanes.sort((a, b) => b.priority - a.priority);
    return queue;
  }

  #priorityOf(topic: string): number {
    const table = this.#limits.mqueuePriorities;
    if (table.size === 0) return 0;
    const listed = table.get(topic);
    if (listed !== undefined) return listed;
    return this.#limits.mqueueDefaultPriority === 'highest' ? 256 : -1;
  }
}
