// The nodes of the cluster in a few words each: which version runs there, and since when.

import { Type } from 'typebox';
import { runtimeRelease, systemDescription } from '../host-figures.ts';
import { type AnyOperation, define } from '../operation.ts';
import { noParams } from '../paging.ts';
import type { AdminParts } from '../parts.ts';
import { checkNode, nodeParams } from '../this-node.ts';
import { localTime } from '../timestamps.ts';
import { uptimeText } from '../uptime.ts';

const brokerFields = {
  datetime: Type.String({ description: 'Local time of the node, YYYY-MM-DD hh:mm:ss' }),
  node_status: Type.String({ description: 'Running' }),
  otp_release: Type.String({
    description: 'The runtime: R, major version of Node.js, /, version of V8',
  }),
  sysdescr: Type.String(),
  uptime: Type.String({ description: 'Such as 2 hours, 3 minutes, 4 seconds' }),
  version: Type.String({ description: 'v<major>.<minor>.<patch>' }),
};

interface BrokerRow {
  readonly datetime: string;
  readonly node_status: string;
  readonly otp_release: string;
  readonly sysdescr: string;
  readonly uptime: string;
  readonly version: string;
}

export function brokerOperations(parts: AdminParts): AnyOperation[] {
  const { settings } = parts;
  return [
    define({
      name: 'list_brokers',
      descr: 'A list of brokers in the cluster',
      tag: 'Nodes',
      http: { method: 'GET', path: '/brokers', indexPath: '/brokers/' },
      params: noParams,
      result: Type.Array(Type.Object({ node: Type.String(), ...brokerFields })),
      run: () => [{ node: settings.node.name, ...brokerRow(parts) }],
    }),
    define({
      name: 'get_broker',
      descr: 'Get broker info of a node',
      tag: 'Nodes',
      http: { method: 'GET', path: '/brokers/:node' },
      params: nodeParams,
      result: Type.Object(brokerFields),
      run({ node }) {
        checkNode(settings, node);
        return brokerRow(parts);
      },
    }),
  ];
}

function brokerRow({ clock, upMs, version }: AdminParts): BrokerRow {
  const nowMs = clock.nowMs();
  return {
    datetime: localTime(nowMs),
    node_status: 'Running',
    otp_release: runtimeRelease(),
    sysdescr: systemDescription,
    uptime: uptimeText(upMs()),
    version: `v${version}`,
  };
}
