// psk.file.*: where the keys are, and how a line is divided.

import { type KeysOf, key, type PluginValues, text } from '#sdk';

export interface PskSettings {
  /** Absolute. */
  readonly path: string;
  readonly delimiter: string;
}

export const keys: KeysOf<PskSettings> = {
  path: key('psk.file.path', text('the path of a file'), 'etc/psk.txt', {
    shipped: 'etc/psk.txt',
    text:
      'The file with an identity, the delimiter and a key on each line; a line that begins with # is a ' +
      'comment. It is read again when it changes. Only the user of the broker should be able to read it.',
  }),
  delimiter: key('psk.file.delimiter', text('one or more characters'), ':', {
    shipped: ':',
    text: 'What stands between identity and key. The first one on a line divides it.',
  }),
};

export function readSettings(values: PluginValues): PskSettings {
  const { path, delimiter } = values.read<PskSettings>(keys);
  return { path: values.path(path), delimiter };
}
