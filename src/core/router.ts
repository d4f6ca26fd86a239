// Which sessions a topic reaches. Three layers, each asked only when the one before cannot answer:
//
//   match cache   topic bytes (as latin1) → Route      one map lookup, or none: callers keep Routes
//   exact map     filter → its subscriptions           filters without wildcards
//   filter trie   the same for filters with wildcards
//
// Invariants: a topic has at most one cached Route, refreshed in place, so callers may keep it; one
// that left the cache is *forgotten* for good and `refresh` answers its successor. A change of an
// exact filter marks the one Route it touches; a change of a wildcard filter costs O(1) here, and each
// Route checks, when next used, the few filters changed since.

import { latin1Of } from '#base/latin1';
import { FilterTrie } from '#topics/filter-trie';
import { matches } from '#topics/match';
import { hasWildcard } from '#topics/topic';
import { type Delivery, mergeDeliveries, type Subscriber } from './delivery.ts';
import type { Message } from './message.ts';
import { Metric, type Metrics } from './metrics.ts';
import type { Peers, Wait } from './ports.ts';
import { SharedGroup, type SharedOptions } from './shared-groups.ts';
import type { Stats } from './stats.ts';
import { bothWaits } from './wait.ts';

/** Everything that is subscribed to one filter (without its `$share/<group>/`). */
interface FilterNode {
  readonly filter: string;
  readonly deliveries: Map<Subscriber, Delivery>;
  /** Made for the first: most filters have none. */
  groups: Map<string, SharedGroup> | undefined;
  /** The deliveries as a list, shared by all Routes that this filter alone matches. */
  list: readonly Delivery[] | undefined;
}

/** Where messages on one topic go. Use only after `Router.refresh` or `Router.route*`. */
export interface Route {
  readonly topic: string;
  /** The topic as it stands on the wire. */
  readonly bytes: Buffer;
  deliveries: readonly Delivery[];
  groups: readonly SharedGroup[];
  /** All deliveries are plain and there are no groups. */
  isPlain: boolean;
  isStale: boolean;
  /** No longer in the cache, and therefore no longer told of changes. */
  isForgotten: boolean;
  generation: number;
  /** Memory of its own, in references; lists shared with other Routes weigh nothing. */
  weight: number;
}

/** What a router needs of the broker around it. */
export interface RouterParts {
  readonly peers: Peers;
  readonly stats: Stats;
  readonly metrics: Metrics;
  /** Delivering to one session threw: its fault must not become the publisher's or the others'. */
  readonly onFault: (clientId: string, error: unknown) => void;
}

/** Topics remembered at most; the oldest eighth goes when it is full. */
const routesMax = 131_072;
/** Longer topics are not remembered, so that the cache is bounded in bytes too. */
const topicBytesMax = 512;
/** References that all Routes together may hold, and what a merged delivery counts for: about 32 MB. */
const weightMax = 4 * 1024 * 1024;
const mergedWeight = 16;
/** Changed wildcard filters remembered; a Route that is further behind is built anew. */
const changesMax = 32;

export class Router {
  readonly #exact = new Map<string, FilterNode>();
  readonly #wild = new FilterTrie<FilterNode>();
  readonly #routes = new Map<string, Route>();
  readonly #changes: string[] = new Array<string>(changesMax).fill('');
  readonly #peers: Peers;
  readonly #stats: Stats;
  readonly #metrics: Metrics;
  readonly #onFault: RouterParts['onFault'];
  readonly #shared: SharedOptions;
  #weight = 0;
  generation = 0;

  constructor(parts: RouterParts, shared: SharedOptions) {
    this.#peers = parts.peers;
    this.#stats = parts.stats;
    this.#metrics = parts.metrics;
    this.#onFault = parts.onFault;
    this.#shared = shared;
  }

  /** The Route of a topic as it came over the wire. `decode` is asked for one that is not known. */
  routeOf(
    bytes: Buffer,
    start: number,
    end: number,
    decode: (bytes: Buffer, start: number, end: number) => string,
  ): Route {
    const known = this.#routes.get(latin1Of(bytes, start, end));
    return known === undefined ? this.#remember(decode(bytes, start, end)) : this.refresh(known);
  }

  routeTo(topic: string): Route {
    const known = this.#routes.get(keyOf(Buffer.from(topic, 'utf8')));
    return known === undefined ? this.#remember(topic) : this.refresh(known);
  }

  /** Brings a kept Route up to date, or answers its successor: keep the answer instead. */
  refresh(route: Route): Route {
    if (route.isStale) {
      if (route.isForgotten) return this.routeTo(route.topic);
      this.#rebuild(route);
    } else if (route.generation !== this.generation) {
      this.#catchUp(route);
    }
    return route;
  }

  add(filter: string, groupName: string | undefined, delivery: Delivery): void {
    const node = this.#nodeFor(filter);
    if (groupName === undefined) {
      if (!node.deliveries.has(delivery.session)) this.#stats.move('subscribers', 1);
      node.deliveries.set(delivery.session, delivery);
      node.list = undefined;
    } else {
      node.groups ??= new Map();
      let group = node.groups.get(groupName);
      if (group === undefined) {
        group = new SharedGroup(groupName, filter, this.#shared);
        node.groups.set(groupName, group);
      }
      group.set({ ...delivery, group });
    }
    this.#changed(filter);
  }

  remove(filter: string, groupName: string | undefined, session: Subscriber): void {
    const node = this.#find(filter);
    if (node === undefined) return;
    if (groupName === undefined) {
      if (node.deliveries.delete(session)) this.#stats.move('subscribers', -1);
      node.list = undefined;
    } else {
      const group = node.groups?.get(groupName);
      group?.delete(session);
      if (group?.size === 0) node.groups?.delete(groupName);
    }
    if (node.deliveries.size === 0 && (node.groups?.size ?? 0) === 0) this.#drop(node);
    this.#changed(filter);
  }

  /**
   * Hands a message to everyone its route names; the route is up to date. Answers how many copies
   * were made.
   */
  dispatch(message: Message, route: Route, waits: { wait: Wait }): number {
    const { deliveries, groups } = route;
    message.isShared = deliveries.length + groups.length > 1;
    let wait: Wait;
    for (let i = 0; i < deliveries.length; i++) {
      const delivery = deliveries[i] as Delivery;
      const stored = this.deliver(message, delivery);
      if (stored !== undefined) wait = bothWaits(wait, stored);
    }
    for (let i = 0; i < groups.length; i++) {
      const stored = this.#dispatchTo(message, groups[i] as SharedGroup);
      if (stored !== undefined) wait = bothWaits(wait, stored);
    }
    if (this.#peers.present) {
      this.#metrics.add(Metric.messagesForward);
      wait = bothWaits(wait, this.#peers.forward(message));
    }
    if (wait !== undefined) waits.wait = bothWaits(waits.wait, wait);
    return deliveries.length + groups.length;
  }

  /** To one session. A throw is our fault, and must not become the publisher's or the others'. */
  deliver(message: Message, delivery: Delivery): Wait {
    try {
      return delivery.session.deliver(message, delivery);
    } catch (error) {
      this.#onFault(delivery.session.clientId, error);
      return undefined;
    }
  }

  #dispatchTo(message: Message, group: SharedGroup): Wait {
    try {
      return group.dispatch(message);
    } catch (error) {
      this.#onFault(`$share/${group.name}`, error);
      return undefined;
    }
  }

  /** A shared subscription, while it has members. */
  group(filter: string, name: string): SharedGroup | undefined {
    return this.#find(filter)?.groups?.get(name);
  }

  /** Filters with at least one subscription, for management. */
  *filters(): Generator<string> {
    yield* this.#exact.keys();
    for (const [filter] of this.#wild) yield filter;
  }

  #find(filter: string): FilterNode | undefined {
    return hasWildcard(filter) ? this.#wild.get(filter) : this.#exact.get(filter);
  }

  #nodeFor(filter: string): FilterNode {
    const found = this.#find(filter);
    if (found !== undefined) return found;
    const node: FilterNode = {
      filter,
      deliveries: new Map(),
      groups: undefined,
      list: undefined,
    };
    if (hasWildcard(filter)) this.#wild.set(filter, node);
    else this.#exact.set(filter, node);
    this.#peers.interest(filter, true);
    this.#countTopics();
    return node;
  }

  #drop(node: FilterNode): void {
    if (hasWildcard(node.filter)) this.#wild.delete(node.filter);
    else this.#exact.delete(node.filter);
    this.#peers.interest(node.filter, false);
    this.#countTopics();
  }

  #countTopics(): void {
    const count = this.#exact.size + this.#wild.size;
    this.#stats.set('topics', count);
    this.#stats.set('routes', count);
  }

  #changed(filter: string): void {
    if (hasWildcard(filter)) {
      this.#changes[this.generation % changesMax] = filter;
      this.generation++;
      return;
    }
    const route = this.#routes.get(keyOf(Buffer.from(filter, 'utf8')));
    if (route !== undefined) route.isStale = true;
  }

  #remember(topic: string): Route {
    const bytes = Buffer.from(topic, 'utf8');
    const isKept = bytes.length <= topicBytesMax;
    const route: Route = {
      topic,
      bytes,
      deliveries: [],
      groups: [],
      isPlain: true,
      isStale: true,
      isForgotten: !isKept,
      generation: 0,
      weight: 0,
    };
    if (isKept) this.#routes.set(keyOf(bytes), route);
    this.#rebuild(route);
    if (!isKept) route.isStale = true;
    return route;
  }

  /** Makes room, an eighth at a time. Insertion order is age. */
  #forgetOldest(): void {
    const routesLeft = (routesMax / 8) * 7;
    const weightLeft = (weightMax / 8) * 7;
    for (const [key, route] of this.#routes) {
      if (this.#routes.size <= routesLeft && this.#weight <= weightLeft) break;
      route.isStale = true;
      route.isForgotten = true;
      this.#weight -= route.weight;
      this.#routes.delete(key);
    }
  }

  #catchUp(route: Route): void {
    const behind = this.generation - route.generation;
    let isTouched = behind > changesMax;
    for (let i = 1; i <= behind && !isTouched; i++) {
      const changed = this.#changes[(this.generation - i) % changesMax] as string;
      isTouched = matches(changed, route.topic);
    }
    if (isTouched) this.#rebuild(route);
    else route.generation = this.generation;
  }

  #rebuild(route: Route): void {
    const nodes: FilterNode[] = [];
    const exact = this.#exact.get(route.topic);
    if (exact !== undefined) nodes.push(exact);
    this.#wild.match(route.topic, (node) => void nodes.push(node));
    const isShared = nodes.length === 1;
    route.deliveries = isShared ? listOf(nodes[0] as FilterNode) : mergedOf(nodes);
    route.groups = nodes.flatMap((node) => [...(node.groups?.values() ?? [])]);
    route.isPlain = route.groups.length === 0 && route.deliveries.every((one) => one.isPlain);
    route.isStale = false;
    route.generation = this.generation;
    if (route.isForgotten) return;
    this.#weight -= route.weight;
    route.weight = route.groups.length + (isShared ? 0 : route.deliveries.length * mergedWeight);
    this.#weight += route.weight;
    if (this.#routes.size > routesMax || this.#weight > weightMax) this.#forgetOldest();
  }
}

const listOf = (node: FilterNode): readonly Delivery[] =>
  (node.list ??= [...node.deliveries.values()]);

/** One delivery per session, whichever of its filters match. */
function mergedOf(nodes: readonly FilterNode[]): readonly Delivery[] {
  const bySession = new Map<Subscriber, Delivery[]>();
  for (const node of nodes) {
    for (const [session, delivery] of node.deliveries) {
      const parts = bySession.get(session);
      if (parts === undefined) bySession.set(session, [delivery]);
      else parts.push(delivery);
    }
  }
  return Array.from(bySession.values(), mergeDeliveries);
}

/** UTF-8 bytes as latin1: the cheapest string that bytes on the wire can be compared with. */
const keyOf = (topic: Buffer): string => latin1Of(topic, 0, topic.length);
