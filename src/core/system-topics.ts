// The topics under `$SYS/`, which the broker alone publishes to, and who may read them where nobody else
// decides. Law: what stands under `$SYS/` is true, because no client can have said it; and it costs
// nothing to those who have nothing to do with it but a look at the first character.

import type { BrokerSettings } from '#config/settings';
import type { ClientInfo } from '#hooks/table';
import { isSystem } from '#topics/topic';

const systemPrefix = '$SYS/';

/** Of a topic or a filter as it is routed, that is with mountpoint. */
export function isSystemTopic(topic: string): boolean {
  return isSystem(topic) && topic.startsWith(systemPrefix);
}

/** The same of what a client writes. A mountpoint ends in a slash, and decides alone where there is one. */
export function isUnderSystem(mountpoint: string, topic: string): boolean {
  return isSystemTopic(mountpoint === '' ? topic : mountpoint);
}

/** The user of the dashboard may look from anywhere. */
const dashboardUser = 'dashboard';

export function mayReadSystem(
  sysTopics: BrokerSettings['sysTopics'],
  { address, username }: Pick<ClientInfo, 'address' | 'username'>,
): boolean {
  return sysTopics === 'all' || isLoopback(address) || username === dashboardUser;
}

/** Addresses of IPv4 are always written as such. */
function isLoopback(address: string): boolean {
  return address === '::1' || address.startsWith('127.');
}
