// Names with passwords that the broker itself keeps, for the plugins that authenticate by them. Laws: a
// password is kept as a hash and never handed out; what is answered as done is on disk; an entry that
// nobody can read is an entry all the same, and fits no password (CVE-2018-12551).

import { setImmediate } from 'node:timers/promises';
import type { RecordStore } from '#core/store-port';
import { type CredentialScheme, credentialNameFault } from './credential-entry.ts';
import { HashQueue } from './hash-queue.ts';
import { makeSalted, type StoredPassword } from './password-hash.ts';
import { ScramError } from './scram-messages.ts';
import { makeStoredScram, type StoredScram } from './stored-scram.ts';

/** Where a table is kept: the context of a plugin is one. */
export interface CredentialHome {
  records(kind: string): RecordStore;
  flushed(): Promise<void>;
}

export interface CredentialTableOptions {
  readonly scheme: CredentialScheme;
  /** Keeps what SCRAM needs beside the hash of a new password. */
  readonly hasScram?: boolean;
  readonly entriesMax?: number;
}

interface Entry {
  readonly password: StoredPassword;
  readonly scram?: StoredScram;
}

/** Why something is not done. The message is for whoever asked. */
export class CredentialRefused extends Error {
  override readonly name = 'CredentialRefused';
}

const entriesMaxUsual = 1_000_000;
/** Names that are listed before others have a turn. */
const namesAtOnce = 1000;
/** What no password fits. */
const unreadable = '';

export class CredentialTable {
  readonly #home: CredentialHome;
  readonly #entries: RecordStore;
  /** How many entries there are, which would take long to find out. */
  readonly #figures: RecordStore;
  readonly #options: CredentialTableOptions;
  readonly #queue = new HashQueue();

  constructor(home: CredentialHome, options: CredentialTableOptions) {
    this.#home = home;
    this.#entries = home.records('entries');
    this.#figures = home.records('figures');
    this.#options = options;
  }

  get count(): number {
    const kept = this.#figures.get('count');
    return typeof kept === 'number' ? kept : 0;
  }

  has(name: string): boolean {
    return this.#entries.get(name) !== undefined;
  }

  /** What the password of a client is checked against. Undefined: nobody has this name. */
  find(name: string): StoredPassword | undefined {
    const entry = this.#entries.get(name);
    return entry === undefined ? undefined : passwordOf(entry);
  }

  /** Undefined also for one whose password is older than SCRAM here. */
  findScram(name: string): StoredScram | undefined {
    return (this.#entries.get(name) as Entry | null | undefined)?.scram;
  }

  /** In the order of their bytes, very long ones last. What comes and goes meanwhile may be missed. */
  async *names(): AsyncGenerator<string> {
    let listed = 0;
    for (const [name] of this.#entries.entries()) {
      yield name;
      if (++listed % namesAtOnce === 0) await setImmediate();
    }
  }

  async page(offset: number, limit: number): Promise<string[]> {
    const rows: string[] = [];
    let at = 0;
    for await (const name of this.names()) {
      if (at++ < offset) continue;
      rows.push(name);
      if (rows.length === limit) break;
    }
    return rows;
  }

  /** Rejects with CredentialRefused, or with HashesBusy. So does `update`. */
  async add(name: string, password: string): Promise<void> {
    this.#checkNew(name);
    const entry = await this.#entryFor(password);
    // Somebody else may have been faster.
    this.#checkNew(name);
    this.#insert(name, entry);
    await this.#home.flushed();
  }

  async update(name: string, password: string): Promise<void> {
    this.#checkKnown(name);
    const entry = await this.#entryFor(password);
    this.#checkKnown(name);
    this.#entries.put(name, entry);
    await this.#home.flushed();
  }

  /** Nothing happens where there is none. */
  async remove(name: string): Promise<void> {
    if (!this.has(name)) return;
    this.#entries.delete(name);
    this.#figures.put('count', this.count - 1);
    await this.#home.flushed();
  }

  /** Those whose names are new. Answers how many that were. */
  async addNew(presets: Iterable<readonly [name: string, password: string]>): Promise<number> {
    let added = 0;
    for (const [name, password] of presets) {
      if (this.has(name)) continue;
      const entry = await this.#entryFor(password);
      if (this.has(name)) continue;
      this.#insert(name, entry);
      added += 1;
    }
    if (added > 0) await this.#home.flushed();
    return added;
  }

  #checkNew(name: string): void {
    const fault = credentialNameFault(name);
    if (fault !== undefined) throw new CredentialRefused(`Cannot add ${shown(name)}: ${fault}`);
    if (this.has(name)) throw new CredentialRefused('existed');
    const { entriesMax = entriesMaxUsual } = this.#options;
    if (this.count < entriesMax) return;
    const text = `there are ${entriesMax} already, the most that may be`;
    throw new CredentialRefused(`Cannot add ${shown(name)}: ${text}`);
  }

  #checkKnown(name: string): void {
    if (!this.has(name)) throw new CredentialRefused('noexisted');
  }

  #insert(name: string, entry: Entry): void {
    this.#entries.put(name, entry);
    this.#figures.put('count', this.count + 1);
  }

  async #entryFor(password: string): Promise<Entry> {
    const { scheme, hasScram = false } = this.#options;
    const bytes = Buffer.from(password);
    const scram = hasScram ? { scram: scramOf(password) } : {};
    const kept = scheme === 'argon2id' ? this.#queue.make(bytes) : makeSalted(scheme, bytes);
    return { password: await kept, ...scram };
  }
}

function scramOf(password: string): StoredScram {
  try {
    return makeStoredScram(password);
  } catch (error) {
    if (!(error instanceof ScramError)) throw error;
    const text = 'Cannot use the password: SCRAM allows no such characters';
    throw new CredentialRefused(text, { cause: error });
  }
}

function passwordOf(entry: unknown): StoredPassword {
  const { password } = (entry ?? {}) as { readonly password?: unknown };
  if (typeof password === 'string') return password;
  const { scheme, value } = (password ?? {}) as { scheme?: unknown; value?: unknown };
  const isSalted = typeof scheme === 'string' && typeof value === 'string';
  return isSalted ? { scheme, value } : unreadable;
}

function shown(name: string): string {
  return JSON.stringify(name.length > 60 ? `${name.slice(0, 60)}…` : name);
}
