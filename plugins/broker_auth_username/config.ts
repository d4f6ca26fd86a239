// auth.user.*: how passwords of users are kept, which users there are from the start, and whether they can
// authenticate by SCRAM.

import {
  credentialKeys,
  type CredentialKeys,
  type CredentialSettings,
  flag,
  type Key,
  key,
  type PluginValues,
  readCredentials,
} from '#sdk';

export interface UsernameSettings extends CredentialSettings {
  readonly hasScram: boolean;
}

const credentials: CredentialKeys = credentialKeys('auth.user', 'username', 'ada');
const scram: Key<boolean> = key('auth.user.scram', flag, 'off', {
  shipped: 'off',
  text:
    'Whether clients of MQTT 5 can authenticate by SCRAM-SHA-256, which shows nobody the password. For ' +
    'that more is kept of every password that is set from now on, and it can be guessed faster by ' +
    'somebody who has stolen the store: by PBKDF2 of 4096 rounds instead of argon2id. Users whose ' +
    'password is older than this setting need a new one before they can use it.',
});

export const userKeys: readonly Readonly<Record<string, Key<unknown>>>[] = [
  { ...credentials },
  { scram },
];

export function readUsers(values: PluginValues): UsernameSettings {
  return { ...readCredentials(values, credentials), hasScram: values.get(scram) };
}
