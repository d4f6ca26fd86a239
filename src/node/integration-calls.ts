// What the integration thread is asked: the frozen list. Databases, queues and HTTP clients live there,
// so that nothing a slow one does can delay a PUBLISH.

import type { ThreadStatus } from './thread-status.ts';

export type IntegrationCalls = {
  status: () => ThreadStatus;
};

/** What the control thread can be told from there: nothing as yet. */
export type IntegrationOwnerCalls = Record<never, never>;
