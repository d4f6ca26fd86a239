// The façade of one worker's broker: it builds the parts, hands each new connection what it needs,
// and offers the verbs that the floors above call. It contains no protocol.

import type { Clock } from '#base/clock';
import { describeError } from '#base/errors';
import type { Logger } from '#base/log';
import { TimerWheel } from '#base/timers';
import { Reason } from '#wire/reason-codes';
import type { Settings } from '#config/settings';
import { Hooks } from '#hooks/runner';
import type { Channel } from './channel.ts';
import { Connection } from './connection.ts';
import type { Core } from './context.ts';
import { Drops } from './drops.ts';
import { ExpressLane } from './express-lane.ts';
import type { Message } from './message.ts';
import { Metrics } from './metrics.ts';
import { Flusher } from './flusher.ts';
import type { ListenerFace, Peers, Store, Transport, TransportSink } from './ports.ts';
import { Publishing } from './publishing.ts';
import { Retained } from './retained.ts';
import { Router } from './router.ts';
import { Sessions } from './sessions.ts';
import { Stats } from './stats.ts';
import { Subscriptions } from './subscriptions.ts';
import { Wills } from './wills.ts';

export interface BrokerOptions {
  readonly settings: Settings;
  readonly clock: Clock;
  readonly log: Logger;
  readonly store: Store;
  readonly peers: Peers;
}

export class Broker {
  readonly core: Core;
  readonly #connections = new Set<Connection>();

  constructor(options: BrokerOptions) {
    this.core = buildCore(options);
    this.core.timers.start();
  }

  get hooks(): Hooks {
    return this.core.hooks;
  }

  /** A transport has connected. Answers where its bytes go. */
  accept(transport: Transport, listener: ListenerFace): TransportSink {
    const zone = this.core.settings.zones.get(listener.zone);
    if (zone === undefined)
      throw new TypeError(`Cannot accept: there is no zone "${listener.zone}"`);
    const connection = new Connection(this.core, transport, listener, zone, (gone) => {
      this.#connections.delete(gone);
    });
    this.#connections.add(connection);
    return connection;
  }

  /** The pre-shared key of a TLS client, if anybody knows the identity. */
  pskOf(identity: string): Buffer | undefined {
    const key = this.core.hooks.ask('tls_handshake.psk_lookup', 'ignore', identity);
    return Buffer.isBuffer(key) ? key : undefined;
  }

  /** Channels of clients that are connected. */
  *channels(): Generator<Channel> {
    for (const { channel } of this.#connections) if (channel.state === 'open') yield channel;
  }

  /** Publishes from inside. Resolves, when it is safe to confirm, to the number of copies. */
  publish(message: Message): Promise<number> {
    return this.core.publishing.publish(message);
  }

  /** Ends the connection of a client. False: it is not connected here. */
  kick(clientId: string): boolean {
    const link = this.core.sessions.find(clientId)?.link;
    link?.evict('kicked');
    return link !== null && link !== undefined;
  }

  /** Tells every client that the node stops and where else to go, if that is set. */
  stop(): void {
    for (const { channel } of this.#connections) {
      const { serverReference } = channel.zone;
      if (serverReference === undefined) channel.close('shutdown', Reason.serverShuttingDown);
      else channel.close('shutdown', Reason.useAnotherServer, { serverReference });
    }
    this.core.timers.stop();
  }

  /** Connections that have not closed yet; after `stop`, a deadline is the caller's. */
  get connectionCount(): number {
    return this.#connections.size;
  }

  /** Closes what `stop` could not close in time. */
  destroyConnections(): void {
    for (const { channel } of this.#connections) channel.transport.destroy();
  }
}

function buildCore({ settings, clock, log, store, peers }: BrokerOptions): Core {
  const timers = new TimerWheel({
    clock,
    onError: (error) => log.error('timer.failed', { error: describeError(error) }),
  });
  const hooks = new Hooks((hook, owner, error) =>
    log.error('hook.failed', { hook, owner, error: describeError(error) }),
  );
  const metrics = new Metrics();
  const stats = new Stats();
  const onFault = (clientId: string, error: unknown): void =>
    log.error('delivery.failed', { clientId, error: describeError(error) });
  const router = new Router(
    { peers, stats, metrics, onFault },
    {
      strategy: settings.broker.sharedSubscriptionStrategy,
      needsReady: settings.broker.sharedDispatchAckEnabled,
    },
  );
  const retained = new Retained(
    settings.retainer,
    { timers, metrics, stats, store },
    (topic, why) => log.warn('retained.refused', { topic, why }),
  );
  const publishing = new Publishing({ hooks, router, retained, metrics });
  const wills = new Wills(timers, (will) => {
    publishing.publish(will).catch((error: unknown) => {
      log.error('will.failed', { topic: will.topic, error: describeError(error) });
    });
  });
  const subscriptions = new Subscriptions(router, stats, store);
  const sessions = new Sessions(
    { metrics, hooks, timers, store, drops: new Drops({ metrics, hooks, timers, log }) },
    { subscriptions, wills, stats, peers },
  );
  const express = new ExpressLane({ router, metrics, peers, hooks, nowMs: () => timers.nowMs });
  hooks.onChange = () => express.reconsider();
  return {
    settings,
    clock,
    log,
    timers,
    hooks,
    metrics,
    stats,
    flusher: new Flusher(),
    router,
    retained,
    publishing,
    subscriptions,
    sessions,
    wills,
    express,
    peers,
  };
}
