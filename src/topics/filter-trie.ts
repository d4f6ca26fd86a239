// Filters → values, indexed so that one walk down a topic finds every filter that matches it.
// Pure and synchronous; what the values are (subscribers, rules, peers) is the caller's business.

import { levelEnd } from './match.ts';
import { isSystem } from './topic.ts';

/**
 *   set a/b, a/+, a/#, +/c            match a/b, level by level
 *
 *          (root)                     before 'a'   { root }
 *        a ╱    ╲ +                   before 'b'   { a, + }        a visits a/#
 *  a/# ← (a)     (+)                  at the end   { b, + of a }   they visit a/b and a/+
 *     b ╱   ╲ +     ╲ c
 *   a/b ←   a/+ ←    +/c ←
 *
 * Invariants: a node without an entry and without children does not exist, except the root
 * (`delete` prunes upward). '#' is not a node: it hangs as `below` on the node it covers, so `a/#`
 * also matches `a`. From the root a topic that begins with '$' takes only the literal child
 * [MQTT-4.7.2-1].
 *
 * Cost of a match: the nodes visited, never more than the trie has, however many levels the topic
 * has: a level is cut off the topic only while some node waits for it, and nothing recurses, so
 * 65 535 slashes end where the stored filters end. `get`, `size` and iteration go through one Map
 * beside the trie. A filter costs 72 bytes for each level that it shares with nobody; a limit on
 * levels is the caller's.
 */
export class FilterTrie<V> {
  readonly #root: TrieNode<V> = new TrieNode<V>(undefined, '');
  readonly #entries: Map<string, Entry<V>> = new Map();

  get size(): number {
    return this.#entries.size;
  }

  /** Nodes below the root, to watch memory by; counted by walking them all. */
  get nodeCount(): number {
    let count = -1;
    const waiting = [this.#root];
    for (let node = waiting.pop(); node; node = waiting.pop()) {
      count++;
      if (node.plus) waiting.push(node.plus);
      if (node.literals instanceof Map)
        for (const child of node.literals.values()) waiting.push(child);
      else if (node.literals) waiting.push(node.literals);
    }
    return count;
  }

  get(filter: string): V | undefined {
    return this.#entries.get(filter)?.value;
  }

  set(filter: string, value: V): void {
    const known = this.#entries.get(filter);
    if (known) {
      known.value = value;
      return;
    }
    let node = this.#root;
    let start = 0;
    let entry: Entry<V> | undefined;
    while (entry === undefined) {
      const end = levelEnd(filter, start);
      const level = filter.slice(start, end);
      const isLast = end === filter.length;
      if (isLast && level === '#') {
        entry = node.below = { value, node };
      } else {
        node = node.grow(level);
        if (isLast) entry = node.exact = { value, node };
      }
      start = end + 1;
    }
    this.#entries.set(filter, entry);
  }

  /** True when the filter was there. */
  delete(filter: string): boolean {
    const entry = this.#entries.get(filter);
    if (entry === undefined) return false;
    this.#entries.delete(filter);
    const { node } = entry;
    if (node.below === entry) node.below = undefined;
    else node.exact = undefined;
    prune(node);
    return true;
  }

  /**
   * Visits the value of every filter that matches a topic name, in no promised order. A visit may
   * change the trie; whether this walk still sees the change is not promised.
   */
  match(topic: string, visit: (value: V) => void): void {
    const wildcardsFrom = isSystem(topic) ? 1 : 0; // [MQTT-4.7.2-1]
    let reached = [this.#root];
    for (let start = 0; reached.length > 0; ) {
      const end = levelEnd(topic, start);
      const level = topic.slice(start, end);
      const next: TrieNode<V>[] = [];
      for (const node of reached) {
        const literal = node.literal(level);
        if (literal) next.push(literal);
        if (start < wildcardsFrom) continue;
        if (node.plus) next.push(node.plus);
        if (node.below) visit(node.below.value);
      }
      if (end === topic.length) {
        for (const { exact, below } of next) {
          if (exact) visit(exact.value);
          if (below) visit(below.value);
        }
        return;
      }
      reached = next;
      start = end + 1;
    }
  }

  /** In the order in which the filters were first set. */
  *[Symbol.iterator](): Generator<[filter: string, value: V]> {
    for (const [filter, { value }] of this.#entries) yield [filter, value];
  }
}

interface Entry<V> {
  value: V;
  readonly node: TrieNode<V>;
}

class TrieNode<V> {
  readonly parent: TrieNode<V> | undefined;
  readonly level: string;
  /** One child stands here by itself: most nodes of deep filters have no second. */
  literals: TrieNode<V> | Map<string, TrieNode<V>> | undefined = undefined;
  plus: TrieNode<V> | undefined = undefined;
  /** The filter that ends at this node. */
  exact: Entry<V> | undefined = undefined;
  /** The filter that ends in '#' below this node. */
  below: Entry<V> | undefined = undefined;

  constructor(parent: TrieNode<V> | undefined, level: string) {
    this.parent = parent;
    this.level = level;
  }

  literal(level: string): TrieNode<V> | undefined {
    const { literals } = this;
    if (literals === undefined) return undefined;
    if (literals instanceof Map) return literals.get(level);
    return literals.level === level ? literals : undefined;
  }

  /** The child for a level of a filter, made when missing. */
  grow(level: string): TrieNode<V> {
    if (level === '+') {
      this.plus ??= new TrieNode<V>(this, level);
      return this.plus;
    }
    const known = this.literal(level);
    if (known) return known;
    const child = new TrieNode<V>(this, level);
    const { literals } = this;
    if (literals === undefined) this.literals = child;
    else if (literals instanceof Map) literals.set(level, child);
    else {
      this.literals = new Map([
        [literals.level, literals],
        [level, child],
      ]);
    }
    return child;
  }

  drop(child: TrieNode<V>): void {
    if (this.plus === child) this.plus = undefined;
    else if (this.literals === child) this.literals = undefined;
    else if (this.literals instanceof Map) {
      this.literals.delete(child.level);
      if (this.literals.size === 0) this.literals = undefined;
    }
  }

  get isBare(): boolean {
    return !(this.exact || this.below || this.literals || this.plus);
  }
}

function prune<V>(from: TrieNode<V>): void {
  for (let node = from; node.parent && node.isBare; node = node.parent) node.parent.drop(node);
}
