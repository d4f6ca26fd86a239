// What every new session is subscribed to without asking for it (module.subscription). It goes the way of a
// SUBSCRIBE, past rights, limits and hooks. Law: the client is told that it is connected when the
// subscriptions are stored and all workers know of them, so that nothing that is published from then
// on passes it by; its CONNACK waits in the outbox, and everything else behind it.

import { describeError } from '#base/errors';
import { filterFault, isSystem } from '#topics/topic';
import type { ModuleSubscription } from '#config/settings';
import type { ClientInfo } from '#hooks/table';
import { channelOf } from '#core/at-session';
import type { Channel } from '#core/channel';
import type { Core } from '#core/context';
import type { Wait } from '#core/ports';
import type { Session } from '#core/session';
import {
  announce,
  type Entered,
  enterFilter,
  retainedSeen,
  subscriptionOf,
} from '#core/subscribing';
import { bothWaits } from '#core/wait';

const owner = 'subscription';

export function subscribeNewcomers(core: Core, lines: readonly ModuleSubscription[]): void {
  if (lines.length === 0) return;
  core.hooks.on('session.created', owner, (client) => {
    const session = core.sessions.find(client.clientId);
    const channel = session && channelOf(session);
    if (session !== undefined && channel !== undefined) enter(channel, session, lines);
  });
}

function enter(channel: Channel, session: Session, lines: readonly ModuleSubscription[]): void {
  const { core, publisher } = channel;
  const entered: Entered[] = [];
  let wait: Wait;
  for (const { topic, qos } of lines) {
    const filter = filterFor(topic, publisher);
    if (filter === undefined) {
      core.log.info('subscription.skipped', { clientId: publisher.clientId, topic });
      continue;
    }
    const wanted = {
      filter,
      qos,
      noLocal: false,
      retainAsPublished: false,
      retainHandling: 0,
    } as const;
    // Nobody was asked for rights, and nobody is when they change.
    const subscription = { ...subscriptionOf(channel, wanted, undefined), askedAs: null };
    const one = enterFilter(core, session, subscription);
    entered.push(one);
    wait = bothWaits(wait, one.wait);
  }
  confirm(channel, session, entered, wait).catch((error: unknown) => channel.onFault(error));
}

async function confirm(
  channel: Channel,
  session: Session,
  entered: readonly Entered[],
  wait: Wait,
): Promise<void> {
  const { core, outbox, publisher } = channel;
  if (wait !== undefined) {
    outbox.hold();
    await wait.catch((error: unknown) => {
      // It holds as long as this process does; the session would be without it after the next start.
      const { clientId } = publisher;
      core.log.warn('subscription.unstored', { clientId, error: describeError(error) });
    });
    outbox.release();
  }
  await retainedSeen(core, entered);
  for (const one of entered) {
    // It may have been given up again meanwhile.
    const isThere = session.subscriptions.get(one.subscription.filter) === one.subscription;
    if (isThere && !channel.isClosed) announce(channel, one);
  }
}

/**
 * `%c` and `%u` as whole levels. Undefined: the line does not hold for this client, because it has no such
 * name, or one that would be a wildcard, several levels, or the `$` that makes a filter special
 * (CVE-2017-7650).
 */
export function filterFor(
  template: string,
  { clientId, username }: Pick<ClientInfo, 'clientId' | 'username'>,
): string | undefined {
  const levels = template.split('/');
  for (const [i, level] of levels.entries()) {
    if (level !== '%c' && level !== '%u') continue;
    const name = level === '%c' ? clientId : (username ?? '');
    if (name === '' || /[+#/]/.test(name)) return undefined;
    // Also behind `$share/<group>/`, where another prefix would be read as one.
    if (isSystem(name) && (i === 0 || isSystem(template))) return undefined;
    levels[i] = name;
  }
  const filter = levels.join('/');
  return filterFault(filter) === undefined ? filter : undefined;
}
