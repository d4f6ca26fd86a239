// What the integration thread answers, as functions of its resources; also in a node of one thread.

import type { ResourceHost } from '#rules/resources/resource-host';
import type { IntegrationCalls } from './integration-calls.ts';
import { threadStatus } from './thread-status.ts';

export function integrationAnswers(host: ResourceHost): IntegrationCalls {
  return {
    status: threadStatus,
    upholdResources: (orders, options) => host.uphold(orders, options),
    forgetResource: (id) => host.forget(id),
    closeResources: () => host.close(),
    aliveResources: () => host.alive(),
    testResource: (type, config, options) => host.test(type, config, options),
    performJob: (job) => host.perform(job),
  };
}
