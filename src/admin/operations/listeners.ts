// The ports of the node: who is connected there, and how connections ended.

import { type TObject, Type } from 'typebox';
import type { ListenerReport } from '#net/listener';
import { listenersOf } from '../listener-list.ts';
import { type AnyOperation, define } from '../operation.ts';
import { noParams } from '../paging.ts';
import type { AdminParts } from '../parts.ts';
import { checkNode, nodeParams } from '../this-node.ts';

export const listenerRow: TObject = Type.Object({
  acceptors: Type.Integer({ description: 'As configured' }),
  current_conns: Type.Integer({ description: 'Open connections now, all threads together' }),
  listen_on: Type.String({ description: '<port> or <address>:<port>' }),
  max_conns: Type.Integer({ description: 'Most connections at a time' }),
  protocol: Type.String({
    description: 'mqtt:tcp, mqtt:ssl, mqtt:ws, mqtt:wss, http:management …',
  }),
  shutdown_count: Type.Union(
    [Type.Array(Type.Unknown(), { maxItems: 0 }), Type.Record(Type.String(), Type.Integer())],
    { description: 'How connections ended since the start, count by reason; [] when none did' },
  ),
});

export interface ListenerRow {
  readonly acceptors: number;
  readonly current_conns: number;
  readonly listen_on: string;
  readonly max_conns: number;
  readonly protocol: string;
  readonly shutdown_count: readonly [] | Readonly<Record<string, number>>;
}

export function listenerOperations(parts: AdminParts): AnyOperation[] {
  const { settings } = parts;
  return [
    define({
      name: 'list_listeners',
      descr: 'A list of listeners in the cluster',
      tag: 'Listeners',
      http: { method: 'GET', path: '/listeners', indexPath: '/listeners/' },
      params: noParams,
      result: Type.Array(Type.Object({ node: Type.String(), listeners: Type.Array(listenerRow) })),
      async run() {
        const listeners = (await listenersOf(parts)).map(rowOf);
        return [{ node: settings.node.name, listeners }];
      },
    }),
    define({
      name: 'list_node_listeners',
      descr: 'A list of listeners on the node',
      tag: 'Listeners',
      http: { method: 'GET', path: '/nodes/:node/listeners' },
      params: nodeParams,
      result: Type.Array(listenerRow),
      async run({ node }) {
        checkNode(settings, node);
        return (await listenersOf(parts)).map(rowOf);
      },
    }),
  ];
}

export function rowOf(report: ListenerReport): ListenerRow {
  const { shutdownCount } = report;
  return {
    acceptors: report.acceptors,
    current_conns: report.currentConns,
    listen_on: report.listenOn,
    max_conns: report.maxConns,
    protocol: report.protocol,
    shutdown_count: shutdownCount.size === 0 ? [] : Object.fromEntries(shutdownCount),
  };
}
