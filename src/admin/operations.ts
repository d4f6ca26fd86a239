// Every operation that the broker itself brings, one line for each part.

import { listenerCommands } from './commands/listeners.ts';
import { logCommands } from './commands/log.ts';
import { statusCommands } from './commands/status.ts';
import { storeCommands } from './commands/store.ts';
import { vmCommands } from './commands/vm.ts';
import { ConfigStore } from './config-store.ts';
import { liveKeys } from './live-keys.ts';
import type { AnyOperation } from './operation.ts';
import { aclDiffOperations } from './operations/acl-diff.ts';
import { aclOperations } from './operations/acl.ts';
import { alarmOperations } from './operations/alarms.ts';
import { appOperations } from './operations/apps.ts';
import { bannedOperations } from './operations/banned.ts';
import { brokerOperations } from './operations/brokers.ts';
import { configOperations } from './operations/configs.ts';
import { connectionOperations } from './operations/connections.ts';
import { listenerOperations } from './operations/listeners.ts';
import { metricOperations } from './operations/metrics.ts';
import { nodeOperations } from './operations/nodes.ts';
import { openApiOperations } from './operations/openapi.ts';
import { pluginConfigOperations } from './operations/plugin-configs.ts';
import { pluginOperations } from './operations/plugins.ts';
import { prometheusOperations } from './operations/prometheus.ts';
import { publishOperations } from './operations/publish.ts';
import { indexOperations } from './operations/service-index.ts';
import { routeOperations } from './operations/routes.ts';
import { sessionOperations } from './operations/sessions.ts';
import { statOperations } from './operations/stats.ts';
import { subscribeOperations } from './operations/subscribe.ts';
import { subscriptionOperations } from './operations/subscriptions.ts';
import { traceOperations } from './operations/traces.ts';
import { explainOperations } from './operations/explain.ts';
import { userOperations } from './operations/users.ts';
import type { AdminParts } from './parts.ts';

export function allOperations(
  parts: AdminParts,
  configs: ConfigStore = new ConfigStore(parts, liveKeys(parts)),
): AnyOperation[] {
  return [
    ...statusCommands(parts),
    ...userOperations(parts),
    ...alarmOperations(parts),
    ...appOperations(parts),
    ...brokerOperations(parts),
    ...configOperations(parts, configs),
    ...pluginConfigOperations(parts, configs),
    ...nodeOperations(parts),
    ...metricOperations(parts),
    ...pluginOperations(parts),
    ...statOperations(parts),
    ...traceOperations(parts),
    ...explainOperations(parts),
    ...aclOperations(parts),
    ...aclDiffOperations(parts),
    ...connectionOperations(parts),
    ...listenerOperations(parts),
    ...prometheusOperations(parts),
    ...publishOperations(parts),
    ...subscribeOperations(parts),
    ...routeOperations(parts),
    ...sessionOperations(parts),
    ...subscriptionOperations(parts),
    ...bannedOperations(parts),
    ...openApiOperations(parts),
    ...listenerCommands(parts),
    ...vmCommands(parts),
    ...storeCommands(parts),
    ...logCommands(parts),
    ...indexOperations(parts),
  ];
}
