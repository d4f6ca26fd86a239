// What FROM means: events, by any of their names, and topic filters, which mean publishes. And `for`, by
// which the older form names the event while FROM has topics.

import { matches } from '#topics/match';
import { filterFault, parseFilter } from '#topics/topic';
import { type EventName, eventNamed } from './events.ts';
import type { Happening } from './happening.ts';
import { RuleFault } from './rule-fault.ts';
import type { Statement } from './sql/ast.ts';

export interface RuleSource {
  readonly event: EventName;
  /** Of the topic; undefined: any. */
  readonly filter: string | undefined;
  /** Some names of later versions mean a part of an event. */
  readonly only: ((happening: Happening) => boolean) | undefined;
}

const isAccepted = ({ detail }: Happening): boolean => detail.reasonCode === 0;
const isForOne = ({ detail }: Happening): boolean => detail.receiver !== undefined;

/** Names of later versions. */
const aliases: ReadonlyMap<string, Omit<RuleSource, 'filter'>> = new Map(
  (
    [
      ['message_publish', 'message.publish', undefined],
      ['message_delivered', 'message.deliver', undefined],
      ['message_acked', 'message.acked', undefined],
      ['message_dropped', 'message.dropped', undefined],
      ['delivery_dropped', 'message.dropped', isForOne],
      ['client_connected', 'client.connected', isAccepted],
      ['client_disconnected', 'client.disconnected', undefined],
      ['client_connack', 'client.connack', undefined],
      ['session_subscribed', 'session.subscribed', undefined],
      ['session_unsubscribed', 'session.unsubscribed', undefined],
    ] as const
  ).map(([name, event, only]) => [`$events/${name}`, { event, only }]),
);

/** Written like an event: whoever writes it does not mean a topic. */
const likeEvent = /^(message|client|session)\.[a-z_]+$/;

export function sourcesOf(
  { from }: Statement,
  forEvents?: string | readonly string[],
): readonly RuleSource[] {
  const sources = from.map(({ name }) => sourceOf(name));
  if (forEvents === undefined) return sources;
  const wanted = [...new Set([forEvents].flat().map((name) => eventOf(name).event))];
  if (wanted.length === 0) throw new RuleFault('bad_rule', 'Cannot use "for": it names no event');
  if (sources.every(({ filter }) => filter !== undefined)) {
    return wanted.flatMap((event) => ofTopics(event, sources));
  }
  const named = new Set(sources.map(({ event }) => event));
  if (wanted.length === named.size && wanted.every((event) => named.has(event))) return sources;
  const text = `"for" says ${wanted.join(', ')}, FROM says ${[...named].join(', ')}`;
  throw new RuleFault('bad_rule', `Cannot tell what the rule is about: ${text}`);
}

/** Only publishes have topics in the older form; of other events FROM says nothing. */
function ofTopics(event: EventName, topics: readonly RuleSource[]): readonly RuleSource[] {
  return event === 'message.publish' ? topics : [{ event, filter: undefined, only: undefined }];
}

function sourceOf(name: string): RuleSource {
  const known = eventNamed(name);
  if (known !== undefined) return { event: known.event, filter: undefined, only: undefined };
  const alias = aliases.get(name);
  if (alias !== undefined) return { ...alias, filter: undefined };
  if (likeEvent.test(name) || name.startsWith('$events/')) throw unknownEvent(name);
  const fault = filterFault(name);
  if (fault !== undefined) {
    throw new RuleFault('unknown_event', `Event ${name} Not Found: nor a topic filter: ${fault}`);
  }
  if (parseFilter(name).group === undefined) {
    return { event: 'message.publish', filter: name, only: undefined };
  }
  const wanted = 'a shared subscription is no topic filter';
  throw new RuleFault('unknown_event', `Event ${name} Not Found: ${wanted}`);
}

function eventOf(name: string): { readonly event: EventName } {
  const found = eventNamed(name) ?? aliases.get(name);
  if (found === undefined) throw unknownEvent(name);
  return found;
}

function unknownEvent(name: string): RuleFault {
  return new RuleFault('unknown_event', `Event ${name} Not Found`);
}

/** Whether something that happened is what one of these names. */
export function isFrom(
  sources: readonly RuleSource[],
  topic: string | undefined,
  happening: Happening,
): boolean {
  for (const { filter, only } of sources) {
    if (filter !== undefined && (topic === undefined || !matches(filter, topic))) continue;
    if (only === undefined || only(happening)) return true;
  }
  return false;
}
