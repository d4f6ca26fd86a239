// The subscriptions of all sessions: listed and looked up; on the console also made and ended.

import { type Static, Type } from 'typebox';
import type { QoS } from '#wire/packet';
import type { SubscriptionFacts } from '#node/list-rows';
import { OperatingError } from '../failures.ts';
import { clientParams, pageOf, rowsOfClient } from '../lists.ts';
import { atSession } from '../on-behalf.ts';
import { operating } from '../operating.ts';
import { type AnyOperation, define, type Page } from '../operation.ts';
import { pagingParams } from '../paging.ts';
import type { AdminParts } from '../parts.ts';
import { onNode } from '../this-node.ts';

const tag = 'Subscriptions';
const { clientid } = clientParams.properties;

const subscriptionRow = Type.Object({
  client_id: Type.String(),
  node: Type.String(),
  topic: Type.String({ description: 'The filter; of a shared subscription without its prefix' }),
  qos: Type.Integer({ minimum: 0, maximum: 2 }),
});
type SubscriptionRow = Static<typeof subscriptionRow>;

export function subscriptionOperations(parts: AdminParts): AnyOperation[] {
  return [...listing(parts), ...lookingUp(parts), ...changing(parts)];
}

function listing(parts: AdminParts): AnyOperation[] {
  const { settings } = parts;
  const rowOf = rowOn(settings.node.name);
  const list = define({
    name: 'list_subscriptions',
    descr: 'A list of subscriptions in the cluster',
    tag,
    http: { method: 'GET', path: '/subscriptions', indexPath: '/subscriptions/' },
    cli: {
      words: 'subscriptions list',
      args: [],
      descr: 'List all subscriptions',
      print: ({ rows }: Page<SubscriptionRow>) => rows.map(lineOf).join('\n'),
    },
    params: Type.Object(pagingParams(settings.management.rowsMax)),
    result: Type.Array(subscriptionRow),
    run: (params, caller) => pageOf(parts, 'subscriptions', params, caller, rowOf),
  });
  const ofNode = {
    name: 'list_node_subscriptions',
    descr: 'A list of subscriptions on a node',
    indexPath: '/nodes/:node/subscriptions/',
  };
  return [list, onNode(settings, list, ofNode)];
}

function lookingUp(parts: AdminParts): AnyOperation[] {
  const { settings } = parts;
  const rowOf = rowOn(settings.node.name);
  const lookup = define({
    name: 'lookup_client_subscriptions',
    descr: 'A list of subscriptions of a client',
    tag,
    http: { method: 'GET', path: '/subscriptions/:clientid' },
    cli: {
      words: 'subscriptions show',
      args: ['clientid'],
      usage: '<ClientId>',
      descr: 'Show subscriptions of a client',
      print: (rows: readonly SubscriptionRow[]) => rows.map(lineOf).join('\n') || 'Not Found.',
    },
    params: clientParams,
    result: Type.Array(subscriptionRow),
    run: (params) => rowsOfClient(parts, 'subscriptions', params.clientid, rowOf),
  });
  const ofNode = {
    name: 'lookup_client_subscriptions_with_node',
    descr: 'A list of subscriptions of a client on the node',
  };
  return [lookup, onNode(settings, lookup, ofNode)];
}

const topic = Type.String({ description: 'The filter' });
const changeFailures: Readonly<Record<string, string>> = {
  session_not_found: 'Error: Session not found!',
  bad_topic: 'Error: Bad topic!',
};
const printFailure = ({ message }: OperatingError): string => changeFailures[message] ?? message;

/** On the console alone: the API has `/mqtt/subscribe` and `/mqtt/unsubscribe`. */
function changing({ node, clock }: AdminParts): AnyOperation[] {
  const sessions = { workers: node.workers, clock };
  return [
    define({
      name: 'add_subscription',
      descr: 'Subscribe a client',
      tag,
      cli: {
        words: 'subscriptions add',
        args: ['clientid', 'topic', 'qos'],
        usage: '<ClientId> <Topic> <QoS>',
        print: () => 'ok',
        printFailure,
      },
      params: Type.Object({ clientid, topic, qos: Type.String({ description: '0, 1 or 2' }) }),
      async run({ clientid: id, topic: filter, qos }) {
        if (!/^[012]$/.test(qos)) throw new OperatingError('invalid', 'QoS should be 0, 1, 2');
        const args = [id, filter, Number(qos) as QoS] as const;
        await operating(atSession(sessions, id, 'subscribe', [args]));
      },
    }),
    define({
      name: 'delete_subscription',
      descr: 'Unsubscribe a client',
      tag,
      cli: {
        words: 'subscriptions del',
        args: ['clientid', 'topic'],
        usage: '<ClientId> <Topic>',
        print: () => 'ok',
        printFailure,
      },
      params: Type.Object({ clientid, topic }),
      async run({ clientid: id, topic: filter }) {
        await operating(atSession(sessions, id, 'unsubscribe', [[id, filter]]));
      },
    }),
  ];
}

const rowOn =
  (node: string) =>
  ({ clientId, topic: shown, qos }: SubscriptionFacts): SubscriptionRow => ({
    client_id: clientId,
    node,
    topic: shown,
    qos,
  });

const lineOf = (row: SubscriptionRow): string => `${row.client_id} -> ${row.topic}`;
