// Every key of the broker itself, in the order of the shipped files and of the documentation.
// key-table.ts adds those of plugins.

import { accessKeys } from './access-keys.ts';
import { aclKeys } from './acl-keys.ts';
import { brokerKeys } from './broker-keys.ts';
import { dashboardHttp, dashboardHttps, dashboardKeys } from './dashboard-keys.ts';
import { flappingKeys } from './flapping-keys.ts';
import type { Key } from './key.ts';
import { accessRuleKey, bindKey, listenerKeys } from './listener-keys.ts';
import { levelFileKey, logKeys } from './log-keys.ts';
import {
  defaultAppKeys,
  managementHttp,
  managementHttps,
  managementKeys,
} from './management-keys.ts';
import { moduleKeys, rewriteKeys, subscriptionKeys } from './module-keys.ts';
import { monitorKeys } from './monitor-keys.ts';
import { mqttKeys } from './mqtt-keys.ts';
import { nodeKeys } from './node-keys.ts';
import { pluginHostKeys } from './plugin-host-keys.ts';
import { retainerKeys } from './retainer-keys.ts';
import { tlsKeys, tlsVersionsKey } from './tls-keys.ts';
import { deflateKeys, wsKeys } from './ws-keys.ts';
import { zoneKeys } from './zone-keys.ts';

export interface Section {
  readonly title: string;
  readonly text: string;
  readonly keys: readonly Key<unknown>[];
  /** What fills `$` in the shipped file, one block of lines each; none: keys without names. */
  readonly instances: readonly string[];
}

export interface ConfFile {
  /** Under `etc/`. */
  readonly name: string;
  readonly title: string;
  readonly sections: readonly Section[];
}

const shippedListeners = [
  'tcp.external',
  'tcp.internal',
  'ssl.external',
  'ws.external',
  'wss.external',
];

export function section(title: string, text: string, ...tables: readonly object[]): Section {
  return { title, text, keys: tables.flatMap(keysIn), instances: [] };
}

/** A table of keys by field, or a key by itself. */
function keysIn(table: object): Key<unknown>[] {
  return 'pattern' in table ? [table as Key<unknown>] : (Object.values(table) as Key<unknown>[]);
}

export const confFiles: readonly ConfFile[] = [
  {
    name: 'broker.conf',
    title: 'The main configuration of the broker',
    sections: [
      section('Node', '', nodeKeys),
      section('Log', '', logKeys, levelFileKey),
      section('Access', 'Each of these can be set for a zone as well.', accessKeys),
      section('Access rules', '', aclKeys),
      section('Flapping', '', flappingKeys),
      section('MQTT', 'Each of these can be set for a zone as well.', mqttKeys),
      section('Broker', '', brokerKeys),
      section('Modules', '', moduleKeys, subscriptionKeys, rewriteKeys),
      section('Plugins', '', pluginHostKeys),
      section('Monitors', '', monitorKeys),
      {
        ...section(
          'Zones',
          'A listener names the zone that its clients belong to. A zone exists as soon as one of its ' +
            'keys is set; any name of small letters, digits, - and _ will do.',
          zoneKeys,
        ),
        instances: ['external', 'internal'],
      },
      {
        ...section(
          'Listeners',
          'Each line listener.<kind>.<name> opens a port; any name of small letters, digits, - and _ ' +
            'will do.',
          bindKey,
          listenerKeys,
          accessRuleKey,
          tlsVersionsKey,
          tlsKeys,
          wsKeys,
          deflateKeys,
        ),
        instances: shippedListeners,
      },
    ],
  },
  {
    name: 'plugins/broker_retainer.conf',
    title: 'Retained messages',
    sections: [section('Retainer', '', retainerKeys)],
  },
  {
    name: 'plugins/broker_management.conf',
    title: 'Management: the REST API',
    sections: [
      section('Management', '', managementKeys, defaultAppKeys),
      section('HTTP', '', ...Object.values(managementHttp)),
      section('HTTPS', '', ...Object.values(managementHttps)),
    ],
  },
  {
    name: 'plugins/broker_dashboard.conf',
    title: 'The dashboard',
    sections: [
      section('Dashboard', '', dashboardKeys),
      section('HTTP', '', ...Object.values(dashboardHttp)),
      section('HTTPS', '', ...Object.values(dashboardHttps)),
    ],
  },
];
