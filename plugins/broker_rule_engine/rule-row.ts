// A rule as REST answers it and as the command line prints it.

import type { ActionInstanceView, OnActionFailed, RuleMetrics, RuleView } from '#sdk';
import { type TSchema, Type } from '#sdk/operations';

export interface ActionRow {
  readonly id: string;
  readonly name: string;
  readonly params: Readonly<Record<string, unknown>>;
  readonly metrics: ActionInstanceView['metrics'];
  readonly fallbacks?: readonly ActionRow[];
}

export interface RuleRow {
  readonly id: string;
  readonly name?: string;
  readonly for: string | readonly string[];
  readonly rawsql: string;
  readonly actions: readonly ActionRow[];
  readonly metrics: readonly RuleMetrics[];
  readonly enabled: boolean;
  readonly on_action_failed: OnActionFailed;
  readonly description: string;
}

const text = (description: string) => Type.String({ description });
const count = (description: string) => Type.Integer({ description });
const rate = (description: string) => Type.Number({ description });

const actionFields = {
  id: text('Of this action in this rule'),
  name: Type.String(),
  params: Type.Record(Type.String(), Type.Unknown(), { description: 'With defaults filled in' }),
  metrics: Type.Array(
    Type.Object({ node: Type.String(), success: Type.Integer(), failed: Type.Integer() }),
    { description: 'By node' },
  ),
};

/** Of `data`. */
export const ruleSchema: TSchema = Type.Object({
  id: Type.String(),
  name: Type.Optional(Type.String()),
  for: Type.Union([Type.String(), Type.Array(Type.String())], {
    description: 'The event; a list where there are several',
  }),
  rawsql: Type.String(),
  actions: Type.Array(
    Type.Object({
      ...actionFields,
      fallbacks: Type.Optional(
        Type.Array(Type.Object(actionFields), { description: 'Run when the action fails' }),
      ),
    }),
    { description: 'In the order in which they run' },
  ),
  metrics: Type.Array(
    Type.Object({
      node: Type.String(),
      matched: count('How often it has matched since the start, or since it was reset'),
      speed: rate('Matches a second, over the last 10 seconds'),
      speed_max: rate('The highest of these'),
      speed_last5m: rate('Their average over 5 minutes'),
    }),
    { description: 'By node' },
  ),
  enabled: Type.Boolean(),
  on_action_failed: text('continue: the other actions run all the same; stop: they do not'),
  description: Type.String(),
});

export function rowOf(rule: RuleView): RuleRow {
  const { id, name, for: events, rawsql, actions, metrics, enabled, description } = rule;
  const [only] = events;
  return {
    id,
    ...(name !== undefined && { name }),
    for: events.length === 1 && only !== undefined ? only : events,
    rawsql,
    actions: actions.map(actionRowOf),
    metrics,
    enabled,
    on_action_failed: rule.onActionFailed,
    description,
  };
}

function actionRowOf({ id, name, params, metrics, fallbacks }: ActionInstanceView): ActionRow {
  const more = fallbacks.length > 0 && { fallbacks: fallbacks.map(actionRowOf) };
  return { id, name, params, metrics, ...more };
}

/** `rule(id='rule:7fdb2c9e', for='['message.publish']', …)`, as the original prints it. */
export function ruleLine(row: RuleRow): string {
  const { id, name, rawsql, actions, metrics, enabled, description } = row;
  const events = [row.for].flat().map((event) => `'${event}'`);
  const parts = [
    `id='${id}'`,
    ...(name === undefined ? [] : [`name='${name}'`]),
    `for='[${events.join(',')}]'`,
    `rawsql='${rawsql.trim()}'`,
    `actions=${JSON.stringify(actions)}`,
    `metrics=${JSON.stringify(metrics)}`,
    `enabled='${enabled}'`,
    `description='${description}'`,
  ];
  return oneLine(`rule(${parts.join(', ')})`);
}

/** Nothing that somebody has stored draws lines or colours of its own. */
export function oneLine(line: string): string {
  return line.replaceAll(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ');
}

const node = 'broker@127.0.0.1';

/** As the examples show it. */
export const exampleRule: RuleRow = {
  id: 'rule:1a2b3c4d',
  for: 'message.publish',
  rawsql: 'SELECT client_id, payload FROM "plant/+/temperature" WHERE payload > 30',
  actions: [
    {
      id: 'republish_1763222400000000000',
      name: 'republish',
      params: { target_topic: 'hot/${client_id}', target_qos: 0, payload_tmpl: '${payload}' },
      metrics: [{ node, success: 0, failed: 0 }],
    },
  ],
  metrics: [{ node, matched: 0, speed: 0, speed_max: 0, speed_last5m: 0 }],
  enabled: true,
  on_action_failed: 'continue',
  description: 'Too hot',
};
