// Workers with sessions and subscriptions that no connection brought, for tests of lists.

import type test from 'node:test';
import { type Clock, VirtualClock } from '#base/clock';
import { describeError } from '#base/errors';
import { nullLogger } from '#base/log';
import { encodePacket } from '#wire/encode';
import type { ConnectPacket, QoS } from '#wire/packet';
import { parseFilter } from '#topics/topic';
import { loadSettings } from '#config/load';
import type { ZoneSettings } from '#config/settings';
import { Broker } from '#core/broker';
import type { ListenerFace, PeerInfo, Transport, TransportCounters } from '#core/ports';
import type { Session } from '#core/session';
import { deafStore } from '#core/session-fixture';
import { Alone } from '#cluster/alone';
import type { WorkersFace } from './node-face.ts';
import { listVerbs, type ListVerbs } from './list-verbs.ts';

const settings = loadSettings({
  sets: ['listener.tcp.external=127.0.0.1:0', 'allow_anonymous=true'],
});
const zone = settings.zones.get('external') as ZoneSettings;

export function brokerWithout(t: test.TestContext, clock: Clock = new VirtualClock()): Broker {
  const broker = new Broker({
    settings,
    clock,
    log: nullLogger,
    store: deafStore,
    peers: new Alone(),
  });
  t.after(() => broker.stop());
  return broker;
}

/** A session that outlives connections, with these subscriptions besides those that it has. */
export function subscribed(
  { core }: Broker,
  clientId: string,
  filters: readonly string[],
  qos: QoS = 1,
  username?: string,
): Session {
  const open = { clientId, username, provenUsername: undefined, mountpoint: '', zone };
  const session =
    core.sessions.find(clientId) ??
    core.sessions.open({ ...open, expirySeconds: 100, cleanStart: true }).session;
  for (const filter of filters) {
    const { group, filter: routed } = parseFilter(filter);
    core.subscriptions.add(session, {
      filter,
      routed,
      group,
      qos,
      noLocal: false,
      retainAsPublished: false,
      retainHandling: 0,
      subscriptionId: undefined,
      askedAs: null,
    });
  }
  return session;
}

/** Several workers without threads between them. */
export function asked(brokers: readonly Broker[]): Pick<WorkersFace, 'everywhere'> {
  const verbs = brokers.map((broker) => listVerbs({ broker }));
  return {
    async everywhere(verb, args) {
      const answers = [];
      for (const [index, worker] of verbs.entries()) {
        const run = worker[verb as keyof ListVerbs] as (...args: unknown[]) => unknown;
        try {
          answers.push([`worker ${index}`, (await run(...args)) as never] as const);
        } catch (error) {
          return { answers, missing: [[`worker ${index}`, describeError(error)]] };
        }
      }
      return { answers, missing: [] };
    },
  };
}

const listener: ListenerFace = {
  protocol: 'mqtt:tcp',
  name: 'external',
  zone: 'external',
  peerCertAsUsername: undefined,
  ended() {},
};

/** A client connects, over nothing. Answers what makes it leave. */
export function connected(
  broker: Broker,
  clientId: string,
  connect: Partial<ConnectPacket> = {},
): () => void {
  const transport = new NoTransport();
  const sink = broker.accept(transport, listener);
  transport.onEnd = () => sink.closed('closed');
  const bytes = encodePacket(
    {
      type: 'connect',
      version: 4,
      isBridge: false,
      cleanStart: false,
      keepaliveSeconds: 60,
      clientId,
      properties: {},
      will: undefined,
      username: undefined,
      password: undefined,
      ...connect,
    },
    connect.version ?? 4,
  );
  sink.receive(bytes, 0, bytes.length);
  return () => transport.destroy();
}

class NoTransport implements Transport {
  readonly peer: PeerInfo = { address: '10.0.0.1', port: 1, localAddress: '::', localPort: 1883 };
  readonly isPaused = false;
  readonly counters: TransportCounters = {
    receivedBytes: 1,
    receivedReads: 2,
    sentBytes: 3,
    sentWrites: 4,
  };
  onEnd: () => void = () => undefined;
  #isOver = false;

  write(): boolean {
    return true;
  }

  writeAll(): boolean {
    return true;
  }

  pause(): void {}

  resume(): void {}

  end(): void {
    this.destroy();
  }

  destroy(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.onEnd();
  }
}
