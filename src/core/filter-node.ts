// Everything that is subscribed to one filter (without its `$share/<group>/`): by sessions of this
// worker, by shared subscriptions, by other workers. And what Routes are made of: the nodes that match
// a topic, taken together.

import { type Delivery, mergeDeliveries, type Subscriber } from './delivery.ts';
import type { Message } from './message.ts';
import { Interest, type Peer } from './peers-port.ts';
import type { Wait } from './ports.ts';
import type { SharedGroup } from './shared-groups.ts';

/** Another worker on a Route; `isStored`: acknowledgements have to wait for it. */
export interface RoutePeer {
  readonly peer: Peer;
  readonly isStored: boolean;
}

/** Sees messages when they are accepted, before anybody is sent them. It must not throw. */
export type Watcher = (message: Message) => void;

export class FilterNode {
  readonly filter: string;
  readonly deliveries: Map<Subscriber, Delivery> = new Map();
  /** Those among them whose messages the store has to have. */
  stored = 0;
  /** Made for the first: most filters have none. */
  groups: Map<string, SharedGroup> | undefined;
  peers: Map<Peer, Interest> | undefined;
  /** Who wants to see what is published there, without being sent it. */
  watchers: Set<Watcher> | undefined;
  /** The deliveries as a list, shared by all Routes that this filter alone matches. */
  list: readonly Delivery[] | undefined;
  /** What the other workers were told of it, and the wait until they know. */
  toldLevel: Interest = Interest.none;
  told: Wait;
  isCounted = false;

  constructor(filter: string) {
    this.filter = filter;
  }

  /** What the other workers have to know; shared subscriptions are theirs to see member by member. */
  get level(): Interest {
    if (this.deliveries.size === 0) return Interest.none;
    return this.stored > 0 ? Interest.stored : Interest.some;
  }

  /** Somebody of this worker subscribes to it. */
  get isLocal(): boolean {
    if (this.deliveries.size > 0) return true;
    return this.groups?.values().some(({ hasLocals }) => hasLocals) === true;
  }

  get isEmpty(): boolean {
    const others = (this.groups?.size ?? 0) + (this.peers?.size ?? 0) + (this.watchers?.size ?? 0);
    return this.deliveries.size === 0 && others === 0;
  }

  /** The first of the other workers that have subscribers to it. */
  get lowestPeer(): number {
    let lowest = Number.POSITIVE_INFINITY;
    for (const { index } of this.peers?.keys() ?? []) lowest = Math.min(lowest, index);
    for (const { peerIndexes } of this.groups?.values() ?? []) {
      lowest = Math.min(lowest, ...peerIndexes);
    }
    return lowest;
  }
}

export const listOf = (node: FilterNode): readonly Delivery[] =>
  (node.list ??= [...node.deliveries.values()]);

/** One delivery per session, whichever of its filters match. */
export function mergedOf(nodes: readonly FilterNode[]): readonly Delivery[] {
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

export function groupsOf(nodes: readonly FilterNode[]): readonly SharedGroup[] {
  return nodes.flatMap((node) => [...(node.groups?.values() ?? [])]);
}

/** Each other worker once, whichever filters it has. */
export function routePeersOf(nodes: readonly FilterNode[]): readonly RoutePeer[] {
  let levels: Map<Peer, Interest> | undefined;
  for (const node of nodes) {
    for (const [peer, level] of node.peers ?? []) {
      levels ??= new Map();
      if (level > (levels.get(peer) ?? Interest.none)) levels.set(peer, level);
    }
  }
  if (levels === undefined) return noPeers;
  return Array.from(levels, ([peer, level]) => ({ peer, isStored: level === Interest.stored }));
}

/** Each once, whichever filters it has. */
export function watchersOf(
  nodes: readonly FilterNode[],
  ofAll: ReadonlySet<Watcher>,
): readonly Watcher[] {
  let found: Set<Watcher> | undefined = ofAll.size > 0 ? new Set(ofAll) : undefined;
  for (const { watchers } of nodes) {
    if (watchers === undefined) continue;
    found ??= new Set();
    for (const watcher of watchers) found.add(watcher);
  }
  return found === undefined ? nobody : [...found];
}

const nobody: readonly Watcher[] = [];
const noPeers: readonly RoutePeer[] = [];
