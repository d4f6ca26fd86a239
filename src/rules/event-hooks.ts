// How events come from hooks: which hook is which event, what it is told, and the topic by which rules are
// found. Law: nothing is read of what happened but that topic, before a rule wants it.

import type { HookWish } from '#hooks/runner';
import type { HookName, HookTable } from '#hooks/table';
import type { EventName } from './events.ts';
import { Happening } from './happening.ts';

export interface HookedParts {
  readonly nodeName: string;
  readonly nowMs: () => number;
  readonly tell: (event: EventName, topic: string | undefined, happening: Happening) => void;
}

/** Before those that change filters: rules see what the client wrote. */
const firstPriority = 2000;

type Hooked<K extends HookName> = (
  parts: HookedParts,
  isWanted: (event: EventName) => boolean,
) => {
  readonly call: HookTable[K];
  readonly priority?: number;
};
type HookTableOfEvents = { readonly [K in HookName]?: Hooked<K> };

const eventsOfHook: Readonly<Partial<Record<HookName, readonly EventName[]>>> = {
  'message.sent': ['message.deliver'],
  'message.acked': ['message.acked'],
  'message.dropped': ['message.dropped'],
  'client.connected': ['client.connected', 'client.connack'],
  'client.disconnected': ['client.disconnected'],
  'client.subscribe': ['client.subscribe'],
  'client.unsubscribe': ['client.unsubscribe'],
  'session.subscribed': ['session.subscribed'],
  'session.unsubscribed': ['session.unsubscribed'],
};

const hooked: HookTableOfEvents = {
  'message.sent': ({ nodeName, nowMs, tell }) => ({
    call: (client, message, qos) =>
      tell(
        'message.deliver',
        message.topic,
        new Happening(nodeName, nowMs(), message, client, { qos }),
      ),
  }),
  'message.acked': ({ nodeName, nowMs, tell }) => ({
    call: (client, message) =>
      tell('message.acked', message.topic, new Happening(nodeName, nowMs(), message, client)),
  }),
  'message.dropped': ({ nodeName, nowMs, tell }) => ({
    call: (message, reason, receiver) => {
      const happening = new Happening(nodeName, nowMs(), message, undefined, { reason, receiver });
      tell('message.dropped', message.topic, happening);
    },
  }),
  'client.connected': ({ nodeName, nowMs, tell }, isWanted) => ({
    call: (client, reasonCode) => {
      const happening = new Happening(nodeName, nowMs(), undefined, client, { reasonCode });
      for (const event of ['client.connected', 'client.connack'] as const) {
        if (isWanted(event)) tell(event, undefined, happening);
      }
    },
  }),
  'client.disconnected': ({ nodeName, nowMs, tell }) => ({
    call: (client, reason) =>
      tell(
        'client.disconnected',
        undefined,
        new Happening(nodeName, nowMs(), undefined, client, { reason }),
      ),
  }),
  'client.subscribe': ({ nodeName, nowMs, tell }) => ({
    priority: firstPriority,
    call: (client, filters) => {
      const happening = new Happening(nodeName, nowMs(), undefined, client, { filters });
      if (filters.length > 0) tell('client.subscribe', filters[0]?.filter, happening);
      return undefined;
    },
  }),
  'client.unsubscribe': ({ nodeName, nowMs, tell }) => ({
    priority: firstPriority,
    call: (client, texts) => {
      const filters = texts.map((filter) => ({ filter }));
      const happening = new Happening(nodeName, nowMs(), undefined, client, { filters });
      tell('client.unsubscribe', texts[0], happening);
      return undefined;
    },
  }),
  'session.subscribed': ({ nodeName, nowMs, tell }) => ({
    call: (client, subscription) =>
      tell(
        'session.subscribed',
        subscription.filter,
        new Happening(nodeName, nowMs(), undefined, client, { subscription }),
      ),
  }),
  'session.unsubscribed': ({ nodeName, nowMs, tell }) => ({
    call: (client, filter) =>
      tell(
        'session.unsubscribed',
        filter,
        new Happening(nodeName, nowMs(), undefined, client, { filter }),
      ),
  }),
};

/** Only the hooks that these events need. */
export function eventHooks(wanted: ReadonlySet<EventName>, parts: HookedParts): HookWish[] {
  const wishes: HookWish[] = [];
  for (const [hook, make] of Object.entries(hooked) as [HookName, Hooked<HookName>][]) {
    if (eventsOfHook[hook]?.some((event) => wanted.has(event)) !== true) continue;
    const { call, priority } = make(parts, (event) => wanted.has(event));
    wishes.push({ hook, call, priority });
  }
  return wishes;
}
