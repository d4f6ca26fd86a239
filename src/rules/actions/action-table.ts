// All actions there are, by either of their names; and which of them are for an event.

import { type EventName, events } from '../events.ts';
import { RuleFault } from '../rule-fault.ts';
import type { ActionView } from '../rule-service.ts';
import type { ActionDefinition } from './action.ts';
import { doNothing, inspect } from './inspect.ts';
import { paramViews } from './param-spec.ts';
import { republish } from './republish.ts';
import { dataToWebserver, eventToWebserver } from './web-server.ts';

const table: readonly ActionDefinition[] = [
  inspect,
  republish,
  doNothing,
  dataToWebserver,
  eventToWebserver,
];

const byName: ReadonlyMap<string, ActionDefinition> = new Map(
  table.flatMap((action) => [[action.name, action] as const, [action.olderName, action] as const]),
);

export function actionNamed(name: string): ActionDefinition | undefined {
  return byName.get(name);
}

/** Groups of events by the names that both forms of the interface have for them. */
const groups: ReadonlyMap<string, (event: EventName) => boolean> = new Map([
  ['$any', () => true],
  ['$message', (event: EventName) => event.startsWith('message.')],
  ['$client', (event: EventName) => event.startsWith('client.')],
  ['$session', (event: EventName) => event.startsWith('session.')],
  ['$messages', (event: EventName) => event === 'message.publish'],
  ['$events', (event: EventName) => event !== 'message.publish'],
]);

function membersOf(name: string): readonly EventName[] {
  const isMember = groups.get(name) ?? ((event: EventName) => event === name);
  return events.map(({ event }) => event).filter(isMember);
}

/** By English title where an event is named. Throws `unknown_event`. */
export function actionViews(forEvent?: string): readonly ActionView[] {
  if (forEvent === undefined) return table.map(viewOf);
  const wanted = new Set(membersOf(forEvent));
  if (wanted.size === 0) throw new RuleFault('unknown_event', `Event ${forEvent} Not Found`);
  return table
    .filter((action) => membersOf(action.for).some((event) => wanted.has(event)))
    .toSorted((a, b) => (a.title.en < b.title.en ? -1 : 1))
    .map(viewOf);
}

export function viewOf(action: ActionDefinition): ActionView {
  const { name, olderName, app, for: event, types, params, title, description } = action;
  return {
    name,
    olderName,
    app,
    for: event,
    types,
    params: paramViews(params),
    title,
    description,
  };
}
