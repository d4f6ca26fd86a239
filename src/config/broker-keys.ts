// broker.*: how the broker as a whole works.

import { type KeysOf, key } from './key.ts';
import type { BrokerSettings } from './settings.ts';
import { durationMs, oneOf, truth } from './value-type.ts';

const sysMsMin = 100;

export const brokerKeys: KeysOf<BrokerSettings> = {
  sharedSubscriptionStrategy: key(
    'broker.shared_subscription_strategy',
    oneOf('random', 'round_robin', 'sticky', 'hash'),
    'round_robin',
    {
      shipped: 'random',
      text:
        'Which member of a shared subscription gets a message: any one, each in turn, always the ' +
        'same while it is there, or one chosen by the client id of the publisher.',
    },
  ),
  sharedDispatchAckEnabled: key('broker.shared_dispatch_ack_enabled', truth, 'false', {
    shipped: 'false',
    text:
      'Whether a QoS 1 or 2 message for a shared subscription goes to a connected member with room ' +
      'in its window while there is one.',
  }),
  sysIntervalMs: key('broker.sys_interval', durationMs(sysMsMin), '1m', {
    shipped: '1m',
    text:
      'How often version, description, statistics and metrics are published under $SYS/brokers/, the ' +
      'first time after one interval.',
  }),
  sysHeartbeatMs: key('broker.sys_heartbeat', durationMs(sysMsMin), '30s', {
    shipped: '30s',
    text: 'How often uptime and the time of day are published there.',
  }),
  sysTopics: key('broker.sys_topics', oneOf('local', 'all'), 'local', {
    shipped: 'local',
    text:
      'Who may subscribe to $SYS/ where no other rule decides. local: clients on this machine, and the ' +
      'user "dashboard". all: everybody.',
  }),
};
