// Messages, deliveries, links and sessions for the tests of this folder, each with the values that
// matter to nobody filled in. A FakeLink remembers what it was asked to send and answers as told.

import { VirtualClock } from '#base/clock';
import { nullLogger } from '#base/log';
import { TimerWheel } from '#base/timers';
import type { Properties, QoS } from '#wire/packet';
import { loadSettings } from '#config/load';
import type { ZoneSettings } from '#config/settings';
import { Hooks } from '#hooks/runner';
import type { ClientInfo, DropReason } from '#hooks/table';
import type { Delivery, FrameRun, Link, Sent, Subscriber } from './delivery.ts';
import { Drops } from './drops.ts';
import { HeldBytes } from './held-bytes.ts';
import { Message, type Publisher } from './message.ts';
import { Metrics } from './metrics.ts';
import { FilterTable } from './filter-table.ts';
import type { MemberState, Peer, Peers } from './peers-port.ts';
import type { Wait } from './ports.ts';
import { Router } from './router.ts';
import { Session } from './session.ts';
import { Stats } from './stats.ts';
import { type SessionStore, type Store, unstored } from './store-port.ts';

export const publisher: Publisher = {
  clientId: 'publisher',
  username: undefined,
  address: '127.0.0.1',
  port: 1,
};

export interface MessageOptions {
  payload?: string | Buffer;
  qos?: QoS;
  retain?: boolean;
  properties?: Properties;
  from?: Publisher;
  timestampMs?: number;
}

export function messageOn(topic: string, options: MessageOptions = {}): Message {
  const { payload = 'x', qos = 0, retain = false, properties, from = publisher } = options;
  const bytes = Buffer.from(payload);
  return new Message(topic, bytes, qos, retain, properties, from, options.timestampMs ?? 0);
}

export function deliveryTo(session: Subscriber, options: Partial<Delivery> = {}): Delivery {
  return {
    session,
    qos: 0,
    noLocal: false,
    retainAsPublished: false,
    subscriptionIds: undefined,
    group: undefined,
    isReplay: false,
    isPlain: true,
    mixed: undefined,
    ...options,
  };
}

/** A subscriber that keeps what it is given. */
export class FakeSubscriber implements Subscriber {
  readonly clientId: string;
  link: Link | null;
  isReady = true;
  isStored = false;
  readonly received: { message: Message; delivery: Delivery }[] = [];
  stored: Wait;

  constructor(clientId: string, link: Link | null = new FakeLink()) {
    this.clientId = clientId;
    this.link = link;
  }

  get isConnected(): boolean {
    return this.link !== null;
  }

  get topics(): string[] {
    return this.received.map(({ message }) => message.topic);
  }

  deliver(message: Message, delivery: Delivery): Wait {
    this.received.push({ message, delivery });
    return this.stored;
  }
}

/** Another worker that keeps what it is given. */
export class FakePeer implements Peer {
  readonly index: number;
  readonly runs: { topic: string; bytes: Buffer; count: number }[] = [];
  readonly forwarded: { message: Message; isAwaited: boolean }[] = [];
  readonly directed: { member: MemberState; message: Message; isHandedOn: boolean }[] = [];
  stored: Wait;

  constructor(index: number) {
    this.index = index;
  }

  forward(message: Message, isAwaited: boolean): Wait {
    this.forwarded.push({ message, isAwaited });
    return isAwaited ? this.stored : undefined;
  }

  forwardRun(run: FrameRun, topic: Buffer): void {
    const bytes = Buffer.from(run.bytes.subarray(run.start, run.end));
    this.runs.push({ topic: topic.toString(), bytes, count: run.count });
  }

  forwardTo(member: MemberState, message: Message, isHandedOn: boolean): Wait {
    this.directed.push({ member, message, isHandedOn });
    return this.stored;
  }
}

export interface SentPublish {
  readonly message: Message;
  readonly qos: QoS;
  readonly packetId: number;
  readonly isDuplicate: boolean;
}

export class FakeLink implements Link {
  rawVersion: 0 | 4 | 5 = 0;
  isFlowing = true;
  isReplaying = false;
  /** What the next PUBLISH is answered. */
  answer: Sent = 'sent';
  takesRuns = true;
  room: number = Number.POSITIVE_INFINITY;
  readonly published: SentPublish[] = [];
  readonly released: number[] = [];
  readonly runs: { bytes: Buffer; count: number }[] = [];

  get payloads(): string[] {
    return this.published.map(({ message }) => message.payload.toString());
  }

  sendRun(run: FrameRun): boolean {
    if (!this.takesRuns) return false;
    const bytes = Buffer.from(run.bytes.subarray(run.start, run.end));
    this.runs.push({ bytes, count: run.count });
    return true;
  }

  sendPublish(
    message: Message,
    _delivery: Delivery,
    qos: QoS,
    packetId: number,
    isDuplicate: boolean,
  ): Sent {
    if (this.answer === 'sent') this.published.push({ message, qos, packetId, isDuplicate });
    return this.answer;
  }

  sendPubrel(packetId: number): void {
    this.released.push(packetId);
  }

  hasRoom(bytes: number): boolean {
    return bytes <= this.room;
  }

  goOnReplaying(): void {}

  onFault(error: unknown): never {
    throw error;
  }

  evict(): void {}
}

const deafSession: SessionStore = {
  no: 1,
  mayHavePassed: false,
  watcher: undefined,
  isSettled: true,
  update: () => undefined,
  subscribe: () => undefined,
  unsubscribe: () => undefined,
  put: () => unstored,
  settle: () => undefined,
  shed: () => undefined,
  release: () => unstored,
  take: () => undefined,
  free: () => undefined,
  taken: () => [],
  read: () => [],
  extent: () => ({ count: 0, lastSeq: 0 }),
  end: () => undefined,
};

/** Takes everything, keeps nothing, and is always done. */
export const deafStore: Store = {
  flushed: () => Promise.resolve(),
  lastingFlushed: () => Promise.resolve(),
  pendingBytes: 0,
  retained: {
    size: 0,
    pending: 0,
    has: () => false,
    put: () => undefined,
    delete: () => undefined,
    slice: () => undefined,
    sliceAll: () => undefined,
  },
  wills: { put: () => undefined, delete: () => undefined, sent: () => undefined, all: () => [] },
  createSession: () => ({ ...deafSession }),
  adoptSession: () => ({ ...deafSession }),
  hasPassed: () => false,
  sessions: () => [],
  records: () => ({
    get: () => undefined,
    put: () => undefined,
    delete: () => undefined,
    entries: () => [],
  }),
};

export const noPeers: Peers = {
  isAlone: true,
  interest: () => undefined,
  member: () => undefined,
  left: () => undefined,
  retainedTold: () => undefined,
  retainedFlushed: () => undefined,
  claim: () => undefined,
  owns: () => true,
  attempted: () => undefined,
  release: () => undefined,
};

export function bareRouter(peers: Peers = noPeers, stats: Stats = new Stats()): Router {
  const shared = { strategy: 'round_robin', needsReady: false } as const;
  const onFault = (_: string, error: unknown): never => {
    throw error;
  };
  return new Router(new FilterTable({ peers, stats, shared }), onFault);
}

export function zoneWith(overrides: Partial<ZoneSettings> = {}): ZoneSettings {
  const { zones } = loadSettings({ sets: ['listener.tcp.external=127.0.0.1:0'] });
  return { ...(zones.get('external') as ZoneSettings), ...overrides };
}

export function clientInfo(clientId: string, version: 3 | 4 | 5): ClientInfo {
  return {
    ...publisher,
    clientId,
    version,
    zone: 'external',
    listener: 'mqtt:tcp',
    protocolName: 'MQTT',
    isBridge: false,
    cleanStart: true,
    keepaliveSeconds: 0,
    mountpoint: '',
    isSuperuser: false,
    isAnonymous: true,
    connectedAtMs: 0,
  };
}

/** A wheel on a clock that a test moves; a timer that throws fails the test. */
export function wheel(): { clock: VirtualClock; timers: TimerWheel } {
  const clock = new VirtualClock();
  const onError = (error: unknown): never => {
    throw error;
  };
  const timers = new TimerWheel({ clock, onError });
  timers.start();
  return { clock, timers };
}

export interface SessionBench {
  readonly session: Session;
  readonly clock: VirtualClock;
  readonly metrics: Metrics;
  readonly hooks: Hooks;
  readonly dropped: { payload: string; reason: DropReason }[];
}

/** A session of its own, with everything it drops written down. */
export function sessionBench(
  zone: Partial<ZoneSettings> = {},
  options: { expirySeconds?: number; store?: Store } = {},
): SessionBench {
  const { clock, timers } = wheel();
  const metrics = new Metrics();
  const hooks = new Hooks((_hook, _owner, error) => {
    throw error;
  });
  const dropped: SessionBench['dropped'] = [];
  hooks.on('message.dropped', 'bench', ({ payload }, reason) => {
    dropped.push({ payload: payload.toString(), reason });
  });
  const store = options.store ?? deafStore;
  const drops = new Drops({ metrics, hooks, timers, log: nullLogger });
  const parts = {
    metrics,
    hooks,
    timers,
    store,
    drops,
    held: new HeldBytes(),
    groupOf: () => undefined,
  };
  const { expirySeconds = 0 } = options;
  const owner = {
    clientId: 's',
    username: undefined,
    provenUsername: undefined,
    mountpoint: '',
    expirySeconds,
  };
  const session = new Session({ ...owner, zone: zoneWith(zone) }, parts);
  return { session, clock, metrics, hooks, dropped };
}
