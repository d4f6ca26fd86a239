// Applications: who may use the REST API on the port of management. Laws: a secret is kept as a hash and
// shown once, when it is made; what was acknowledged is on disk.

import type { Clock } from '#base/clock';
import type { RecordStore } from '#core/store-port';
import type { NodeRecords } from '#node/node-face';
import { OperatingError } from './failures.ts';
import type { FailedTries } from './failed-tries.ts';
import { Logins } from './logins.ts';
import { hashPassword, randomSecret, verifyPassword } from './passwords.ts';

export interface App {
  readonly id: string;
  readonly name: string;
  readonly desc: string;
  readonly status: boolean;
  /** Unix seconds; undefined: never. */
  readonly expired?: number | undefined;
}

interface StoredApp extends Omit<App, 'id'> {
  readonly hash: string;
}

export interface AppsParts {
  readonly records: NodeRecords;
  readonly clock: Clock;
  readonly tries: FailedTries;
  readonly defaultSecret: string | undefined;
}

const appsMax = 10_000;

export class Apps {
  readonly #parts: AppsParts;
  readonly #records: RecordStore;
  readonly #logins: Logins;

  constructor(parts: AppsParts) {
    this.#parts = parts;
    this.#records = parts.records.records('apps');
    this.#logins = new Logins({ tries: parts.tries, hashOf: (id) => this.#hashOf(id) });
  }

  list(): App[] {
    return [...this.#records.entries()].map(([id, stored]) => appOf(id, stored as StoredApp));
  }

  find(id: string): App | undefined {
    const stored = this.#stored(id);
    return stored && appOf(id, stored);
  }

  /** Answers its secret: the one given, the default one, or a new one. */
  async add(app: App, given: string | undefined): Promise<string> {
    const { id, ...rest } = app;
    const secret = given || this.#parts.defaultSecret || randomSecret();
    const hash = await hashPassword(secret);
    // Asked for after the wait: of two that come at once the second is refused.
    if (this.#stored(id) !== undefined) throw new OperatingError('failed', 'alread_existed');
    if (this.list().length >= appsMax) {
      throw new OperatingError('failed', `Cannot add "${id}": there are ${appsMax} applications`);
    }
    this.#records.put(id, { ...rest, hash } satisfies StoredApp);
    await this.#parts.records.flushed();
    return secret;
  }

  /** As the configuration says: it is there, and has this secret. */
  async set({ id, ...rest }: App, secret: string): Promise<void> {
    const stored = this.#stored(id);
    const isSame = stored !== undefined && (await verifyPassword(secret, stored.hash));
    if (isSame) return;
    const hash = await hashPassword(secret);
    this.#records.put(id, { ...rest, ...stored, hash } satisfies StoredApp);
    await this.#parts.records.flushed();
  }

  /** What is not named stays as it is. */
  async change(id: string, changes: Partial<Omit<App, 'id'>>): Promise<void> {
    const stored = this.#stored(id);
    if (stored === undefined) throw new OperatingError('failed', 'ont_found');
    this.#records.put(id, { ...stored, ...changes });
    await this.#parts.records.flushed();
  }

  /** None there is as good as gone. */
  async remove(id: string): Promise<void> {
    this.#records.delete(id);
    await this.#parts.records.flushed();
  }

  verify(id: string, secret: string, address: string): Promise<boolean> {
    return this.#logins.verify(id, secret, address);
  }

  #hashOf(id: string): string | undefined {
    const stored = this.#stored(id);
    if (stored?.status !== true) return undefined;
    const isOver =
      stored.expired !== undefined && stored.expired * 1000 < this.#parts.clock.nowMs();
    return isOver ? undefined : stored.hash;
  }

  #stored(id: string): StoredApp | undefined {
    return this.#records.get(id) as StoredApp | undefined;
  }
}

function appOf(id: string, { name, desc, status, expired }: StoredApp): App {
  return { id, name, desc, status, expired };
}
