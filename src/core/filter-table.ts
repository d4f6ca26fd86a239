// All subscriptions by filter: those of this worker's sessions, and what the other workers want. Filters
// without wildcards lie in a map, the others in a trie. Law: the other workers are told of a filter
// once when the first plain subscription to it appears here, once when the last one goes, and in
// between when the first or last one does whose messages have to be stored.

import { SortedMap } from '#base/sorted-map';
import { FilterTrie } from '#topics/filter-trie';
import { hasWildcard } from '#topics/topic';
import type { Delivery, Subscriber } from './delivery.ts';
import { FilterNode, type Watcher } from './filter-node.ts';
import { type GroupMemory, LocalGroupMemory } from './group-memory.ts';
import {
  Interest,
  type MemberName,
  type MemberState,
  type Peer,
  type Peers,
} from './peers-port.ts';
import type { Wait } from './ports.ts';
import { RemoteMember } from './remote-member.ts';
import { SharedGroup, type SharedOptions } from './shared-groups.ts';
import type { Stats } from './stats.ts';

export interface FilterTableParts {
  readonly peers: Peers;
  readonly stats: Stats;
  readonly shared: SharedOptions;
  /** Shared with the other workers, where there are any. */
  readonly groups?: GroupMemory | undefined;
  /** This worker's place among all. */
  readonly index?: number | undefined;
}

/** How a member that is not here is delivered to: that is decided where it is. */
const remoteDelivery: Omit<Delivery, 'session'> = {
  qos: 2,
  noLocal: false,
  retainAsPublished: true,
  subscriptionIds: undefined,
  group: undefined,
  isReplay: false,
  isPlain: false,
  mixed: undefined,
};

export class FilterTable {
  readonly #exact = new Map<string, FilterNode>();
  readonly #wild = new FilterTrie<FilterNode>();
  readonly #peers: Peers;
  readonly #stats: Stats;
  readonly #groups: GroupMemory;
  readonly #index: number;
  readonly #shared: SharedOptions;
  /** The filters that this worker counts for the node, in order: all workers together have each once. */
  readonly routes: SortedMap<true> = new SortedMap();
  /** Who sees whatever is published. */
  readonly watchingAll: Set<Watcher> = new Set();
  /** Whom any topic reaches may have changed. */
  onEveryChange: () => void = () => undefined;
  /** Whom a topic reaches that this filter matches may have changed. */
  onChange: (filter: string) => void = () => undefined;

  constructor(parts: FilterTableParts) {
    this.#peers = parts.peers;
    this.#stats = parts.stats;
    this.#groups = parts.groups ?? new LocalGroupMemory();
    this.#index = parts.index ?? 0;
    this.#shared = parts.shared;
  }

  /** All that a topic matches, in no order. */
  match(topic: string): FilterNode[] {
    const nodes: FilterNode[] = [];
    const exact = this.#exact.get(topic);
    if (exact !== undefined) nodes.push(exact);
    this.#wild.match(topic, (node) => void nodes.push(node));
    return nodes;
  }

  /** The wait is over when every other worker knows. `joinNo`: of a member that moved here. */
  add(filter: string, groupName: string | undefined, delivery: Delivery, joinNo?: number): Wait {
    const node = this.#nodeFor(filter);
    if (groupName !== undefined) return this.#join(node, groupName, delivery, joinNo);
    const before = node.deliveries.get(delivery.session);
    if (before === undefined) this.#stats.move('subscribers', 1);
    node.deliveries.set(delivery.session, delivery);
    node.list = undefined;
    if (before === undefined && delivery.session.isStored) node.stored++;
    this.#changed(node);
    return this.#tellInterest(node);
  }

  #join(node: FilterNode, name: string, delivery: Delivery, joinNo: number | undefined): Wait {
    const group = this.#groupIn(node, name);
    const { clientId, isStored, isConnected } = delivery.session;
    // The place of one elsewhere is that of a session that has ended, or is about to.
    const known = group.sessionOf(clientId) instanceof RemoteMember ? undefined : group;
    const place = joinNo ?? known?.joinNoOf(clientId) ?? this.#groups.joinNumber();
    group.set({ ...delivery, group }, place);
    this.#changed(node);
    const { filter } = node;
    return this.#peers.member({
      group: name,
      filter,
      clientId,
      joinNo: place,
      isStored,
      isConnected,
    });
  }

  #groupIn(node: FilterNode, name: string): SharedGroup {
    node.groups ??= new Map();
    let group = node.groups.get(name);
    if (group === undefined) {
      const slot = this.#groups.slotOf(name, node.filter);
      group = new SharedGroup(name, node.filter, this.#shared, slot);
      node.groups.set(name, group);
    }
    return group;
  }

  /** From now on it sees what is published there; undefined: everywhere, also where names begin with `$`. */
  watch(filter: string | undefined, watcher: Watcher): void {
    if (filter === undefined) {
      this.watchingAll.add(watcher);
      this.onEveryChange();
      return;
    }
    const node = this.#nodeFor(filter);
    node.watchers ??= new Set();
    node.watchers.add(watcher);
    this.#changed(node);
  }

  unwatch(filter: string | undefined, watcher: Watcher): void {
    if (filter === undefined) {
      if (this.watchingAll.delete(watcher)) this.onEveryChange();
      return;
    }
    const node = this.#find(filter);
    if (node?.watchers?.delete(watcher) !== true) return;
    if (node.watchers.size === 0) node.watchers = undefined;
    this.#changed(node);
  }

  remove(filter: string, groupName: string | undefined, session: Subscriber): void {
    const node = this.#find(filter);
    if (node === undefined) return;
    if (groupName === undefined) {
      if (node.deliveries.delete(session)) {
        this.#stats.move('subscribers', -1);
        if (session.isStored) node.stored--;
      }
      node.list = undefined;
      void this.#tellInterest(node);
    } else {
      this.#leave(node, groupName, session);
    }
    this.#changed(node);
  }

  #leave(node: FilterNode, name: string, session: Subscriber): void {
    const group = node.groups?.get(name);
    if (group?.has(session) !== true) return;
    group.delete(session);
    if (group.size === 0) node.groups?.delete(name);
    if (session instanceof RemoteMember) return;
    this.#peers.left({ group: name, filter: node.filter, clientId: session.clientId });
  }

  /** The connection of a member has come or gone: others choose by it. */
  memberChanged(filter: string, name: string, session: Subscriber): void {
    const joinNo = this.group(filter, name)?.joinNoOf(session.clientId);
    if (joinNo === undefined) return;
    const { clientId, isStored, isConnected } = session;
    void this.#peers.member({ group: name, filter, clientId, joinNo, isStored, isConnected });
  }

  /** Somebody who subscribes to a filter that others are being told of has to wait as well. */
  #tellInterest(node: FilterNode): Wait {
    const level = node.level;
    if (level === node.toldLevel) return node.told;
    const isRaised = level > node.toldLevel;
    node.toldLevel = level;
    const told = this.#peers.interest(node.filter, level);
    if (!isRaised) return undefined;
    node.told = told;
    const isOver = (): void => {
      if (node.told === told) node.told = undefined;
    };
    told?.then(isOver, isOver);
    return told;
  }

  /** What another worker wants of a filter. */
  setInterest(peer: Peer, filter: string, level: Interest): void {
    if (level === Interest.none && this.#find(filter) === undefined) return;
    const node = this.#nodeFor(filter);
    if (level === Interest.none) node.peers?.delete(peer);
    else (node.peers ??= new Map()).set(peer, level);
    this.#changed(node);
  }

  /** A member of a shared subscription in another worker. */
  setMember(peer: Peer, state: MemberState): void {
    const node = this.#nodeFor(state.filter);
    const group = this.#groupIn(node, state.group);
    group.set({ ...remoteDelivery, session: new RemoteMember(peer, state), group }, state.joinNo);
    this.#changed(node);
  }

  /** Not if it is somewhere else by now. */
  dropMember(peer: Peer, { filter, group, clientId }: MemberName): void {
    const node = this.#find(filter);
    const session = node?.groups?.get(group)?.sessionOf(clientId);
    if (node === undefined || !(session instanceof RemoteMember) || session.peer !== peer) return;
    this.#leave(node, group, session);
    this.#changed(node);
  }

  /** Everything that a worker wants, when it is gone or begins anew. Answers the members that it had. */
  forgetPeer(peer: Peer): MemberState[] {
    const members: MemberState[] = [];
    for (const node of [...this.#nodes()]) {
      node.peers?.delete(peer);
      for (const [name, group] of node.groups ?? []) {
        for (const session of group.remotesOf(peer)) {
          members.push(session.state);
          this.#leave(node, name, session);
        }
      }
      this.#changed(node);
    }
    return members;
  }

  /** What is wanted here, for a worker that does not know it yet. */
  *interests(): Generator<readonly [filter: string, level: Interest]> {
    for (const node of this.#nodes()) if (node.level > 0) yield [node.filter, node.level];
  }

  *members(): Generator<MemberState> {
    for (const { filter, groups } of this.#nodes()) {
      for (const [group, shared] of groups ?? []) {
        for (const [{ session }, joinNo] of shared.locals()) {
          const { clientId, isStored, isConnected } = session;
          yield { group, filter, clientId, joinNo, isStored, isConnected };
        }
      }
    }
  }

  /** A shared subscription, while it has members. */
  group(filter: string, name: string): SharedGroup | undefined {
    return this.#find(filter)?.groups?.get(name);
  }

  /** Filters with at least one subscription here, for management. */
  *names(): Generator<string> {
    for (const node of this.#nodes()) if (node.isLocal) yield node.filter;
  }

  *#nodes(): Generator<FilterNode> {
    yield* this.#exact.values();
    for (const [, node] of this.#wild) yield node;
  }

  #find(filter: string): FilterNode | undefined {
    return hasWildcard(filter) ? this.#wild.get(filter) : this.#exact.get(filter);
  }

  #nodeFor(filter: string): FilterNode {
    const found = this.#find(filter);
    if (found !== undefined) return found;
    const node = new FilterNode(filter);
    if (hasWildcard(filter)) this.#wild.set(filter, node);
    else this.#exact.set(filter, node);
    return node;
  }

  #changed(node: FilterNode): void {
    const { filter } = node;
    this.#count(node);
    if (node.isEmpty && hasWildcard(filter)) this.#wild.delete(filter);
    else if (node.isEmpty) this.#exact.delete(filter);
    this.onChange(filter);
  }

  /** A filter of several workers is counted once for the node: by the first of them. */
  #count(node: FilterNode): void {
    const isOurs = node.isLocal && node.lowestPeer > this.#index;
    if (isOurs === node.isCounted) return;
    node.isCounted = isOurs;
    if (isOurs) this.routes.set(node.filter, true);
    else this.routes.delete(node.filter);
    this.#stats.move('topics', isOurs ? 1 : -1);
    this.#stats.move('routes', isOurs ? 1 : -1);
  }
}
