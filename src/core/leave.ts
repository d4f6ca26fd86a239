// The end of a connection, whatever ended it: the session loses its link, the will becomes due, and
// everybody is told. Called once per connection.

import type { Channel } from './channel.ts';
import { Message } from './message.ts';

/** Ends that a listener does not count: the client left in order, or we stop. */
const uncounted: ReadonlySet<string> = new Set(['normal', 'shutdown']);

export function leave(channel: Channel, reason: string): void {
  const { core, session, client, listener } = channel;
  if (!uncounted.has(reason)) listener.ended(reason);
  if (session === undefined || client === undefined) return;
  channel.session = undefined;
  core.stats.move('connections', -1);
  const { expirySeconds } = session;
  if (session.link === channel) core.sessions.left(session);
  const { will } = channel;
  channel.will = undefined;
  if (will !== undefined && reason !== 'shutdown') {
    const delaySeconds = Math.min(will.properties.willDelaySeconds ?? 0, expirySeconds);
    core.wills.due(
      client.clientId,
      (nowMs) => {
        const { willDelaySeconds: _, ...properties } = will.properties;
        const { payload, qos, retain } = will;
        const topic = channel.mountpoint + will.topic;
        return new Message(topic, payload, qos, retain, properties, client, nowMs);
      },
      delaySeconds,
    );
  }
  core.log.debug('client.disconnected', { clientId: client.clientId, reason });
  core.hooks.tell('client.disconnected', client, reason);
}
