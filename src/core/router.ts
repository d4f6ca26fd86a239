// Whom a topic reaches. Two layers, the second asked only when the first cannot answer:
//
//   match cache    topic bytes (as latin1) → Route      one map lookup, or none: callers keep Routes
//   filter table   filter → its subscriptions           filter-table.ts
//
// Invariants: a topic has at most one cached Route, refreshed in place, so callers may keep it; one
// that left the cache is *forgotten* for good and `refresh` answers its successor. A change of an
// exact filter marks the one Route it touches; a change of a wildcard filter costs O(1) here, and each
// Route checks, when next used, the few filters changed since.

import { latin1Of } from '#base/latin1';
import { matches } from '#topics/match';
import { hasWildcard } from '#topics/topic';
import type { Delivery } from './delivery.ts';
import {
  type FilterNode,
  groupsOf,
  listOf,
  mergedOf,
  type RoutePeer,
  routePeersOf,
  type Watcher,
  watchersOf,
} from './filter-node.ts';
import type { FilterTable } from './filter-table.ts';
import type { Message } from './message.ts';
import type { Wait } from './ports.ts';
import type { SharedGroup } from './shared-groups.ts';
import { isSystemTopic } from './system-topics.ts';
import { bothWaits } from './wait.ts';

/** Where messages on one topic go. Use only after `Router.refresh` or `Router.route*`. */
export interface Route {
  readonly topic: string;
  /** The topic as it stands on the wire. */
  readonly bytes: Buffer;
  deliveries: readonly Delivery[];
  groups: readonly SharedGroup[];
  /** Other workers with subscribers to this topic. */
  peers: readonly RoutePeer[];
  /** Who sees what is published there. */
  watchers: readonly Watcher[];
  /** Only the broker itself publishes there. */
  readonly isSystem: boolean;
  /** All deliveries are plain, there are no groups and no watchers; and clients may publish there. */
  isPlain: boolean;
  isStale: boolean;
  /** No longer in the cache, and therefore no longer told of changes. */
  isForgotten: boolean;
  generation: number;
  /** Memory of its own, in references; lists shared with other Routes weigh nothing. */
  weight: number;
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

const noPeers: readonly RoutePeer[] = [];
const nobody: readonly Watcher[] = [];

export class Router {
  readonly filters: FilterTable;
  readonly #routes = new Map<string, Route>();
  readonly #changes: string[] = new Array<string>(changesMax).fill('');
  readonly #onFault: (clientId: string, error: unknown) => void;
  #weight = 0;
  generation = 0;

  /** `onFault`: delivering to one session threw, which must not become the publisher's fault. */
  constructor(filters: FilterTable, onFault: (clientId: string, error: unknown) => void) {
    this.filters = filters;
    this.#onFault = onFault;
    filters.onChange = this.#onChanged;
    // So far behind, a Route is built anew.
    filters.onEveryChange = () => {
      this.generation += changesMax + 1;
    };
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

  /**
   * Hands a message to everyone its route names; the route is up to date. Answers how many copies
   * were made.
   */
  dispatch(message: Message, route: Route, waits: { wait: Wait }): number {
    const { groups, peers } = route;
    let wait = this.dispatchHere(message, route);
    for (let i = 0; i < groups.length; i++) {
      const stored = this.#dispatchTo(message, groups[i] as SharedGroup);
      if (stored !== undefined) wait = bothWaits(wait, stored);
    }
    for (let i = 0; i < peers.length; i++) {
      const { peer, isStored } = peers[i] as RoutePeer;
      const stored = peer.forward(message, isStored && message.qos > 0);
      if (stored !== undefined) wait = bothWaits(wait, stored);
    }
    if (wait !== undefined) waits.wait = bothWaits(waits.wait, wait);
    return route.deliveries.length + groups.length + peers.length;
  }

  /** To the plain subscribers of this worker alone: of a message that another one has sent us. */
  dispatchHere(message: Message, { deliveries, groups }: Route): Wait {
    message.isShared = deliveries.length + groups.length > 1;
    let wait: Wait;
    for (let i = 0; i < deliveries.length; i++) {
      const stored = this.deliver(message, deliveries[i] as Delivery);
      if (stored !== undefined) wait = bothWaits(wait, stored);
    }
    return wait;
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

  /** A subscription has come or gone, here or elsewhere. */
  readonly #onChanged = (filter: string): void => {
    if (hasWildcard(filter)) {
      this.#changes[this.generation % changesMax] = filter;
      this.generation++;
      return;
    }
    const route = this.#routes.get(keyOf(Buffer.from(filter, 'utf8')));
    if (route !== undefined) route.isStale = true;
  };

  #remember(topic: string): Route {
    const bytes = Buffer.from(topic, 'utf8');
    const isKept = bytes.length <= topicBytesMax;
    const route: Route = {
      topic,
      bytes,
      deliveries: [],
      groups: [],
      peers: noPeers,
      watchers: nobody,
      isSystem: isSystemTopic(topic),
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
    const nodes = this.filters.match(route.topic);
    const isShared = nodes.length === 1;
    route.deliveries = isShared ? listOf(nodes[0] as FilterNode) : mergedOf(nodes);
    route.groups = groupsOf(nodes);
    route.peers = routePeersOf(nodes);
    route.watchers = watchersOf(nodes, this.filters.watchingAll);
    const isAlone = route.groups.length + route.watchers.length === 0;
    const isPlain = isAlone && route.deliveries.every((one) => one.isPlain);
    route.isPlain = isPlain && !route.isSystem;
    route.isStale = false;
    route.generation = this.generation;
    if (route.isForgotten) return;
    this.#weight -= route.weight;
    route.weight =
      route.groups.length +
      route.peers.length +
      route.watchers.length +
      (isShared ? 0 : route.deliveries.length * mergedWeight);
    this.#weight += route.weight;
    if (this.#routes.size > routesMax || this.#weight > weightMax) this.#forgetOldest();
  }
}

/** UTF-8 bytes as latin1: the cheapest string that bytes on the wire can be compared with. */
const keyOf = (topic: Buffer): string => latin1Of(topic, 0, topic.length);
