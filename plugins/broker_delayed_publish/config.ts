// delayed.*: how much may wait.

import { int, type KeysOf, key, type PluginValues } from '#sdk';

export interface DelayedSettings {
  /** 0: no limit. */
  readonly messagesMax: number;
}

export const keys: KeysOf<DelayedSettings> = {
  messagesMax: key('delayed.max_messages', int(0), '100000', {
    shipped: '100000',
    text:
      'Most messages that wait to be published; one more is refused (MQTT 5: quota exceeded). 0: no ' +
      'limit but the disk.',
  }),
};

export function readSettings(values: PluginValues): DelayedSettings {
  return values.read<DelayedSettings>(keys);
}
