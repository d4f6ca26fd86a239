// The nodes of the cluster and what they take of their machines. The list writes memory as text with a
// unit, a single node as bytes: clients of the API know both.

import { Type } from 'typebox';
import {
  fileFigures,
  type LoadFigures,
  loadFigures,
  memoryFigures,
  memoryText,
  runtimeRelease,
} from '../host-figures.ts';
import { type AnyOperation, define } from '../operation.ts';
import { noParams } from '../paging.ts';
import type { AdminParts } from '../parts.ts';
import { checkNode, nodeParams } from '../this-node.ts';
import { uptimeText } from '../uptime.ts';

const load = (minutes: number) =>
  Type.String({ description: `Load of the machine over ${minutes} min, two decimals` });
const totalWords = 'Memory that the process has of the machine (resident set)';
const usedWords = 'Of that: used heap of all threads, and buffers outside of it';

const nodeFields = {
  connections: Type.Integer({ description: 'Clients connected now' }),
  load1: load(1),
  load5: load(5),
  load15: load(15),
  max_fds: Type.Integer({ description: 'Most files and sockets that the process may have open' }),
  name: Type.String(),
  node_status: Type.String({ description: 'Running' }),
  otp_release: Type.String({
    description: 'The runtime: R, major version of Node.js, /, version of V8',
  }),
  process_available: Type.Integer({
    description: 'Most files and sockets that may be open: as max_fds',
  }),
  process_used: Type.Integer({
    description: 'Open files and sockets now: one for each connection, and some of the broker',
  }),
  uptime: Type.String({ description: 'Such as 2 hours, 3 minutes, 4 seconds' }),
  version: Type.String({ description: 'v<major>.<minor>.<patch>' }),
};

interface NodeRow extends LoadFigures {
  readonly connections: number;
  readonly max_fds: number;
  readonly memory_total: number;
  readonly memory_used: number;
  readonly name: string;
  readonly node_status: string;
  readonly otp_release: string;
  readonly process_available: number;
  readonly process_used: number;
  readonly uptime: string;
  readonly version: string;
}

export function nodeOperations(parts: AdminParts): AnyOperation[] {
  const { settings } = parts;
  return [
    define({
      name: 'list_nodes',
      descr: 'A list of nodes in the cluster',
      tag: 'Nodes',
      http: { method: 'GET', path: '/nodes', indexPath: '/nodes/' },
      params: noParams,
      result: Type.Array(
        Type.Object({
          ...nodeFields,
          memory_total: Type.String({ description: `${totalWords}, such as 76.45M` }),
          memory_used: Type.String({ description: `${usedWords}, such as 76.45M` }),
          node: Type.String(),
        }),
      ),
      async run() {
        const row = await nodeRow(parts);
        const memory_total = memoryText(row.memory_total);
        const memory_used = memoryText(row.memory_used);
        return [{ ...row, memory_total, memory_used, node: row.name }];
      },
    }),
    define({
      name: 'get_node',
      descr: 'Lookup a node in the cluster',
      tag: 'Nodes',
      http: { method: 'GET', path: '/nodes/:node' },
      params: nodeParams,
      result: Type.Object({
        ...nodeFields,
        memory_total: Type.Integer({ description: `${totalWords}, in bytes` }),
        memory_used: Type.Integer({ description: `${usedWords}, in bytes` }),
      }),
      run({ node }) {
        checkNode(settings, node);
        return nodeRow(parts);
      },
    }),
  ];
}

async function nodeRow(parts: AdminParts): Promise<NodeRow> {
  const { node, settings, upMs, version } = parts;
  const [files, memory] = await Promise.all([fileFigures(), memoryFigures(node)]);
  return {
    connections: node.stats()['connections/count'] ?? 0,
    ...loadFigures(),
    max_fds: files.max,
    memory_total: memory.totalBytes,
    memory_used: memory.usedBytes,
    name: settings.node.name,
    node_status: 'Running',
    otp_release: runtimeRelease(),
    process_available: files.max,
    process_used: files.open,
    uptime: uptimeText(upMs()),
    version: `v${version}`,
  };
}
