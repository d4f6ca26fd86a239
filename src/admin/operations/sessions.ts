// The sessions of clients, connected or not: listed, looked up, and ended where nobody is connected.

import { type Static, Type } from 'typebox';
import type { SessionFacts } from '#node/list-rows';
import { OperatingError } from '../failures.ts';
import { clientParams, pageOf, rowsOfClient } from '../lists.ts';
import { operating } from '../operating.ts';
import { type AnyOperation, define, type Page } from '../operation.ts';
import { pagingParams } from '../paging.ts';
import type { AdminParts } from '../parts.ts';
import { onNode } from '../this-node.ts';
import { localTime, secondsOf } from '../timestamps.ts';

const tag = 'Sessions';
const counter = (description: string) => Type.Integer({ description });

const sessionRow = Type.Object({
  client_id: Type.String(),
  username: Type.String({ description: 'The word undefined where there is none' }),
  node: Type.String(),
  binding: Type.String({ description: 'local, or undefined while the client is not connected' }),
  clean_start: Type.Boolean(),
  created_at: Type.String({ description: 'YYYY-MM-DD hh:mm:ss, local time' }),
  expiry_interval: counter('Seconds after the end of a connection; 4294967295: never'),
  awaiting_rel_len: counter('QoS 2 publishes of the client that it has not released'),
  inflight_len: counter('Messages sent and not acknowledged'),
  mailbox_len: counter('Messages that wait for the client'),
  mqueue_len: counter('Messages in the queue, on disk and in memory'),
  mqueue_dropped: counter('Messages that the queue had no room for'),
  deliver_msg: counter('Messages sent'),
  enqueue_msg: counter('Messages that had to wait'),
  heap_size: counter('Bytes held for the session: its messages in memory as such'),
  reductions: counter('Work done for the session: messages sent and queued'),
  subscriptions_count: counter('Its subscriptions'),
  max_awaiting_rel: counter('0: no limit'),
  max_inflight: counter('For MQTT 5 the Receive Maximum of the client'),
  max_mqueue: counter('0: no limit'),
  max_subscriptions: counter('0: no limit'),
});
type SessionRow = Static<typeof sessionRow>;

export function sessionOperations(parts: AdminParts): AnyOperation[] {
  return [...listing(parts), ...lookingUp(parts), ...cleaning(parts)];
}

function listing(parts: AdminParts): AnyOperation[] {
  const { settings } = parts;
  const rowOf = rowOn(settings.node.name);
  const list = define({
    name: 'list_sessions',
    descr: 'A list of sessions in the cluster',
    tag,
    http: { method: 'GET', path: '/sessions', indexPath: '/sessions/' },
    cli: {
      words: 'sessions list',
      args: [],
      descr: 'List all sessions',
      print: ({ rows }: Page<SessionRow>) => rows.map(lineOf).join('\n'),
    },
    params: Type.Object(pagingParams(settings.management.rowsMax)),
    result: Type.Array(sessionRow),
    run: (params, caller) => pageOf(parts, 'sessions', params, caller, rowOf),
  });
  const ofNode = {
    name: 'list_node_sessions',
    descr: 'A list of sessions on a node',
    indexPath: 'nodes/:node/sessions/',
  };
  return [list, onNode(settings, list, ofNode)];
}

function lookingUp(parts: AdminParts): AnyOperation[] {
  const { settings } = parts;
  const rowOf = rowOn(settings.node.name);
  const lookup = define({
    name: 'lookup_session',
    descr: 'Lookup a session in the cluster',
    tag,
    http: { method: 'GET', path: '/sessions/:clientid' },
    cli: {
      words: 'sessions show',
      args: ['clientid'],
      usage: '<ClientId>',
      descr: 'Show a session',
      print: (rows: readonly SessionRow[]) => rows.map(lineOf).join('\n') || 'Not Found.',
    },
    params: clientParams,
    result: Type.Array(sessionRow),
    run: (params) => rowsOfClient(parts, 'sessions', params.clientid, rowOf),
  });
  const ofNode = {
    name: 'lookup_node_session',
    descr: 'Lookup a session on the node',
    indexPath: 'nodes/:node/sessions/:clientid',
  };
  return [lookup, onNode(settings, lookup, ofNode)];
}

const cleanFailures: Readonly<Record<string, string>> = {
  running_session: "Couldn't clean a session with a valid connection.",
  not_found: 'Not Found.',
};

/** The names are spelled as clients of the API know them. */
function cleaning({ node, settings }: AdminParts): AnyOperation[] {
  const clean = async (id: string): Promise<void> => {
    const cleaned = await operating(node.workers.atClient(id, 'cleanSession', [id]));
    if (cleaned === 'cleaned') return;
    throw new OperatingError('failed', cleaned === 'running' ? 'running_session' : 'not_found');
  };
  const cleanOne = define({
    name: 'clean_presisent_session',
    descr: 'Clean a persistent session in the cluster',
    tag,
    http: { method: 'DELETE', path: '/sessions/persistent/:clientid' },
    cli: {
      words: 'sessions clean-persistent',
      args: ['clientid'],
      usage: '<ClientId>',
      descr: 'Clean a persistent session',
      print: () => 'Clean persistent session successfully.',
      printFailure: ({ message }) => cleanFailures[message] ?? message,
    },
    params: clientParams,
    run: (params) => clean(params.clientid),
  });
  const ofNode = {
    name: 'clean_node_presisent_session',
    descr: 'Clean a persistent session on the node',
    indexPath: 'nodes/:node/sessions/persistent/:clientid',
  };
  return [cleanOne, onNode(settings, cleanOne, ofNode)];
}

/** As MQTT 5 writes it. */
const expiryNever = 0xffffffff;

/** What the original tells of its own runtime (heap, mailbox, reductions) is the nearest that we have. */
const rowOn =
  (node: string) =>
  (facts: SessionFacts): SessionRow => ({
    client_id: facts.clientId,
    username: facts.username ?? 'undefined',
    node,
    binding: facts.isConnected ? 'local' : 'undefined',
    clean_start: facts.cleanStart,
    created_at: localTime(facts.createdAtMs),
    expiry_interval: Math.min(facts.expirySeconds, expiryNever),
    awaiting_rel_len: facts.awaitingRel,
    inflight_len: facts.inflight,
    mailbox_len: facts.queued,
    mqueue_len: facts.queued,
    mqueue_dropped: facts.dropped,
    deliver_msg: facts.delivered,
    enqueue_msg: facts.enqueued,
    heap_size: facts.heldBytes,
    reductions: facts.delivered + facts.enqueued,
    subscriptions_count: facts.subscriptions,
    max_awaiting_rel: facts.awaitingRelMax,
    max_inflight: facts.inflightMax,
    max_mqueue: facts.queuedMax,
    max_subscriptions: facts.subscriptionsMax,
  });

function lineOf(row: SessionRow): string {
  const facts = [
    `clean_start=${row.clean_start}`,
    `expiry_interval=${row.expiry_interval}`,
    `subscriptions_count=${row.subscriptions_count}`,
    `max_inflight=${row.max_inflight}`,
    `inflight=${row.inflight_len}`,
    `mqueue_len=${row.mqueue_len}`,
    `mqueue_dropped=${row.mqueue_dropped}`,
    `awaiting_rel=${row.awaiting_rel_len}`,
    `deliver_msg=${row.deliver_msg}`,
    `enqueue_msg=${row.enqueue_msg}`,
    `created_at=${secondsOf(row.created_at)}`,
  ];
  return `Session(${row.client_id}, ${facts.join(', ')})`;
}
