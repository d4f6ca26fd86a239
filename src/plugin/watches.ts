// What a plugin watches: messages on topics, seen when they are accepted, without hooks. Laws: topics that
// nobody watches pay nothing; a message is shown once, however many filters of one call match it; what a
// call throws is the plugin's failure and nobody else's.

import { filterFault, parseFilter } from '#topics/topic';
import type { MessageView } from '#hooks/table';
import type { Watcher } from '#core/filter-node';

export type Watch = (message: MessageView) => void;

/** Where watchers are; core's FilterTable is one. */
export interface WatchedTopics {
  watch(filter: string | undefined, watcher: Watcher): void;
  unwatch(filter: string | undefined, watcher: Watcher): void;
}

interface Watching {
  readonly watcher: Watcher;
  readonly filters: Set<string | undefined>;
}

export class Watches {
  readonly #topics: WatchedTopics;
  readonly #failed: (error: unknown) => void;
  readonly #byCall = new Map<Watch, Watching>();
  #state: 'waiting' | 'placed' | 'over' = 'waiting';

  constructor(topics: WatchedTopics, failed: (error: unknown) => void) {
    this.#topics = topics;
    this.#failed = failed;
  }

  get count(): number {
    let count = 0;
    for (const { filters } of this.#byCall.values()) count += filters.size;
    return count;
  }

  /** Undefined: every topic. Answers how to stop. */
  add(filter: string | undefined, call: Watch): () => void {
    if (this.#state === 'over') throw new TypeError('Cannot watch: the plugin is unloaded');
    if (filter !== undefined) refuseBad(filter);
    const watching = this.#watchingOf(call);
    if (watching.filters.has(filter)) {
      throw new TypeError(`Cannot watch "${filter ?? 'everything'}": this function does already`);
    }
    watching.filters.add(filter);
    if (this.#state === 'placed') this.#topics.watch(filter, watching.watcher);
    return () => this.#remove(filter, call, watching);
  }

  #watchingOf(call: Watch): Watching {
    const known = this.#byCall.get(call);
    if (known !== undefined) return known;
    const watcher: Watcher = (message) => {
      try {
        call(message);
      } catch (error) {
        this.#failed(error);
      }
    };
    const watching = { watcher, filters: new Set<string | undefined>() };
    this.#byCall.set(call, watching);
    return watching;
  }

  #remove(filter: string | undefined, call: Watch, { watcher, filters }: Watching): void {
    if (!filters.delete(filter)) return;
    if (filters.size === 0) this.#byCall.delete(call);
    if (this.#state === 'placed') this.#topics.unwatch(filter, watcher);
  }

  /** The plugin has started: from now on it sees messages. */
  place(): void {
    this.#state = 'placed';
    for (const { watcher, filters } of this.#byCall.values()) {
      for (const filter of filters) this.#topics.watch(filter, watcher);
    }
  }

  end(): void {
    const wasPlaced = this.#state === 'placed';
    this.#state = 'over';
    for (const { watcher, filters } of this.#byCall.values()) {
      if (wasPlaced) for (const filter of filters) this.#topics.unwatch(filter, watcher);
      filters.clear();
    }
    this.#byCall.clear();
  }
}

function refuseBad(filter: string): void {
  const fault = filterFault(filter);
  if (fault !== undefined) throw new TypeError(`Cannot watch "${filter}": ${fault}`);
  if (parseFilter(filter).filter === filter) return;
  throw new TypeError(`Cannot watch "${filter}": it is a shared subscription, expected a filter`);
}
