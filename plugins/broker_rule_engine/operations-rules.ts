// Rules: created, tested, listed, changed, switched, deleted.

import type { OnActionFailed, RuleService, RuleSpec } from '#sdk';
import {
  type AnyOperation,
  defineOperation,
  jsonValue,
  noParams,
  OperatingError,
  Type,
} from '#sdk/operations';
import { found, isTest, tag, wrongParams } from './fields.ts';
import { answering } from './rule-refusal.ts';
import { exampleRule, rowOf, ruleLine, type RuleRow, ruleSchema } from './rule-row.ts';

const id = Type.String({ minLength: 1, description: 'Of the rule: rule:1a2b3c4d' });
const anyObject = (description: string) =>
  Type.Record(Type.String(), Type.Unknown(), { description });

const plainAction = {
  id: Type.Optional(
    Type.String({ description: 'Of an action of the rule: what it has counted stays' }),
  ),
  name: Type.String({ description: 'As GET /actions shows it' }),
  params: Type.Optional(anyObject('As the action describes them')),
};
const actionsMax = 32;
const actionList = Type.Array(
  Type.Object({
    ...plainAction,
    fallbacks: Type.Optional(
      Type.Array(Type.Object(plainAction), {
        maxItems: actionsMax,
        description: 'Run when the action fails',
      }),
    ),
  }),
  {
    maxItems: actionsMax,
    description: 'What happens when it matches: [{"name": "inspect", "params": {}}]',
  },
);
const events = Type.Union([Type.String(), Type.Array(Type.String())], {
  description: 'The event, where FROM names topics only; events that FROM names need no word',
});

/** What can be said of a rule, at first and later. */
const fields = {
  name: Type.Optional(Type.String({ description: 'Free words' })),
  for: Type.Optional(events),
  description: Type.Optional(Type.String()),
  enabled: Type.Optional(Type.Boolean({ description: 'true without a word' })),
  on_action_failed: Type.Optional(
    Type.Union([Type.Literal('continue'), Type.Literal('stop')], {
      description: 'Whether the other actions run when one fails; continue without a word',
    }),
  ),
};

interface Said {
  readonly name?: string;
  readonly for?: string | readonly string[];
  readonly description?: string;
  readonly enabled?: boolean;
  readonly on_action_failed?: OnActionFailed;
  readonly rawsql?: string;
  readonly actions?: RuleSpec['actions'];
}

function specOf({ on_action_failed: onActionFailed, ...said }: Said): Partial<RuleSpec> {
  const { name, for: event, description, enabled, rawsql, actions } = said;
  const wanted = { name, for: event, description, enabled, rawsql, actions, onActionFailed };
  // What is not named stays as it is.
  return Object.fromEntries(
    Object.entries(wanted).filter(([, value]) => value !== undefined),
  ) as Partial<RuleSpec>;
}

export function ruleOperations(service: RuleService): AnyOperation[] {
  return [
    listing(service),
    showing(service),
    creating(service),
    testing(service),
    updating(service),
    ...switching(service),
    deleting(service),
    resetting(service),
  ];
}

function listing(service: RuleService): AnyOperation {
  return defineOperation({
    name: 'list_rules',
    descr: 'A list of all rules',
    tag,
    http: { method: 'GET', path: '/rules', indexPath: '/rules/' },
    cli: {
      words: 'rules list',
      args: [],
      descr: 'List all rules',
      print: (rows: readonly RuleRow[]) => rows.map(ruleLine).join('\n'),
    },
    params: noParams,
    result: Type.Array(ruleSchema),
    example: { data: [exampleRule] },
    run: () => service.list().map(rowOf),
  });
}

function showing(service: RuleService): AnyOperation {
  return defineOperation({
    name: 'show_rule',
    descr: 'Show a rule',
    tag,
    http: { method: 'GET', path: '/rules/:id' },
    cli: {
      words: 'rules show',
      args: ['id'],
      usage: '<RuleId>',
      print: ruleLine,
      printFailure: (_failure, params) => `Cannot found ${params.id}`,
    },
    params: Type.Object({ id }),
    result: ruleSchema,
    example: { params: { id: exampleRule.id }, data: exampleRule },
    run: (params) => rowOf(found(service.get(params.id))),
  });
}

function creating(service: RuleService): AnyOperation {
  return defineOperation({
    name: 'create_rule',
    descr: 'Create a rule',
    tag,
    http: { method: 'POST', path: '/rules', indexPath: '/rules/' },
    cli: {
      words: 'rules create',
      args: ['rawsql', 'actions'],
      olderArgs: ['name', 'for', 'rawsql', 'actions'],
      options: {
        '-d': 'description',
        '--descr': 'description',
        '-i': 'id',
        '-e': 'enabled',
        '-g': 'on_action_failed',
      },
      usage: '<Sql> <Actions> [-d <Descr>] [-i <RuleId>] [-e <true|false>] [-g <continue|stop>]',
      descr: 'Create a rule',
      print: (row: RuleRow) => `Rule ${row.id} created`,
      printFailure: ({ message }) => `Invalid options: ${message}`,
    },
    params: Type.Object({
      rawsql: Type.String({ description: 'SELECT … FROM … WHERE …' }),
      actions: Type.Optional(actionList),
      id: Type.Optional(Type.String({ description: 'One is made without a word' })),
      ...fields,
      test: Type.Optional(
        Type.Union([Type.Boolean(), Type.Literal('')], {
          description:
            'true: create nothing, run the SQL on a sample event, and answer what it selects',
        }),
      ),
      ctx: Type.Optional(
        anyObject('With test: columns of the event, in place of those of the sample'),
      ),
    }),
    wrongParams,
    result: Type.Union([ruleSchema, anyObject('Of a test'), Type.Array(Type.Unknown())]),
    example: {
      params: {
        rawsql: exampleRule.rawsql,
        actions: [{ name: 'republish', params: { target_topic: 'hot/${client_id}' } }],
        description: exampleRule.description,
      },
      data: exampleRule,
    },
    async run({ test, ctx, id: wantedId, ...said }) {
      if (isTest(test)) {
        const { rawsql, for: event } = said;
        return answering(() => jsonValue(service.testSql({ rawsql, ctx, for: event })));
      }
      const { rawsql, actions } = said;
      if (actions === undefined) {
        throw new OperatingError('badRule', "missing mandatory params: ['actions']");
      }
      const spec = { ...specOf(said), rawsql, actions, id: wantedId };
      return rowOf(await answering(() => service.create(spec)));
    },
  });
}

function testing(service: RuleService): AnyOperation {
  return defineOperation({
    name: 'test_rule',
    descr: 'Run SQL against a sample event; nothing is created',
    tag,
    cli: {
      words: 'rules test',
      args: ['rawsql'],
      options: { '-c': 'ctx' },
      usage: '<Sql> [-c <Columns>]',
      print: (output: unknown) => JSON.stringify(output, undefined, 2),
    },
    params: Type.Object({
      rawsql: Type.String({ description: 'SELECT … FROM … WHERE …' }),
      ctx: Type.Optional(
        anyObject('Columns of the event, as JSON, in place of those of the sample'),
      ),
    }),
    wrongParams,
    run: (params) => answering(() => jsonValue(service.testSql(params))),
  });
}

function updating(service: RuleService): AnyOperation {
  return defineOperation({
    name: 'update_rule',
    descr: 'Change what is named of a rule; its id and what it has counted stay',
    tag,
    http: { method: 'PUT', path: '/rules/:id' },
    cli: {
      words: 'rules update',
      args: ['id'],
      options: {
        '-s': 'rawsql',
        '-a': 'actions',
        '-e': 'enabled',
        '-g': 'on_action_failed',
        '-d': 'description',
        '--descr': 'description',
      },
      usage:
        '<RuleId> [-s <Sql>] [-a <Actions>] [-e <true|false>] [-g <continue|stop>] [-d <Descr>]',
      descr: 'Update a rule',
      print: (row: RuleRow) => `Rule ${row.id} updated`,
      printFailure: ({ message }) => `Invalid options: ${message}`,
    },
    params: Type.Object({
      id,
      rawsql: Type.Optional(Type.String()),
      actions: Type.Optional(actionList),
      ...fields,
    }),
    wrongParams,
    result: ruleSchema,
    example: {
      params: { id: exampleRule.id, description: exampleRule.description },
      data: exampleRule,
    },
    run: async ({ id: which, ...said }) => changed(service, which, specOf(said)),
  });
}

function switching(service: RuleService): AnyOperation[] {
  return [true, false].map((enabled) => {
    const verb = enabled ? 'enable' : 'disable';
    return defineOperation({
      name: `${verb}_rule`,
      descr: enabled ? 'Enable a rule' : 'Disable a rule; it stays, and what it has counted',
      tag,
      cli: {
        words: `rules ${verb}`,
        args: ['id'],
        usage: '<RuleId>',
        print: (row: RuleRow) => `Rule ${row.id} ${verb}d`,
        printFailure: ({ message }) => message,
      },
      params: Type.Object({ id }),
      run: (params) => changed(service, params.id, { enabled }),
    });
  });
}

async function changed(
  service: RuleService,
  which: string,
  change: Partial<Omit<RuleSpec, 'id'>>,
): Promise<RuleRow> {
  if (service.get(which) === undefined) throw unknown(which);
  return rowOf(await answering(() => service.update(which, change)));
}

function unknown(which: string): OperatingError {
  return new OperatingError('badRule', `Rule ${which} Not Found`);
}

function deleting(service: RuleService): AnyOperation {
  return defineOperation({
    name: 'delete_rule',
    descr: 'Delete a rule',
    tag,
    http: { method: 'DELETE', path: '/rules/:id' },
    cli: {
      words: 'rules delete',
      args: ['id'],
      usage: '<RuleId>',
      descr: 'Delete a rule',
      print: () => 'ok',
    },
    params: Type.Object({ id }),
    example: { params: { id: exampleRule.id } },
    async run(params) {
      await service.delete(params.id);
    },
  });
}

function resetting(service: RuleService): AnyOperation {
  return defineOperation({
    name: 'reset_metrics',
    descr: 'Have what a rule and its actions have counted begin at 0 again',
    tag,
    http: { method: 'PUT', path: '/rules/:id/reset_metrics' },
    cli: {
      words: 'rules reset-metrics',
      args: ['id'],
      usage: '<RuleId>',
      descr: 'Set the counters of a rule to 0',
      print: () => 'ok',
      printFailure: ({ message }) => message,
    },
    params: Type.Object({ id }),
    result: ruleSchema,
    example: { params: { id: exampleRule.id }, data: exampleRule },
    async run(params) {
      if (service.get(params.id) === undefined) throw unknown(params.id);
      return rowOf(await answering(() => service.resetMetrics(params.id)));
    },
  });
}
