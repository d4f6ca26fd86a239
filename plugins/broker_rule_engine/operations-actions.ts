// What rules can be made of: actions, and the events with their columns.

import type { ActionView, EventView, RuleService } from '#sdk';
import {
  type AnyOperation,
  defineOperation,
  noParams,
  OperatingError,
  type TSchema,
  Type,
} from '#sdk/operations';
import { tag, words } from './fields.ts';
import { answering } from './rule-refusal.ts';
import { oneLine } from './rule-row.ts';

export const actionSchema: TSchema = Type.Object({
  name: Type.String(),
  app: Type.String({ description: 'Who brings it' }),
  for: Type.String({ description: 'The event; $any: all of them' }),
  types: Type.Array(Type.String(), { description: 'Of the resources that it needs one of' }),
  params: Type.Record(Type.String(), Type.Unknown(), {
    description: 'By name: type, required, default, enum, format, schema, title, description',
  }),
  title: words,
  description: words,
});

const eventSchema = Type.Object({
  event: Type.String(),
  title: words,
  description: words,
  test_columns: Type.Record(Type.String(), Type.Unknown(), {
    description: 'What a test form begins with',
  }),
  columns: Type.Array(Type.String(), { description: 'That SQL can name' }),
  sql_example: Type.String(),
});

export type ActionRow = Omit<ActionView, 'olderName'>;

export function actionOperations(service: RuleService): AnyOperation[] {
  return [listing(service), showing(service), eventListing(service)];
}

function listing(service: RuleService): AnyOperation {
  return defineOperation({
    name: 'list_actions',
    descr: 'A list of all actions',
    tag,
    http: { method: 'GET', path: '/actions', indexPath: '/actions/' },
    cli: {
      words: 'rule-actions list',
      args: [],
      options: { '-k': 'for', '--eventype': 'for', '-t': 'type' },
      usage: '[-k <EventType>] [-t <ResourceType>]',
      descr: 'List actions',
      print: (rows: readonly ActionRow[]) => rows.map(actionLine).join('\n'),
    },
    params: Type.Object({
      for: Type.Optional(
        Type.String({
          description:
            'Those for an event, or for $message, $client, $session, $any; by title then',
        }),
      ),
      type: Type.Optional(
        Type.String({ description: 'Those that work with resources of this type' }),
      ),
    }),
    result: Type.Array(actionSchema),
    example: { data: [exampleAction] },
    async run({ for: event, type }) {
      const actions = await answering(() => service.actions(event));
      const wanted = actions.filter(({ types }) => type === undefined || types.includes(type));
      return wanted.map(actionRowOf);
    },
  });
}

function showing(service: RuleService): AnyOperation {
  return defineOperation({
    name: 'show_action',
    descr: 'Show an action',
    tag,
    http: { method: 'GET', path: '/actions/:name' },
    cli: {
      words: 'rule-actions show',
      args: ['name'],
      usage: '<ActionId>',
      descr: 'Show a rule action',
      print: actionLine,
      printFailure: (_failure, params) => `Cannot found ${params.name}`,
    },
    params: Type.Object({
      name: Type.String({ minLength: 1, description: 'inspect, or built_in:inspect_action' }),
    }),
    result: actionSchema,
    example: { params: { name: 'inspect' }, data: exampleAction },
    run(params) {
      const action = service.action(params.name);
      if (action === undefined) throw new OperatingError('notFound', 'Not Found');
      return actionRowOf(action);
    },
  });
}

export function actionRowOf({
  name,
  app,
  for: event,
  types,
  params,
  title,
  description,
}: ActionView): ActionRow {
  return { name, app, for: event, types, params, title, description };
}

/** With the blank that the original has before the `=` of the title. */
function actionLine({ name, app, for: event, types, title, description }: ActionRow): string {
  const head = `name='${name}', app='${app}', for='${event}', types=[${types.join(',')}]`;
  return oneLine(`action(${head}, title ='${title.en}', description='${description.en}')`);
}

function eventListing(service: RuleService): AnyOperation {
  return defineOperation({
    name: 'list_events',
    descr: 'List all events with detailed info',
    tag,
    http: { method: 'GET', path: '/rule_events', indexPath: '/rule_events/' },
    params: noParams,
    result: Type.Array(eventSchema),
    example: { data: [exampleEvent] },
    run: (): readonly EventView[] => service.events(),
  });
}

export const exampleAction: ActionRow = {
  name: 'inspect',
  app: 'broker_rule_engine',
  for: '$any',
  types: [],
  params: {},
  title: { en: 'Inspect (debug)', zh: '检查 (调试)' },
  description: { en: 'Inspect the details of action params for debug purpose', zh: '…' },
};

const exampleEvent: EventView = {
  event: 'message.publish',
  title: { en: 'Message publish', zh: '消息发布' },
  description: { en: 'A message is accepted', zh: '消息被接收' },
  test_columns: { topic: 't/a', qos: 1 },
  columns: ['client_id', 'topic', 'payload'],
  sql_example: `SELECT payload.msg as msg FROM "message.publish" WHERE msg = 'hello'`,
};
