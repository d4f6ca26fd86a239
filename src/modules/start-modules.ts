// The modules of a worker, as its settings want them, set before anything happens in it: wills that the last
// process left are published when it starts. Law: one that is off sets no hook.

import type { Core } from '#core/context';
import { rewriteTopics } from './rewrite.ts';
import { subscribeNewcomers } from './standing-subscriptions.ts';

export function startModules(core: Core): void {
  const { subscriptions, rewriteRules } = core.settings.modules;
  rewriteTopics(core, rewriteRules);
  subscribeNewcomers(core, subscriptions);
}
