// Who wants to know of an event, by the topic that it is about: those of all topics, and those of a filter.
// Finding costs what the topic's own filters cost, however many others there are.

import { FilterTrie } from '#topics/filter-trie';

export class TopicIndex<T> {
  readonly #all = new Set<T>();
  readonly #byFilter = new FilterTrie<Set<T>>();

  get isEmpty(): boolean {
    return this.#all.size === 0 && this.#byFilter.size === 0;
  }

  /** Undefined: whatever the topic is. */
  add(filters: readonly string[] | undefined, one: T): void {
    if (filters === undefined) this.#all.add(one);
    for (const filter of filters ?? []) {
      const there = this.#byFilter.get(filter);
      if (there === undefined) this.#byFilter.set(filter, new Set([one]));
      else there.add(one);
    }
  }

  remove(filters: readonly string[] | undefined, one: T): void {
    this.#all.delete(one);
    for (const filter of filters ?? []) {
      const there = this.#byFilter.get(filter);
      there?.delete(one);
      if (there?.size === 0) this.#byFilter.delete(filter);
    }
  }

  /** Each once, whichever of its filters match. */
  find(topic: string | undefined): Iterable<T> {
    if (this.#byFilter.size === 0 || topic === undefined) return this.#all;
    let found: ReadonlySet<T> | undefined;
    this.#byFilter.match(topic, (some) => {
      found = found === undefined ? some : new Set([...found, ...some]);
    });
    if (found === undefined) return this.#all;
    return this.#all.size === 0 ? found : new Set([...this.#all, ...found]);
  }
}
