// Who the node is and how it is doing: `status`, `broker …` and `cluster status`. Joining a cluster is
// no command as long as nodes are alone: one that can only fail promises too much.

import { Type } from 'typebox';
import { allMetrics, allStats } from '../all-metrics.ts';
import { systemDescription } from '../host-figures.ts';
import { keyLine, sortedKeyLines } from '../key-lines.ts';
import { type AnyOperation, define } from '../operation.ts';
import { noParams } from '../paging.ts';
import type { AdminParts } from '../parts.ts';
import { localTime } from '../timestamps.ts';
import { uptimeText } from '../uptime.ts';

const tag = 'Nodes';
const factColumns = 10;
const counterColumns = 30;

type Counters = Readonly<Record<string, number>>;
const counters = Type.Record(Type.String(), Type.Integer());

export function statusCommands(parts: AdminParts): AnyOperation[] {
  return [nodeStatus(parts), brokerFacts(parts), ...brokerCounters(parts), clusterStatus(parts)];
}

function nodeStatus({ settings, version }: AdminParts): AnyOperation {
  return define({
    name: 'node_status',
    descr: 'Show whether the broker runs, and its version',
    tag,
    cli: {
      words: 'status',
      args: [],
      print: ({ node, version: running }: { node: string; version: string }) =>
        `Node '${node}' is started\nbroker ${running} is running`,
    },
    params: noParams,
    result: Type.Object({ node: Type.String(), version: Type.String() }),
    run: () => ({ node: settings.node.name, version: `v${version}` }),
  });
}

type Facts = Readonly<Record<'sysdescr' | 'version' | 'uptime' | 'datetime', string>>;

function brokerFacts({ clock, upMs, version }: AdminParts): AnyOperation {
  return define({
    name: 'broker_facts',
    descr: 'Show version, uptime and time of the broker',
    tag,
    cli: {
      words: 'broker',
      args: [],
      print: (facts: Facts) =>
        Object.entries(facts)
          .map(([key, value]) => keyLine(key, value, factColumns))
          .join('\n'),
    },
    params: noParams,
    result: Type.Record(Type.String(), Type.String()),
    run: (): Facts => ({
      sysdescr: systemDescription,
      version: `v${version}`,
      uptime: uptimeText(upMs()),
      datetime: localTime(clock.nowMs()),
    }),
  });
}

function brokerCounters(parts: AdminParts): AnyOperation[] {
  const print = (values: Counters): string => sortedKeyLines(values, counterColumns);
  return [
    define({
      name: 'broker_stats',
      descr: 'Show how many clients, sessions, subscriptions, topics and routes there are',
      tag,
      cli: { words: 'broker stats', args: [], print },
      params: noParams,
      result: counters,
      run: () => allStats(parts),
    }),
    define({
      name: 'broker_metrics',
      descr: 'Show how many bytes, packets and messages there were',
      tag,
      cli: { words: 'broker metrics', args: [], print },
      params: noParams,
      result: counters,
      run: () => allMetrics(parts),
    }),
  ];
}

function clusterStatus({ settings }: AdminParts): AnyOperation {
  return define({
    name: 'cluster_status',
    descr: 'Show the nodes of the cluster',
    tag,
    cli: {
      words: 'cluster status',
      args: [],
      print: ({ running_nodes: nodes }: { running_nodes: readonly string[] }) =>
        `Cluster status: [{running_nodes,[${nodes.map((name) => `'${name}'`).join(',')}]}]`,
    },
    params: noParams,
    result: Type.Object({ running_nodes: Type.Array(Type.String()) }),
    run: () => ({ running_nodes: [settings.node.name] }),
  });
}
