// broker.*: how the broker as a whole works.

import { type KeysOf, key } from './key.ts';
import type { BrokerSettings } from './settings.ts';
import { oneOf, truth } from './value-type.ts';

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
};
