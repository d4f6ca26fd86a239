// A client that is banned is not let in. Asked before authentication, so that nobody is bothered with its
// password; again when that has found out who it is; and once more in the turn in which it is let in,
// because a ban ends those who are connected, and may have come while this one was not yet.

import { Reason } from '#wire/reason-codes';
import type { BanSubject } from '#hooks/table';
import type { ConnectAttempt } from './connect-attempt.ts';
import type { PeerInfo } from './ports.ts';

export function refuseBanned(attempt: ConnectAttempt): undefined {
  const { channel } = attempt;
  const { hooks } = channel.core;
  if (hooks.lists['client.check_ban'] === null || !channel.zone.enableBan) return;
  const subject = banSubjectOf(attempt, channel.transport.peer);
  if (hooks.ask('client.check_ban', 'banned', subject) !== 'banned') return;
  attempt.refuse(Reason.banned, 'Cannot connect: the client is banned');
}

/** Its usernames are the one that it goes by, and the one that its pre-shared key has proven. */
export function banSubjectOf(
  { clientId, username }: { readonly clientId: string; readonly username: string | undefined },
  { address, tls }: PeerInfo,
): BanSubject {
  const usernames = [username, tls?.pskIdentity].filter((name) => name !== undefined);
  return { clientId, usernames, address };
}
