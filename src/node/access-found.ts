// Who decides about a client's publish or subscription, and by which rule, for whoever explains it.

import type { ClientInfo } from '#hooks/table';
import { type AccessAction, type AccessReason, explainAccess } from '#core/access';
import type { Broker } from '#core/broker';
import { type AclHook, aclOwner, type ShownRule } from '#access/acl-hook';

export interface AccessFound extends AccessReason {
  /** Of the file of access rules, where it decided. */
  readonly rule: ShownRule | undefined;
}

/** The worker, and its access rules. */
export interface AccessPlace {
  readonly broker: Broker;
  readonly acl: AclHook;
}

export async function accessFound(
  { broker, acl }: AccessPlace,
  client: ClientInfo,
  action: AccessAction,
  topic: string,
): Promise<AccessFound> {
  const { hooks, settings } = broker.core;
  const zone = broker.zoneOf(client);
  const { sysTopics } = settings.broker;
  const reason = await explainAccess(hooks, zone, client, action, topic, sysTopics);
  const rule = reason.owner === aclOwner ? acl.ruleFor(client, action, topic) : undefined;
  return { ...reason, rule };
}

/** The very object that hooks know, where the client is here. */
export function knownClient({ core }: Broker, client: ClientInfo): ClientInfo {
  return core.sessions.find(client.clientId)?.out.client ?? client;
}
