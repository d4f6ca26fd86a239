// Whether a client may publish along a Route, as fast as the data path needs it. Law: only a yes that is
// there at once is a yes here; everything else goes by the stages of on-publish.ts, which ask again.

import { type Asker, decideAccess } from './access.ts';
import { RightsMemory } from './rights.ts';
import type { Route } from './router.ts';

export function mayPublishAt(asker: Asker, route: Route): boolean {
  return asker.rights?.isLastAllowed(route) === true || learnRight(asker, route);
}

function learnRight(asker: Asker, route: Route): boolean {
  const { rights, hooks } = asker.core;
  const isAsked = hooks.lists['client.check_acl'] !== null;
  if (isAsked && !rights.settings.isCached) return false;
  if (decideAccess(asker, 'publish', route.topic) !== true) return false;
  asker.rights ??= new RightsMemory(rights);
  asker.rights.allowLast(route, isAsked);
  return true;
}
