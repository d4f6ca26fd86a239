// Three workers whose clients subscribe, leave and come back elsewhere, while what they tell each other
// takes its time: in order between two of them, in any order otherwise. When everything has been heard,
// each knows what a model knows that looks at all of them.

import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import { matches } from '#topics/match';
import { FilterTable } from './filter-table.ts';
import { SharedGroupMemory } from './group-memory.ts';
import { routePeersOf } from './filter-node.ts';
import type { Interest, Peers } from './peers-port.ts';
import { deliveryTo, FakeLink, FakePeer, FakeSubscriber, noPeers } from './session-fixture.ts';
import { Stats, statsPlaces } from './stats.ts';

const given = process.env['FUZZ_SEED'];
const seed: number = given === undefined ? (Math.random() * 0x7fff_ffff) | 0 : Number(given);
const workers = [0, 1, 2] as const;
const filters = ['a', 'b', 'a/+', '#'] as const;
const topics = ['a', 'b', 'a/x'] as const;

type Deed =
  | {
      readonly do: 'subscribe' | 'unsubscribe';
      readonly client: number;
      readonly filter: number;
      readonly isShared: boolean;
    }
  | { readonly do: 'flicker'; readonly client: number }
  | { readonly do: 'move'; readonly client: number; readonly to: number }
  | { readonly do: 'hear'; readonly from: number; readonly to: number; readonly count: number }
  | { readonly do: 'die'; readonly worker: number };

interface Client {
  readonly name: string;
  at: number;
  session: FakeSubscriber;
  readonly isStored: boolean;
  /** `filter`, or `g filter` for a shared one. */
  readonly wants: Map<string, { readonly filter: string; readonly group: string | undefined }>;
}

/** The tables of three workers and what is under way between them. */
class World {
  readonly #memory = new SharedGroupMemory(SharedGroupMemory.memory());
  readonly #gauges = new Int32Array(statsPlaces(3));
  /** By `from to`. */
  readonly #ways = new Map<string, (() => void)[]>();
  /** The levels that a worker has told of a filter, by `worker filter`. */
  readonly #levels = new Map<string, Interest>();
  readonly #peers = workers.map((index) => new FakePeer(index));
  readonly tables: FilterTable[] = workers.map((index) => this.#table(index));
  readonly clients: Client[] = Array.from({ length: 6 }, (_, i) => ({
    name: `c${i}`,
    at: i % 3,
    session: subscriber(`c${i}`, i % 2 === 0),
    isStored: i % 2 === 0,
    wants: new Map(),
  }));

  #table(index: number): FilterTable {
    const stats = new Stats(this.#gauges, index);
    const shared = { strategy: 'round_robin', needsReady: false } as const;
    return new FilterTable({
      peers: this.#peersOf(index),
      stats,
      shared,
      groups: this.#memory,
      index,
    });
  }

  #peersOf(index: number): Peers {
    const us = this.#peers[index] as FakePeer;
    const tell = (act: (table: FilterTable) => void): undefined => {
      for (const to of workers) if (to !== index) this.#post(index, to, act);
    };
    return {
      ...noPeers,
      interest: (filter, level) => {
        const key = `${index} ${filter}`;
        assert.notEqual(this.#levels.get(key) ?? 0, level, 'nobody is told the same twice');
        this.#levels.set(key, level);
        return tell((table) => table.setInterest(us, filter, level));
      },
      member: (state) => tell((table) => table.setMember(us, state)),
      left: (member) => tell((table) => table.dropMember(us, member)),
    };
  }

  #post(from: number, to: number, act: (table: FilterTable) => void): void {
    const way = `${from} ${to}`;
    const posted = this.#ways.get(way) ?? [];
    this.#ways.set(way, posted);
    posted.push(() => act(this.tables[to] as FilterTable));
  }

  hear(from: number, to: number, count: number): void {
    for (const act of this.#ways.get(`${from} ${to}`)?.splice(0, count) ?? []) act();
  }

  /** Its connection comes or goes. */
  flicker({ wants, session, at }: Client): void {
    session.link = session.link === null ? new FakeLink() : null;
    for (const { filter, group } of wants.values()) {
      if (group !== undefined) this.tables[at]?.memberChanged(filter, group, session);
    }
  }

  hearAll(): void {
    for (const from of workers)
      for (const to of workers) this.hear(from, to, Number.MAX_SAFE_INTEGER);
  }

  tableOf({ at }: Client): FilterTable {
    return this.tables[at] as FilterTable;
  }

  subscribe(client: Client, filter: string, group: string | undefined): void {
    client.wants.set(`${group} ${filter}`, { filter, group });
    void this.tableOf(client).add(filter, group, deliveryTo(client.session, { qos: 1 }));
  }

  unsubscribe(client: Client, filter: string, group: string | undefined): void {
    if (!client.wants.delete(`${group} ${filter}`)) return;
    this.tableOf(client).remove(filter, group, client.session);
  }

  /** Its session ends here and another one begins there. */
  move(client: Client, to: number): void {
    const wants = [...client.wants.values()];
    for (const { filter, group } of wants) this.unsubscribe(client, filter, group);
    client.at = to;
    client.session = subscriber(client.name, client.isStored);
    for (const { filter, group } of wants) this.subscribe(client, filter, group);
  }

  /** A worker dies; its successor has its sessions, and greets the others. */
  die(index: number): void {
    for (const to of workers) {
      // Of what it said last some is heard; of what it was told nothing.
      this.hear(index, to, 2);
      this.#ways.delete(`${index} ${to}`);
      this.#ways.delete(`${to} ${index}`);
    }
    for (const key of [...this.#levels.keys()]) {
      if (key.startsWith(`${index} `)) this.#levels.delete(key);
    }
    new Stats(this.#gauges, 3).forget(index);
    this.tables[index] = this.#table(index);
    for (const to of workers) {
      if (to === index) continue;
      const other = this.tables[to] as FilterTable;
      other.forgetPeer(this.#peers[index] as FakePeer);
      for (const [filter, level] of other.interests()) {
        this.#post(to, index, (table) =>
          table.setInterest(this.#peers[to] as FakePeer, filter, level),
        );
      }
      for (const member of other.members()) {
        this.#post(to, index, (table) => table.setMember(this.#peers[to] as FakePeer, member));
      }
    }
    for (const client of this.clients) {
      if (client.at !== index) continue;
      client.session = subscriber(client.name, client.isStored);
      for (const { filter, group } of client.wants.values()) this.subscribe(client, filter, group);
    }
  }

  check(): void {
    for (const index of workers) {
      const table = this.tables[index] as FilterTable;
      for (const topic of topics) this.#checkTopic(table, index, topic);
      for (const filter of filters) {
        const members = this.clients.filter(({ wants }) => wants.has(`g ${filter}`));
        const group = table.group(filter, 'g');
        assert.equal(group?.size ?? 0, members.length, `members of ${filter} in ${index}`);
        for (const { name, session } of members) {
          assert.equal(group?.joinNoOf(name), this.tables[0]?.group(filter, 'g')?.joinNoOf(name));
          assert.ok(group?.joinNoOf(name) !== undefined);
          assert.equal(group.sessionOf(name)?.isConnected, session.isConnected);
        }
      }
    }
    const wanted = new Set(
      this.clients.flatMap(({ wants }) => [...wants.values()].map((w) => w.filter)),
    );
    const stats = new Stats(this.#gauges, 3);
    assert.equal(stats.count('topics'), wanted.size);
    assert.equal(stats.count('routes'), wanted.size);
  }

  #checkTopic(table: FilterTable, index: number, topic: string): void {
    const nodes = table.match(topic);
    const plain = this.clients.filter(({ wants }) =>
      [...wants.values()].some(
        ({ filter, group }) => group === undefined && matches(filter, topic),
      ),
    );
    const here = new Set(nodes.flatMap(({ deliveries }) => [...deliveries.keys()]));
    assert.deepEqual(
      [...here].map(({ clientId }) => clientId).toSorted(),
      plain
        .filter(({ at }) => at === index)
        .map(({ name }) => name)
        .toSorted(),
    );
    const elsewhere = workers
      .filter((other) => other !== index && plain.some(({ at }) => at === other))
      .map((other) => [other, plain.some(({ at, isStored }) => at === other && isStored)]);
    assert.deepEqual(
      routePeersOf(nodes)
        .toSorted((x, y) => x.peer.index - y.peer.index)
        .map(({ peer, isStored }) => [peer.index, isStored]),
      elsewhere,
      `who wants ${topic}, as ${index} sees it`,
    );
  }
}

function subscriber(clientId: string, isStored: boolean): FakeSubscriber {
  return Object.assign(new FakeSubscriber(clientId), { isStored });
}

const below = (count: number): fc.Arbitrary<number> => fc.nat(count - 1);
const deeds: fc.Arbitrary<Deed>[] = [
  fc.record({
    do: fc.constantFrom('subscribe', 'unsubscribe'),
    client: below(6),
    filter: below(4),
    isShared: fc.boolean(),
  }),
  fc.record({ do: fc.constant('flicker'), client: below(6) }),
  fc.record({ do: fc.constant('move'), client: below(6), to: below(3) }),
  fc.record({ do: fc.constant('hear'), from: below(3), to: below(3), count: below(4) }),
];
const death: fc.Arbitrary<Deed> = fc.record({ do: fc.constant('die'), worker: below(3) });

function play(deed: Deed, world: World): void {
  if (deed.do === 'hear') return world.hear(deed.from, deed.to, deed.count);
  if (deed.do === 'die') return world.die(deed.worker);
  const client = world.clients[deed.client] as Client;
  if (deed.do === 'move') return world.move(client, deed.to);
  if (deed.do === 'flicker') return world.flicker(client);
  const filter = filters[deed.filter] as string;
  const group = deed.isShared ? 'g' : undefined;
  if (deed.do === 'subscribe') world.subscribe(client, filter, group);
  else world.unsubscribe(client, filter, group);
}

for (const [what, all] of [
  ['', deeds],
  [', though they die', [...deeds, death]],
] as const) {
  test(`workers know what is subscribed in all of them${what} (seed ${seed})`, () => {
    fc.assert(
      fc.property(fc.array(fc.oneof(...all), { maxLength: 60 }), (script) => {
        const world = new World();
        for (const deed of script) play(deed, world);
        world.hearAll();
        world.check();
      }),
      { seed, numRuns: 200 },
    );
  });
}
