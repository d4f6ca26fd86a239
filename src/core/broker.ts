// The façade of one worker's broker: it has the parts built, hands each new connection what it needs,
// and offers the verbs that the floors above call. It contains no protocol.

import { Reason } from '#wire/reason-codes';
import type { ZoneSettings } from '#config/settings';
import type { Hooks } from '#hooks/runner';
import { type BrokerOptions, buildCore } from './build-core.ts';
import type { Channel } from './channel.ts';
import { Connection } from './connection.ts';
import type { Core } from './context.ts';
import type { Message } from './message.ts';
import type { ListenerFace, Transport, TransportSink } from './ports.ts';
import type { SessionHead, Store } from './store-port.ts';

export class Broker {
  readonly core: Core;
  readonly #connections = new Set<Connection>();
  readonly #store: Store;

  constructor(options: BrokerOptions) {
    this.core = buildCore(options);
    this.#store = options.store;
    this.core.timers.start();
    this.core.overload.start();
  }

  /** Takes up what another process left: call before anybody is let in. */
  restore(isWanted?: (clientId: string) => boolean): { sessions: number; wills: number } {
    const { sessions, wills } = this.core;
    this.restoreSessions(isWanted);
    return { sessions: sessions.size, wills: wills.restore(isWanted) };
  }

  /** Without the wills, which are published when everybody who is to have them can be reached. */
  restoreSessions(isWanted?: (clientId: string) => boolean): void {
    for (const stored of this.#store.sessions(isWanted)) {
      this.core.sessions.restore(stored, this.zoneOf(stored.head));
    }
  }

  /** The zone of a session that another process, or another worker, began. */
  zoneOf({ zone, clientId }: Pick<SessionHead, 'zone' | 'clientId'>): ZoneSettings {
    const { settings, log } = this.core;
    const known = settings.zones.get(zone);
    if (known !== undefined) return known;
    log.warn('session.zone_unknown', { clientId, zone });
    return settings.zones.values().next().value as ZoneSettings;
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

  /** Decisions about rights are asked for anew: of one client, or of all. */
  forgetRights(clientId?: string): void {
    if (clientId === undefined) this.core.rights.forgetAll();
    else for (const channel of this.channels()) forgetOf(channel, clientId);
  }

  /** Tells every client that the node stops and where else to go, if that is set. */
  stop(): void {
    for (const { channel } of this.#connections) {
      const { serverReference } = channel.zone;
      if (serverReference === undefined) channel.close('shutdown', Reason.serverShuttingDown);
      else channel.close('shutdown', Reason.useAnotherServer, { serverReference });
    }
    this.core.overload.stop();
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

function forgetOf({ publisher, rights }: Channel, clientId: string): void {
  if (publisher.clientId === clientId) rights?.forget();
}
