// How a client is judged by a table of names and passwords (credential-table.ts), in its worker. Laws: who
// is not in the table is somebody else's; who is gets in with the password and with nothing else; a wait
// that would take too long is a refusal, never an open door.

import { Reason } from '#wire/reason-codes';
import type { AuthVerdict, Credentials, HookTable } from '#hooks/table';
import { HashesBusy, HashQueue } from './hash-queue.ts';
import type { StoredPassword } from './password-hash.ts';
import { ProvenPasswords } from './proven-passwords.ts';

export interface CredentialAuthParts {
  /** By what clients are found; undefined and '': by nothing. */
  readonly nameOf: (credentials: Credentials) => string | undefined;
  readonly find: (name: string) => Promise<StoredPassword | undefined>;
  readonly count: (result: 'success' | 'failure' | 'ignore') => void;
  readonly queue?: HashQueue;
}

const refused: AuthVerdict = {
  allow: false,
  reasonCode: Reason.badUsernameOrPassword,
  text: 'Cannot connect: bad username or password',
};

const busy: AuthVerdict = {
  allow: false,
  reasonCode: Reason.serverBusy,
  text: 'Cannot connect: too many passwords are being checked, try again later',
};

/** A listener for `client.authenticate`. */
export function credentialAuth(parts: CredentialAuthParts): HookTable['client.authenticate'] {
  const { nameOf, find, count, queue = new HashQueue() } = parts;
  const proven = new ProvenPasswords();
  return async (credentials) => {
    const name = nameOf(credentials) ?? '';
    const stored = name === '' ? undefined : await find(name);
    if (stored === undefined) {
      count('ignore');
      return 'ignore';
    }
    const verdict = await judge(credentials.password, stored, queue, proven);
    count(verdict.allow ? 'success' : 'failure');
    return verdict;
  };
}

async function judge(
  password: Buffer | undefined,
  stored: StoredPassword,
  queue: HashQueue,
  proven: ProvenPasswords,
): Promise<AuthVerdict> {
  if (password === undefined || password.length === 0) return refused;
  // What is kept in the original's form costs next to nothing.
  const isCostly = typeof stored === 'string';
  if (isCostly && proven.has(password, stored)) return { allow: true };
  try {
    if (!(await queue.verifyStored(password, stored))) return refused;
  } catch (error) {
    if (error instanceof HashesBusy) return busy;
    throw error;
  }
  if (isCostly) proven.add(password, stored);
  return { allow: true };
}
