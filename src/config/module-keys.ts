// module.*: what the broker does by itself for its clients, and can be left out.

import { type KeysOf, key } from './key.ts';
import type { ModuleSettings } from './settings.ts';
import { flag, type ValueType } from './value-type.ts';

const qos: ValueType<0 | 1 | 2> = {
  name: 'integer',
  expects: '0, 1 or 2',
  choices: ['0', '1', '2'],
  parse: (text) => (/^[012]$/.test(text) ? (Number(text) as 0 | 1 | 2) : undefined),
};

export const moduleKeys: KeysOf<ModuleSettings> = {
  presence: key('module.presence', flag, 'on', {
    shipped: 'on',
    text:
      'Whether a message under $SYS/brokers/<node>/clients/<client id>/ tells each time that a client ' +
      'has connected or disconnected.',
  }),
  presenceQos: key('module.presence.qos', qos, '1', {
    shipped: '1',
    text: 'QoS of those messages.',
  }),
};
