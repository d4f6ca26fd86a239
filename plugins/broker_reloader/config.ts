// reloader.*: how often it looks.

import { durationMs, key, type KeysOf, type PluginValues } from '#sdk';

export interface ReloaderSettings {
  readonly intervalMs: number;
}

export const keys: KeysOf<ReloaderSettings> = {
  intervalMs: key('reloader.interval', durationMs(100), '60s', {
    shipped: '60s',
    text: 'How often the folders of running plugins are looked at for changed code.',
  }),
};

export function readSettings(values: PluginValues): ReloaderSettings {
  return values.read<ReloaderSettings>(keys);
}
