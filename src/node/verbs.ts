// What management can have a worker do, as one table: each verb is a function of the worker it runs in,
// and answers something that can go from thread to thread. A new one is added to a part of this table;
// where it runs (at the client, in one worker, in all) is for whoever asks. See node-face.ts.

import { AclHook } from '#access/acl-hook';
import { type AclVerbs, aclVerbs } from './acl-verbs.ts';
import { type BanVerbs, banVerbs } from './ban-verbs.ts';
import { type FlappingVerbs, flappingVerbs } from './flapping-verbs.ts';
import { type ListVerbs, listVerbs } from './list-verbs.ts';
import { type MessageVerbs, messageVerbs } from './message-verbs.ts';
import { type ListenerVerbs, listenerVerbs } from './listener-verbs.ts';
import { type MemoryVerbs, memoryVerbs } from './memory-verbs.ts';
import type { Place } from './place.ts';
import { type RecheckVerbs, recheckVerbs } from './recheck-verbs.ts';
import { type RetainerVerbs, retainerVerbs } from './retainer-verbs.ts';
import { type StatusVerbs, statusVerbs } from './status-verbs.ts';
import { type SysVerbs, sysVerbs } from './sys-verbs.ts';
import { type PluginVerbs, pluginVerbs } from './plugin-verbs.ts';
import { type TraceVerbs, traceVerbs } from './trace-verbs.ts';
import { type ExplainVerbs, explainVerbs } from './explain-verbs.ts';

export type Verbs = ListVerbs &
  MessageVerbs &
  BanVerbs &
  FlappingVerbs &
  StatusVerbs &
  ListenerVerbs &
  MemoryVerbs &
  SysVerbs &
  TraceVerbs &
  PluginVerbs &
  RecheckVerbs &
  RetainerVerbs &
  AclVerbs &
  ExplainVerbs;
export type VerbName = keyof Verbs;
export type VerbArgs<V extends VerbName> = Readonly<Parameters<Verbs[V]>>;
export type VerbAnswer<V extends VerbName> = Awaited<ReturnType<Verbs[V]>>;

export function verbsOf(place: Place): Verbs {
  const { hooks, core } = place.broker;
  const acl = new AclHook({ hooks, isRechecked: core.settings.acl.isRechecked });
  return {
    ...listVerbs(place),
    ...messageVerbs(place),
    ...banVerbs(place),
    ...flappingVerbs(place),
    ...statusVerbs(place),
    ...traceVerbs(place),
    ...pluginVerbs(place),
    ...recheckVerbs(place),
    ...retainerVerbs(place),
    ...aclVerbs({ ...place, acl }),
    ...explainVerbs({ ...place, acl }),
    ...listenerVerbs(place),
    ...memoryVerbs(),
    ...sysVerbs(place),
  };
}
