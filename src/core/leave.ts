// The end of a connection, whatever ended it: the session loses its link, the will becomes due, and
// everybody is told. Called once per connection.

import type { Channel } from './channel.ts';

/** Ends that a listener does not count: the client left in order, or we stop. */
const uncounted: ReadonlySet<string> = new Set(['normal', 'shutdown']);

export function leave(channel: Channel, reason: string): void {
  const { core, session, client, listener } = channel;
  if (!uncounted.has(reason)) listener.ended(reason);
  if (session === undefined || client === undefined) return;
  channel.session = undefined;
  core.stats.move('connections', -1);
  const { expirySeconds } = session;
  // Null: it was to be the channel, and something of ours failed before.
  if (session.link === channel || session.link === null) core.sessions.left(session);
  const { will } = channel;
  channel.will = undefined;
  if (will === undefined || reason === 'shutdown') core.wills.forget(client.clientId);
  else core.wills.due(client.clientId, will, Math.min(will.delaySeconds, expirySeconds));
  core.log.debug('client.disconnected', { clientId: client.clientId, reason });
  core.hooks.tell('client.disconnected', client, reason);
}
