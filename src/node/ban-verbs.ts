// Bans in one worker: who is on the list is refused at CONNECT, and who is connected goes when its ban
// comes. Law: while the list is empty a CONNECT does not know of it.

import { Reason } from '#wire/reason-codes';
import { channelOf } from '#core/at-session';
import type { Broker } from '#core/broker';
import type { Channel } from '#core/channel';
import { banSubjectOf } from '#core/refuse-banned';
import { type Ban, BanList, type BanName } from '#access/banned';

export type BanVerbs = {
  /** In place of what there was. */
  setBans: (bans: readonly Ban[]) => void;
  /** Answers how many clients it has ended. */
  changeBans: (added: readonly Ban[], removed: readonly BanName[]) => number;
};

const owner = 'bans';

export function banVerbs({ broker }: { readonly broker: Broker }): BanVerbs {
  const { hooks, core } = broker;
  const list = new BanList();
  let isWatching = false;
  const watch = (): void => {
    if (isWatching === list.size > 0) return;
    isWatching = !isWatching;
    if (!isWatching) hooks.off(owner);
    else {
      hooks.on('client.check_ban', owner, (subject) =>
        list.has(subject, core.clock.nowMs()) ? 'banned' : 'ignore',
      );
    }
  };
  const endAmong = (channels: Iterable<Channel>): number => {
    let ended = 0;
    // A list of its own: who leaves is taken off the other one.
    for (const channel of [...channels]) {
      if (channel.isClosed || !channel.zone.enableBan) continue;
      const subject = banSubjectOf(channel.publisher, channel.transport.peer);
      if (!list.has(subject, core.clock.nowMs())) continue;
      end(channel);
      ended += 1;
    }
    return ended;
  };
  return {
    setBans(bans) {
      list.clear();
      for (const ban of bans) list.add(ban);
      watch();
      endAmong(broker.channels());
    },
    changeBans(added, removed) {
      for (const name of removed) list.remove(name);
      for (const ban of added) list.add(ban);
      watch();
      return added.length === 0 ? 0 : endAmong(suspects(broker, added));
    },
  };
}

/** Whom new bans may concern: a client id is looked up, for anything else all are looked at. */
function suspects(broker: Broker, added: readonly Ban[]): Iterable<Channel> {
  if (added.some(({ as }) => as !== 'client_id')) return broker.channels();
  return added.flatMap(({ who }) => {
    const session = broker.core.sessions.find(who);
    const channel = session && channelOf(session);
    return channel === undefined ? [] : [channel];
  });
}

/** MQTT 5 has the code Banned for CONNACK alone; in a DISCONNECT its reason is the text. */
function end(channel: Channel): void {
  const { clientId, username, address } = channel.publisher;
  channel.core.log.info('client.banned', { clientId, username, peer: address });
  const text = 'Cannot stay connected: the client is banned';
  channel.close('banned', Reason.administrativeAction, channel.problem(text));
}
