// The access rules of a worker, as the control thread has them set, asked and compared with others.

import { parseFilter } from '#topics/topic';
import type { ClientInfo } from '#hooks/table';
import type { AccessAction } from '#core/access';
import { channelOf } from '#core/at-session';
import type { RememberedRight } from '#core/rights';
import { parseAcl } from '#access/acl-file';
import { aclOwner } from '#access/acl-hook';
import { AclRules } from '#access/acl-rules';
import { type AccessFound, accessFound, type AccessPlace, knownClient } from './access-found.ts';
import { AclComparison, type AclDiffSlice } from './acl-diff.ts';

export type AclVerbs = {
  /** The text of rules that hold from now on. */
  setAcl: (text: string) => void;
  /** At the client: what it was allowed and refused lately. Undefined: it is not connected here. */
  rightsOf: (clientId: string) => readonly RememberedRight[] | undefined;
  /** At the client, or anywhere for one that is only supposed: who decides, and by which rule. */
  explainAccess: (
    client: ClientInfo,
    isSupposed: boolean,
    action: AccessAction,
    topic: string,
  ) => Promise<AccessFound>;
  /** Rules to compare with, under a number. Answers who else is asked about rights. */
  proposeAcl: (id: number, text: string) => readonly string[];
  /** The next slice of the comparison of that number. */
  compareAcl: (id: number) => Promise<AclDiffSlice>;
  forgetAcl: (id: number) => void;
};

/** More than the control thread begins: of one that is not told of its end, the next ones free the memory. */
const comparisonsMax = 8;

export function aclVerbs(place: AccessPlace): AclVerbs {
  const { broker, acl } = place;
  const { sessions, hooks } = broker.core;
  const comparisons = new Map<number, AclComparison>();
  return {
    setAcl: (text) => acl.set(text),
    rightsOf(clientId) {
      const session = sessions.find(clientId);
      const channel = session && channelOf(session);
      return channel === undefined ? undefined : (channel.rights?.list() ?? []);
    },
    explainAccess(client, isSupposed, action, topic) {
      const asker = isSupposed ? client : knownClient(broker, client);
      const plain = action === 'subscribe' ? parseFilter(topic).filter : topic;
      return accessFound(place, asker, action, plain);
    },
    proposeAcl(id, text) {
      comparisons.set(id, new AclComparison(broker, new AclRules(parseAcl(text))));
      const [oldest] = comparisons.keys();
      if (comparisons.size > comparisonsMax && oldest !== undefined) comparisons.delete(oldest);
      const owners = hooks.listeners('client.check_acl')?.map(({ owner }) => owner) ?? [];
      return [...new Set(owners)].filter((owner) => owner !== aclOwner);
    },
    async compareAcl(id) {
      const comparison = comparisons.get(id);
      if (comparison !== undefined) return comparison.slice(acl.rules);
      throw new Error('Cannot compare access rules: the worker has been started again meanwhile');
    },
    forgetAcl: (id) => void comparisons.delete(id),
  };
}
