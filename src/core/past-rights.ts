// Rights of those who published something that is only now handed out or sent: retained messages (the
// class of CVE-2018-12546) and wills. Law: a plain no withholds it; where nobody can tell, the right that
// it was published with, or the will accepted with, stands.

import { checkedAnswer } from '#hooks/answer-shapes';
import type { Hooks } from '#hooks/runner';
import type { ClientInfo, PastPublisher } from '#hooks/table';
import { reconsider } from './access.ts';
import type { Core } from './context.ts';
import type { Message, Publisher } from './message.ts';
import { Metric } from './metrics.ts';

/** What a new subscriber is given of retained messages; undefined: all. */
export function retainedFilter(
  core: Core,
  subscriber: ClientInfo,
): ((message: Message) => boolean) | undefined {
  if (!core.settings.acl.isRechecked) return undefined;
  let isLogged = false;
  return ({ topic, from }) => {
    if (mayStillPublish(core, from, from.askedTopic ?? topic)) return true;
    // One line for a subscription, not one for each of a million topics.
    if (!isLogged) {
      const { clientId } = subscriber;
      core.log.info('retained.withheld', { clientId, topic, publisher: from.clientId });
    }
    isLogged = true;
    return false;
  };
}

/** As far as it can be told at once, of somebody who may be gone for long. `topic` with mountpoint. */
function mayStillPublish({ hooks, settings }: Core, from: Publisher, topic: string): boolean {
  const zone = from.zone === undefined ? undefined : settings.zones.get(from.zone);
  if (zone === undefined || !zone.enableAcl || from.isSuperuser === true) return true;
  const plain = unmounted(from, topic);
  for (const { owner } of hooks.lists['client.check_acl'] ?? []) {
    const answer = answerOf(hooks, owner, from, plain);
    if (answer === undefined) return true;
    if (answer !== 'ignore') return answer === 'allow';
  }
  return zone.aclNomatch === 'allow';
}

/** Undefined: this one cannot be asked about the past. */
function answerOf(
  hooks: Hooks,
  owner: string,
  publisher: PastPublisher,
  topic: string,
): 'allow' | 'deny' | 'ignore' | undefined {
  const listener = hooks.lists['message.check_retained']?.find((one) => one.owner === owner);
  if (listener === undefined) return undefined;
  try {
    const answer = listener.call(publisher, topic);
    checkedAnswer('message.check_retained', answer);
    return answer;
  } catch (error) {
    hooks.report('message.check_retained', owner, error);
    return 'deny';
  }
}

function unmounted({ mountpoint = '' }: Publisher, topic: string): string {
  return topic.startsWith(mountpoint) ? topic.slice(mountpoint.length) : topic;
}

/** Whether a will is published now that it is due. Tells of a denial. */
export function mayPublishWill(core: Core, will: Message): boolean | Promise<boolean> {
  if (!core.settings.acl.isRechecked) return true;
  const { from, topic } = will;
  if (!isClient(from)) return tellDenied(core, will, mayStillPublish(core, from, topic));
  const zone = core.settings.zones.get(from.zone);
  if (zone === undefined) return true;
  const asker = { core, zone, publisher: from, rights: null };
  const standing = reconsider(asker, 'publish', unmounted(from, topic));
  if (typeof standing === 'string') return tellDenied(core, will, standing !== 'denied');
  return standing.then((late) => tellDenied(core, will, late !== 'denied'));
}

/** The object of a connection, and not what a store has kept of one. */
function isClient(from: Publisher): from is Publisher & ClientInfo {
  return 'connectedAtMs' in from;
}

function tellDenied(core: Core, will: Message, isAllowed: boolean): boolean {
  if (isAllowed) return true;
  const { hooks, log, metrics } = core;
  const { topic, from } = will;
  log.info('will.denied', { clientId: from.clientId, topic });
  metrics.add(Metric.messagesDropped);
  if (isClient(from)) hooks.tell('client.denied', from, 'publish', unmounted(from, topic));
  hooks.tell('message.dropped', will, 'not_authorized', undefined);
  return false;
}
