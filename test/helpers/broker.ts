// The real broker in this process, for tests: real sockets, the defaults of the configuration, and a
// clock that stands still until the test moves it. Everything a test opens through it is closed with
// it; an error that the broker logged, that is a fault of its own, fails the test.

import assert from 'node:assert/strict';
import { VirtualClock } from '#base/clock';
import type { Logger } from '#base/log';
import type { ProtocolVersion } from '#wire/packet';
import { loadSettings } from '#config/load';
import type {
  AclSettings,
  BrokerSettings,
  ModuleSettings,
  NodeSettings,
  PluginHostSettings,
  RetainerSettings,
  Settings,
  ZoneSettings,
} from '#config/settings';
import { Alone } from '#cluster/alone';
import { Broker } from '#core/broker';
import type { Channel } from '#core/channel';
import type { Session } from '#core/session';
import type { GaugeName } from '#core/stats';
import type { HookName, HookTable } from '#hooks/table';
import type { Listener } from '#net/listener';
import { openListeners } from '#net/open-listeners';
import { startModules } from '#modules/start-modules';
import { DurableStore } from '#store/durable-store';
import type { Engine } from '#store/engine';
import { MemoryEngine } from '#store/memory-engine';
import { type ConnectOptions, RawClient } from './raw-client.ts';
import { Recovery } from './recovery.ts';
import { Watch } from './watch.ts';
import { WorkerBrokers, type WorkerBrokersOptions } from './worker-broker.ts';

export interface Overrides {
  zone?: Partial<ZoneSettings>;
  retainer?: Partial<RetainerSettings>;
  broker?: Partial<BrokerSettings>;
  acl?: Partial<AclSettings>;
  modules?: Partial<ModuleSettings>;
  node?: Partial<NodeSettings>;
  pluginHost?: Partial<PluginHostSettings>;
  /** Adds a WebSocket listener beside the TCP one. */
  webSocket?: boolean;
  /** What the store stands on: one that another broker has used, or one that is slow or fails. */
  engine?: Engine;
  /** Goes on where another broker left it. */
  clock?: VirtualClock;
  /**
   * Several workers, to which connections are given in turn; 0: one broker, as many tests want it that
   * look inside. Without it, as the environment says.
   */
  workers?: number;
}

/** `worker`: to that one, where there are several, and not to the one whose turn it is. */
export type JoinOptions = ConnectOptions & { version?: ProtocolVersion; worker?: number };

/** `BROKER_TEST_WORKERS=3` runs every test that does not say otherwise with three workers. */
const workersWanted = Number(process.env['BROKER_TEST_WORKERS'] ?? 0);

export async function startBroker(overrides: Overrides = {}): Promise<TestBroker> {
  const { clock = new VirtualClock(), engine = new MemoryEngine() } = overrides;
  const log = new FaultLog();
  const settings = settingsWith(overrides);
  // On the virtual clock: after a failure the store tries again when the test lets time pass.
  const troubles: unknown[] = [];
  const onTrouble = (error: unknown): void => void troubles.push(error);
  const count = overrides.workers ?? workersWanted;
  const { brokers, stores, next, workers } =
    count === 0
      ? alone({ settings, clock, log, engine, onTrouble })
      : await together({ count, settings, clock, log, engine, onTrouble });
  // Not the virtual clock: its leaps would look like peers that do not read.
  const recovery = new Recovery(brokers);
  const listen = (worker: () => Broker): Promise<readonly Listener[]> =>
    openListeners(settings, {
      log,
      accept: (transport, face) => {
        const broker = worker();
        const sink = broker.accept(transport, face);
        // Nobody listens where a worker has died and its successor does not serve yet.
        if (!recovery.isUp(brokers().indexOf(broker))) transport.destroy();
        return sink;
      },
    });
  const listeners = await listen(next);
  const doors: (readonly Listener[])[] = [];
  for (let i = 0; i < count; i++) doors.push(await listen(() => brokers()[i] as Broker));
  const parts = { brokers, stores, workers, recovery, troubles, clock, log, listeners, doors };
  return new TestBroker(parts);
}

interface Company {
  /** They may be others later, when one has died. */
  readonly brokers: () => readonly Broker[];
  readonly stores: () => readonly DurableStore[];
  readonly next: () => Broker;
  readonly workers: WorkerBrokers | undefined;
}

type CompanyOptions = Omit<WorkerBrokersOptions, 'count'>;

function alone({ settings, clock, log, engine, onTrouble }: CompanyOptions): Company {
  const onFault = (error: unknown): void => log.error('store.fault', { error });
  const store = new DurableStore(engine, { clock, onTrouble, onFault });
  const broker = new Broker({ settings, clock, log, store, peers: new Alone() });
  startModules(broker.core);
  broker.restore();
  return {
    brokers: () => [broker],
    stores: () => [store],
    next: () => broker,
    workers: undefined,
  };
}

async function together(options: WorkerBrokersOptions): Promise<Company> {
  const workers = new WorkerBrokers(options);
  await workers.start();
  return {
    brokers: () => workers.nodes.map(({ broker }) => broker),
    stores: () => workers.stores,
    next: () => workers.next(),
    workers,
  };
}

interface Parts {
  readonly brokers: () => readonly Broker[];
  readonly stores: () => readonly DurableStore[];
  readonly workers: WorkerBrokers | undefined;
  readonly recovery: Recovery;
  readonly troubles: readonly unknown[];
  readonly clock: VirtualClock;
  readonly log: FaultLog;
  readonly listeners: readonly Listener[];
  /** The same for each worker alone. */
  readonly doors: readonly (readonly Listener[])[];
}

export class TestBroker implements AsyncDisposable {
  /** The first, where there are several. */
  readonly broker: Broker;
  readonly workers: WorkerBrokers | undefined;
  readonly port: number;
  /** 0 without `webSocket`. */
  readonly webSocketPort: number;
  readonly #parts: Parts;
  readonly #clients: RawClient[] = [];
  readonly #ended: Set<string> = new Set();
  readonly #watch = new Watch();
  #named = 0;
  #isClosed = false;

  constructor(parts: Parts) {
    const [tcp, webSocket] = parts.listeners;
    this.#parts = parts;
    this.broker = parts.brokers()[0] as Broker;
    this.workers = parts.workers;
    this.port = tcp?.boundPort ?? 0;
    this.webSocketPort = webSocket?.boundPort ?? 0;
    this.hook('client.disconnected', ({ clientId }) => {
      this.#ended.add(clientId);
      this.#watch.wake();
    });
  }

  get brokers(): readonly Broker[] {
    return this.#parts.brokers();
  }

  /** In every worker. */
  hook<H extends HookName>(name: H, call: HookTable[H], owner = 'test', priority?: number): void {
    for (const { hooks } of this.brokers) hooks.on(name, owner, call, priority);
  }

  unhook(owner = 'test'): void {
    for (const { hooks } of this.brokers) hooks.off(owner);
  }

  /** Wherever it is. */
  session(clientId: string): Session | undefined {
    const all = this.brokers.map(({ core }) => core.sessions.find(clientId));
    return all.find((session) => session !== undefined);
  }

  get sessionCount(): number {
    return this.brokers.reduce((sum, { core }) => sum + core.sessions.size, 0);
  }

  get connectionCount(): number {
    return this.brokers.reduce((sum, { connectionCount }) => sum + connectionCount, 0);
  }

  channels(): Channel[] {
    return this.brokers.flatMap((broker) => [...broker.channels()]);
  }

  /** Filters that somebody subscribes to, in whichever worker. */
  filterNames(): string[] {
    return [...new Set(this.brokers.flatMap(({ core }) => [...core.filters.names()]))];
  }

  /** Ends the connection of a client, wherever it is. */
  kick(clientId: string): boolean {
    return this.brokers.map((broker) => broker.kick(clientId)).includes(true);
  }

  /** The worker dies, and another takes its place. */
  kill(worker: number): void {
    this.#parts.recovery.died(worker);
    this.workers?.kill(worker);
  }

  /** Every worker that died has a successor that serves. */
  get isRecovered(): boolean {
    return this.#parts.recovery.isOver;
  }

  /** Every worker knows the counts of all. */
  stat(name: GaugeName): number {
    return this.broker.core.stats.count(name);
  }

  /** Of all workers together. */
  metric(key: string): number {
    return this.brokers.reduce((sum, { core }) => sum + core.metrics.get(key), 0);
  }

  /** A socket that has said nothing yet: to the next worker, or to that one. */
  async open(version: ProtocolVersion = 5, worker?: number): Promise<RawClient> {
    const door = worker === undefined ? undefined : this.#parts.doors[worker]?.[0];
    const client = await RawClient.open(door?.boundPort ?? this.port, version);
    this.#clients.push(client);
    return client;
  }

  /** A client that was let in; with a client id of its own unless one is given. */
  async connect(options: JoinOptions = {}): Promise<RawClient> {
    const { version, worker, ...rest } = options;
    const client = await this.open(version, worker);
    this.#named += 1;
    const clientId = rest.clientId ?? `client-${this.#named}`;
    const connack = await client.connect({ ...rest, clientId });
    assert.equal(connack.reasonCode, 0, `Cannot connect "${clientId}"`);
    return client;
  }

  /** Lets time pass for the broker: every timer that falls due runs before this returns. */
  advance(ms: number): void {
    this.#parts.clock.advance(ms);
  }

  /** Everything that the store was told is on disk. */
  flushed(): Promise<void> {
    return Promise.all(this.#parts.stores().map((store) => store.flushed())).then(() => undefined);
  }

  /** What the store told of its disk: an error when trouble began, undefined when it was over. */
  get troubles(): readonly unknown[] {
    return this.#parts.troubles;
  }

  /** Loses the network under a client and waits until the broker knows. */
  async lose(client: RawClient, clientId: string): Promise<void> {
    this.#ended.delete(clientId);
    client.destroy();
    await this.#seeEnd(clientId, 2000);
  }

  /** A newcomer is let in and exchanges a message with itself. */
  async expectService(): Promise<void> {
    const client = await this.connect();
    await client.subscribe('service/of/others', { qos: 1 });
    await client.publish('service/of/others', 'goes on', { qos: 1 });
    assert.deepEqual(await client.receivePayloads(1), ['goes on']);
    await client.disconnect();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    const { listeners: shared, doors, log, workers } = this.#parts;
    const listeners = [...shared, ...doors.flat()];
    await Promise.all(this.#clients.map((client) => client[Symbol.asyncDispose]()));
    await Promise.all(listeners.map((listener) => listener[Symbol.asyncDispose]()));
    for (const broker of this.brokers) broker.stop();
    await workers?.workers.stop();
    assert.deepEqual(log.faults, [], 'The broker logged errors');
  }

  get alarms(): string[] {
    return [...this.#parts.log.alarms];
  }

  /** The errors logged so far, for a test that provokes them: the broker is closed without them. */
  takeFaults(): unknown[] {
    return this.#parts.log.faults.splice(0);
  }

  async #seeEnd(clientId: string, deadlineMs: number): Promise<void> {
    const late = `Cannot see the end of "${clientId}": connected after ${deadlineMs} ms`;
    const look = (): true | undefined => (this.#ended.has(clientId) ? true : undefined);
    await this.#watch.until(look, deadlineMs, () => new Error(late));
  }
}

function settingsWith(overrides: Overrides): Settings {
  const sets = ['listener.tcp.external=127.0.0.1:0'];
  if (overrides.webSocket) sets.push('listener.ws.external=127.0.0.1:0');
  const defaults = loadSettings({ sets });
  const zone = defaults.zones.get('external') as ZoneSettings;
  return {
    ...defaults,
    node: { ...defaults.node, ...overrides.node },
    pluginHost: { ...defaults.pluginHost, ...overrides.pluginHost },
    broker: { ...defaults.broker, ...overrides.broker },
    acl: { ...defaults.acl, ...overrides.acl },
    modules: { ...defaults.modules, ...overrides.modules },
    retainer: { ...defaults.retainer, ...overrides.retainer },
    zones: new Map([['external', { ...zone, ...openZone, ...overrides.zone }]]),
  };
}

/** Everybody may do everything; limits as in the shipped file, where it differs from the defaults. */
const openZone: Partial<ZoneSettings> = {
  allowAnonymous: true,
  aclNomatch: 'allow',
  enableAcl: false,
  maxInflight: 32,
  maxAwaitingRel: 100,
};

interface AlarmFields {
  readonly alarm: string;
}

/** Remembers errors and alarms, and forgets the rest. */
class FaultLog implements Logger {
  readonly faults: unknown[] = [];
  /** Raised and not cleared, by whichever worker and by those who look after them. */
  readonly alarms: Set<string> = new Set();
  error(event: string, fields?: object): void {
    this.faults.push({ event, ...fields });
  }
  warn(event: string, fields?: object): void {
    if (event === 'alarm.raised') this.alarms.add((fields as AlarmFields).alarm);
  }
  info(event: string, fields?: object): void {
    if (event === 'alarm.cleared') this.alarms.delete((fields as AlarmFields).alarm);
  }
  debug(): void {}
  trace(): void {}
  child(): Logger {
    return this;
  }
  isEnabled(): boolean {
    return false;
  }
}
