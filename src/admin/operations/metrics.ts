// What the node has counted since its start.

import { Type } from 'typebox';
import { allMetrics } from '../all-metrics.ts';
import { type AnyOperation, define } from '../operation.ts';
import { noParams } from '../paging.ts';
import type { AdminParts } from '../parts.ts';
import { checkNode, nodeParams } from '../this-node.ts';

const metrics = Type.Record(Type.String(), Type.Integer(), {
  description: 'Counters by name, such as messages/received',
});

export function metricOperations(parts: AdminParts): AnyOperation[] {
  const { settings } = parts;
  return [
    define({
      name: 'list_all_metrics',
      descr: 'A list of metrics of all nodes in the cluster',
      tag: 'Metrics',
      http: { method: 'GET', path: '/metrics', indexPath: '/metrics/' },
      params: noParams,
      result: Type.Array(Type.Object({ node: Type.String(), metrics })),
      run: () => [{ node: settings.node.name, metrics: allMetrics(parts) }],
    }),
    define({
      name: 'list_node_metrics',
      descr: 'A list of metrics of a node',
      tag: 'Metrics',
      http: { method: 'GET', path: '/nodes/:node/metrics', indexPath: '/nodes/:node/metrics/' },
      params: nodeParams,
      result: metrics,
      run(params) {
        checkNode(settings, params.node);
        return allMetrics(parts);
      },
    }),
  ];
}
