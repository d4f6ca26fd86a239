// Rights that have changed, applied to what is there in one worker.

import type { Broker } from '#core/broker';
import { type Rechecked, recheckRights } from '#core/recheck';

export type RecheckVerbs = {
  /** Ends live subscriptions that are no longer allowed, with what waits for them; see core/recheck.ts. */
  recheckRights: () => Promise<Rechecked>;
};

export function recheckVerbs({ broker }: { readonly broker: Broker }): RecheckVerbs {
  return { recheckRights: () => recheckRights(broker.core) };
}
