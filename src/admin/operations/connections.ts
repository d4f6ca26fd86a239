// The clients that are connected: listed, looked up by client id or username, and kicked out.

import { type Static, Type } from 'typebox';
import type { ConnectionFacts } from '#node/list-rows';
import { OperatingError } from '../failures.ts';
import { clientParams, pageOf, rowsOf, rowsOfClient } from '../lists.ts';
import { operating } from '../operating.ts';
import { type AnyOperation, define, type Page } from '../operation.ts';
import { pagingParams } from '../paging.ts';
import type { AdminParts } from '../parts.ts';
import { onNode } from '../this-node.ts';
import { localTime, secondsOf } from '../timestamps.ts';

const tag = 'Connections';
const username = Type.String({ description: 'Exactly as the client wrote it' });
const counter = (description: string) => Type.Integer({ description });

const connectionRow = Type.Object({
  client_id: Type.String(),
  username: Type.String({ description: 'The word undefined where there is none' }),
  node: Type.String(),
  clean_start: Type.Boolean(),
  conn_mod: Type.String({ description: 'broker_connection, or broker_ws_connection by WebSocket' }),
  connected_at: Type.String({ description: 'YYYY-MM-DD hh:mm:ss, local time' }),
  heap_size: counter('Bytes held for the client: outbox, and its messages in memory as such'),
  ipaddress: Type.String(),
  port: Type.Integer(),
  is_bridge: Type.Boolean(),
  keepalive: Type.Integer({ description: 'Seconds' }),
  mailbox_len: counter('Messages that wait for the client'),
  peercert: Type.String({
    description: 'PEM; nossl without TLS, undefined where the client showed none',
  }),
  proto_name: Type.String({ description: 'MQTT or MQIsdp' }),
  proto_ver: Type.Integer({ description: '3, 4 or 5' }),
  recv_cnt: counter('Reads of the socket'),
  recv_msg: counter('PUBLISH packets received'),
  recv_oct: counter('Bytes received'),
  recv_pkt: counter('MQTT packets received'),
  send_cnt: counter('Writes to the socket'),
  send_msg: counter('PUBLISH packets sent'),
  send_oct: counter('Bytes sent'),
  send_pend: counter('Bytes that the socket has not taken yet'),
  send_pkt: counter('MQTT packets sent'),
  reductions: counter('Work done for the client: packets received and sent'),
  zone: Type.String(),
});
type ConnectionRow = Static<typeof connectionRow>;

export function connectionOperations(parts: AdminParts): AnyOperation[] {
  return [...listing(parts), ...lookingUp(parts), ...byUsername(parts), kicking(parts)];
}

function listing(parts: AdminParts): AnyOperation[] {
  const { settings } = parts;
  const rowOf = rowOn(settings.node.name);
  const list = define({
    name: 'list_connections',
    descr: 'A list of connections in the cluster',
    tag,
    http: { method: 'GET', path: '/connections', indexPath: '/connections/' },
    cli: {
      words: 'clients list',
      args: [],
      descr: 'List all clients',
      print: ({ rows }: Page<ConnectionRow>) => rows.map(lineOf).join('\n'),
    },
    params: Type.Object(pagingParams(settings.management.rowsMax)),
    result: Type.Array(connectionRow),
    run: (params, caller) => pageOf(parts, 'connections', params, caller, rowOf),
  });
  const ofNode = {
    name: 'list_node_connections',
    descr: 'A list of connections on a node',
    indexPath: 'nodes/:node/connections/',
  };
  return [list, onNode(settings, list, ofNode)];
}

function lookingUp(parts: AdminParts): AnyOperation[] {
  const { settings } = parts;
  const rowOf = rowOn(settings.node.name);
  const lookup = define({
    name: 'lookup_connections',
    descr: 'Lookup a connection in the cluster',
    tag,
    http: { method: 'GET', path: '/connections/:clientid' },
    cli: {
      words: 'clients show',
      args: ['clientid'],
      usage: '<ClientId>',
      descr: 'Show a client',
      print: (rows: readonly ConnectionRow[]) => rows.map(lineOf).join('\n') || 'Not Found.',
    },
    params: clientParams,
    result: Type.Array(connectionRow),
    run: (params) => rowsOfClient(parts, 'connections', params.clientid, rowOf),
  });
  const ofNode = {
    name: 'lookup_node_connections',
    descr: 'Lookup a connection on node',
    indexPath: 'nodes/:node/connections/:clientid',
  };
  return [onNode(settings, lookup, ofNode), lookup];
}

function byUsername(parts: AdminParts): AnyOperation[] {
  const { settings } = parts;
  const rowOf = rowOn(settings.node.name);
  const lookup = define({
    name: 'lookup_connection_via_username',
    descr: 'Lookup a connection via username in the cluster',
    tag,
    http: { method: 'GET', path: '/connection/username/:username' },
    params: Type.Object({ username }),
    result: Type.Array(connectionRow),
    run: (params, { signal }) =>
      rowsOf(parts, 'connections', { username: params.username, signal }, rowOf),
  });
  const ofNode = {
    name: 'lookup_node_connection_via_username',
    descr: 'Lookup a connection via username on a node',
  };
  return [onNode(settings, lookup, ofNode), lookup];
}

function kicking({ node }: AdminParts): AnyOperation {
  return define({
    name: 'kickout_connection',
    descr: 'Kick out a connection',
    tag,
    http: { method: 'DELETE', path: '/connections/:clientid' },
    cli: {
      words: 'clients kick',
      args: ['clientid'],
      usage: '<ClientId>',
      descr: 'Kick out a client',
      print: () => '',
      printFailure: ({ message }) => (message === 'not_found' ? 'Not Found.' : message),
    },
    params: clientParams,
    async run(params) {
      const kicked = node.workers.atClient(params.clientid, 'kick', [params.clientid]);
      if ((await operating(kicked)) === true) return;
      throw new OperatingError('notOnline', 'not_found');
    },
  });
}

/** What the original tells of its own runtime (heap, mailbox, reductions) is the nearest that we have. */
const rowOn =
  (node: string) =>
  (facts: ConnectionFacts): ConnectionRow => ({
    client_id: facts.clientId,
    username: facts.username ?? 'undefined',
    node,
    clean_start: facts.cleanStart,
    conn_mod: facts.listener.startsWith('mqtt:ws') ? 'broker_ws_connection' : 'broker_connection',
    connected_at: localTime(facts.connectedAtMs),
    heap_size: facts.heldBytes,
    ipaddress: facts.address,
    port: facts.port,
    is_bridge: facts.isBridge,
    keepalive: facts.keepaliveSeconds,
    mailbox_len: facts.queued,
    peercert: facts.certificate,
    proto_name: facts.protocolName,
    proto_ver: facts.version,
    recv_cnt: facts.receivedReads,
    recv_msg: facts.receivedMessages,
    recv_oct: facts.receivedBytes,
    recv_pkt: facts.receivedPackets,
    send_cnt: facts.sentWrites,
    send_msg: facts.sentMessages,
    send_oct: facts.sentBytes,
    send_pend: facts.pendingBytes,
    send_pkt: facts.sentPackets,
    reductions: facts.receivedPackets + facts.sentPackets,
    zone: facts.zone,
  });

function lineOf(row: ConnectionRow): string {
  const facts = [
    `clean_start=${row.clean_start}`,
    `username=${row.username}`,
    `peername=${row.ipaddress}:${row.port}`,
    `connected_at=${secondsOf(row.connected_at)}`,
  ];
  return `Connection(${row.client_id}, ${facts.join(', ')})`;
}
