// The users of the dashboard. Laws: there is always one, made at the first start as the configuration
// says; a password is kept as a hash, and whether it is the one that everybody knows is remembered.

import { shippedPassword } from '#config/dashboard-keys';
import type { DashboardSettings } from '#config/settings';
import type { RecordStore } from '#core/store-port';
import type { NodeRecords } from '#node/node-face';
import { OperatingError } from './failures.ts';
import type { FailedTries } from './failed-tries.ts';
import { Logins } from './logins.ts';
import { hashPassword } from './passwords.ts';

export interface User {
  readonly username: string;
  readonly tags: string;
}

interface StoredUser {
  readonly tags: string;
  readonly hash: string;
  readonly hasShippedPassword: boolean;
}

export interface UsersParts {
  readonly records: NodeRecords;
  readonly tries: FailedTries;
  readonly settings: DashboardSettings;
}

const usersMax = 10_000;

export class Users {
  readonly #parts: UsersParts;
  readonly #records: RecordStore;
  readonly #logins: Logins;

  constructor(parts: UsersParts) {
    this.#parts = parts;
    this.#records = parts.records.records('users');
    this.#logins = new Logins({
      tries: parts.tries,
      hashOf: (username) => this.#stored(username)?.hash,
    });
  }

  /** At the first start there is nobody yet, and where there is no dashboard nobody is needed. */
  async ensureDefault(): Promise<void> {
    const { defaultLogin, defaultPassword, listeners } = this.#parts.settings;
    if (listeners.length === 0 || this.list().length > 0) return;
    await this.add({ username: defaultLogin, tags: 'administrator' }, defaultPassword);
  }

  list(): User[] {
    return [...this.#records.entries()].map(([username, stored]) => {
      return { username, tags: (stored as StoredUser).tags };
    });
  }

  has(username: string): boolean {
    return this.#stored(username) !== undefined;
  }

  /** Somebody can be let in with the password that everybody knows. */
  get hasShippedPassword(): boolean {
    return [...this.#records.entries()].some(([, user]) => (user as StoredUser).hasShippedPassword);
  }

  async add({ username, tags }: User, password: string): Promise<void> {
    const made = await passwordOf(password);
    if (this.has(username)) throw new OperatingError('userExists', 'Username Already Exist');
    if (this.list().length >= usersMax) {
      throw new OperatingError('failed', `Cannot add "${username}": there are ${usersMax} users`);
    }
    this.#records.put(username, { tags, ...made } satisfies StoredUser);
    await this.#parts.records.flushed();
  }

  async setTags(username: string, tags: string): Promise<void> {
    this.#records.put(username, { ...this.#known(username), tags });
    await this.#parts.records.flushed();
  }

  async setPassword(username: string, password: string): Promise<void> {
    this.#known(username);
    const made = await passwordOf(password);
    this.#records.put(username, { ...this.#known(username), ...made });
    await this.#parts.records.flushed();
  }

  async remove(username: string): Promise<void> {
    this.#known(username);
    if (username === this.#parts.settings.defaultLogin) {
      throw new OperatingError('adminStays', 'Cannot delete admin');
    }
    // Without anybody the next start would bring the user of the configuration back.
    if (this.list().length === 1) {
      throw new OperatingError('adminStays', `Cannot delete "${username}": it is the last user`);
    }
    this.#records.delete(username);
    await this.#parts.records.flushed();
  }

  verify(username: string, password: string, address: string): Promise<boolean> {
    return this.#logins.verify(username, password, address);
  }

  #known(username: string): StoredUser {
    const stored = this.#stored(username);
    if (stored === undefined) throw new OperatingError('unknownUser', 'Username Not Found');
    return stored;
  }

  #stored(username: string): StoredUser | undefined {
    return this.#records.get(username) as StoredUser | undefined;
  }
}

async function passwordOf(password: string): Promise<Omit<StoredUser, 'tags'>> {
  return {
    hash: await hashPassword(password),
    hasShippedPassword: password === shippedPassword,
  };
}
