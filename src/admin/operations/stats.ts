// How many there are now of what the node holds, and how many there were at most since its start.

import { Type } from 'typebox';
import { allStats } from '../all-metrics.ts';
import { type AnyOperation, define } from '../operation.ts';
import { noParams } from '../paging.ts';
import type { AdminParts } from '../parts.ts';
import { checkNode, nodeParams } from '../this-node.ts';

const stats = Type.Record(Type.String(), Type.Integer(), {
  description: 'Gauges by name, such as connections/count and connections/max',
});
const statsOfNode = Type.Record(Type.String(), Type.Union([Type.Integer(), Type.String()]), {
  description: 'The gauges of a node, and its name as node',
});

export function statOperations(parts: AdminParts): AnyOperation[] {
  const { settings } = parts;
  return [
    define({
      name: 'list_stats',
      descr: 'A list of stats of all nodes in the cluster',
      tag: 'Metrics',
      http: { method: 'GET', path: '/stats', indexPath: '/stats/' },
      params: noParams,
      result: Type.Array(statsOfNode),
      run: () => [{ node: settings.node.name, ...allStats(parts) }],
    }),
    define({
      name: 'lookup_node_stats',
      descr: 'A list of stats of a node',
      tag: 'Metrics',
      http: { method: 'GET', path: '/nodes/:node/stats', indexPath: '/nodes/:node/stats/' },
      params: nodeParams,
      result: stats,
      run(params) {
        checkNode(settings, params.node);
        return allStats(parts);
      },
    }),
  ];
}
