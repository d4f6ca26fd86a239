// The real broker in this process, for tests: real sockets, the defaults of the configuration, and a
// clock that stands still until the test moves it. Everything a test opens through it is closed with
// it; an error that the broker logged, that is a fault of its own, fails the test.

import assert from 'node:assert/strict';
import { VirtualClock } from '#base/clock';
import type { Logger } from '#base/log';
import type { ProtocolVersion } from '#wire/packet';
import { loadSettings } from '#config/load';
import type {
  BrokerSettings,
  NodeSettings,
  RetainerSettings,
  Settings,
  ZoneSettings,
} from '#config/settings';
import { Alone } from '#cluster/alone';
import { Broker } from '#core/broker';
import type { Listener } from '#net/listener';
import { openListeners } from '#net/open-listeners';
import { DurableStore } from '#store/durable-store';
import type { Engine } from '#store/engine';
import { MemoryEngine } from '#store/memory-engine';
import { type ConnectOptions, RawClient } from './raw-client.ts';
import { Watch } from './watch.ts';

export interface Overrides {
  zone?: Partial<ZoneSettings>;
  retainer?: Partial<RetainerSettings>;
  broker?: Partial<BrokerSettings>;
  node?: Partial<NodeSettings>;
  /** Adds a WebSocket listener beside the TCP one. */
  webSocket?: boolean;
  /** What the store stands on: one that another broker has used, or one that is slow or fails. */
  engine?: Engine;
  /** Goes on where another broker left it. */
  clock?: VirtualClock;
}

export async function startBroker(overrides: Overrides = {}): Promise<TestBroker> {
  const { clock = new VirtualClock(), engine = new MemoryEngine() } = overrides;
  const log = new FaultLog();
  const settings = settingsWith(overrides);
  // On the virtual clock: after a failure the store tries again when the test lets time pass.
  const troubles: unknown[] = [];
  const store = new DurableStore(engine, {
    clock,
    onTrouble: (error) => troubles.push(error),
    onFault: (error) => log.error('store.fault', { error }),
  });
  const broker = new Broker({ settings, clock, log, store, peers: new Alone() });
  broker.restore();
  const listeners = await openListeners(settings, {
    // Not the virtual clock: its leaps would look like peers that do not read.
    log,
    accept: (transport, face) => broker.accept(transport, face),
  });
  return new TestBroker({ broker, store, troubles, clock, log, listeners });
}

interface Parts {
  readonly broker: Broker;
  readonly store: DurableStore;
  readonly troubles: readonly unknown[];
  readonly clock: VirtualClock;
  readonly log: FaultLog;
  readonly listeners: readonly Listener[];
}

export class TestBroker implements AsyncDisposable {
  readonly broker: Broker;
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
    this.broker = parts.broker;
    this.port = tcp?.boundPort ?? 0;
    this.webSocketPort = webSocket?.boundPort ?? 0;
    this.broker.hooks.on('client.disconnected', 'test', ({ clientId }) => {
      this.#ended.add(clientId);
      this.#watch.wake();
    });
  }

  /** A socket that has said nothing yet. */
  async open(version: ProtocolVersion = 5): Promise<RawClient> {
    const client = await RawClient.open(this.port, version);
    this.#clients.push(client);
    return client;
  }

  /** A client that was let in; with a client id of its own unless one is given. */
  async connect(options: ConnectOptions & { version?: ProtocolVersion } = {}): Promise<RawClient> {
    const { version, ...rest } = options;
    const client = await this.open(version);
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
    return this.#parts.store.flushed();
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
    const { broker, listeners, log } = this.#parts;
    await Promise.all(this.#clients.map((client) => client[Symbol.asyncDispose]()));
    await Promise.all(listeners.map((listener) => listener[Symbol.asyncDispose]()));
    broker.stop();
    assert.deepEqual(log.faults, [], 'The broker logged errors');
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
    broker: { ...defaults.broker, ...overrides.broker },
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

/** Remembers errors and forgets the rest. */
class FaultLog implements Logger {
  readonly faults: unknown[] = [];
  error(event: string, fields?: object): void {
    this.faults.push({ event, ...fields });
  }
  warn(): void {}
  info(): void {}
  debug(): void {}
  trace(): void {}
  child(): Logger {
    return this;
  }
  isEnabled(): boolean {
    return false;
  }
}
