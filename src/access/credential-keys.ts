// The keys of a plugin that keeps names and passwords: how new passwords are kept, and entries that are
// there from the start.

import { fillPattern, type Key, key, optionalKey } from '#config/key';
import type { PluginLine, PluginValues } from '#config/plugin-values';
import { oneOf, text } from '#config/value-type';
import {
  type CredentialScheme,
  credentialNameFault,
  credentialSchemes,
} from './credential-entry.ts';

export interface CredentialSettings {
  readonly scheme: CredentialScheme;
  /** In the order of their numbers. */
  readonly presets: readonly (readonly [name: string, password: string])[];
}

export interface CredentialKeys {
  readonly scheme: Key<CredentialScheme>;
  readonly name: Key<string | undefined>;
  readonly password: Key<string | undefined>;
}

/** `auth.client` with `clientid`: `auth.client.<n>.clientid`. */
export function credentialKeys(prefix: string, field: string, sample: string): CredentialKeys {
  const nameKey = `${prefix}.<n>.${field}`;
  return {
    scheme: key(`${prefix}.password_hash`, oneOf(...credentialSchemes), 'argon2id', {
      shipped: 'argon2id',
      text:
        'How a password is kept that is set from now on; those that are there stay as they are and are ' +
        'read whatever this says. argon2id takes some 30 ms and 19 MB for each connect, and for each ' +
        'guess of somebody who has stolen the store. The others take next to nothing, which helps both: ' +
        'only for long random passwords of machines that come in thousands, and then sha512 or sha256. ' +
        'sha and md5 are broken, and with plain whoever reads the store has all passwords.',
    }),
    name: optionalKey(nameKey, text(), {
      sample,
      sampleNames: '1',
      text:
        'An entry that is added when the plugin is loaded, unless there is one of this name already. One ' +
        'that was changed stays changed; one that was deleted comes back as long as this line is here.',
    }),
    password: optionalKey(`${prefix}.<n>.password`, text(), {
      sample: 'a-long-password',
      sampleNames: '1',
      text: 'The password of the entry of the same number.',
    }),
  };
}

export function readCredentials(values: PluginValues, keys: CredentialKeys): CredentialSettings {
  const passwords = new Map(values.lines(keys.password).map((line) => [line.names[0], line]));
  const presets = new Map<string, string>();
  for (const { key: written, names, value: name = '' } of ordered(values.lines(keys.name))) {
    const password = passwords.get(names[0]);
    passwords.delete(names[0]);
    const fault = presets.has(name) ? 'it is there already' : credentialNameFault(name);
    if (password?.value === undefined) {
      alone(values, written, fillPattern(keys.password.pattern, names));
    } else if (fault === undefined) {
      presets.set(name, password.value);
    } else {
      values.problem(written, `Cannot add "${name}": ${fault}`);
    }
  }
  for (const { key: written, names } of passwords.values()) {
    alone(values, written, fillPattern(keys.name.pattern, names));
  }
  return { scheme: values.get(keys.scheme), presets: [...presets] };
}

function ordered<T>(lines: readonly PluginLine<T>[]): PluginLine<T>[] {
  return lines.toSorted((a, b) => Number(a.names[0]) - Number(b.names[0]));
}

function alone(values: PluginValues, written: string, other: string): void {
  values.problem(written, `Cannot use ${written} alone: expected ${other} as well`);
}
