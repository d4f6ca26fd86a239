// Stores in temporary directories, for tests.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Logger } from '#base/log';
import type { LmdbEngine } from './engine.ts';
import { type LmdbOptions, openLmdb } from './open.ts';

/** A data directory that goes when the test is over, with what is opened in it. */
export class TemporaryStore implements AsyncDisposable {
  readonly dataDir: string;
  readonly dir: string;
  /** Events that were logged, each with its fields. */
  readonly logged: { readonly event: string; readonly fields: Record<string, unknown> }[] = [];
  readonly #engines: LmdbEngine[] = [];

  constructor(dataDir: string = mkdtempSync(join(tmpdir(), 'broker-store-'))) {
    this.dataDir = dataDir;
    this.dir = join(dataDir, 'store');
  }

  get dataFile(): string {
    return join(this.dir, 'data.mdb');
  }

  /** Says at the next start that the last one died while reading. */
  get marker(): string {
    return `${this.dir}.opening`;
  }

  options(options: Partial<LmdbOptions> = {}): LmdbOptions {
    const log = silentLog((event, fields) => this.logged.push({ event, fields }));
    return { dir: this.dir, onCorrupt: 'stop', log, ...options };
  }

  async open(options: Partial<LmdbOptions> = {}): Promise<LmdbEngine> {
    const engine = await openLmdb(this.options(options), (opened) => opened);
    this.#engines.push(engine);
    return engine;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const engine of this.#engines) await engine.close();
    rmSync(this.dataDir, { recursive: true, force: true });
  }
}

/** A log that prints nothing; it tells what it is told. */
export function silentLog(
  tell: (event: string, fields: Record<string, unknown>) => unknown = () => {},
): Logger {
  const write = (event: string, fields: object = {}): void => {
    tell(event, { ...fields });
  };
  const log: Logger = {
    error: write,
    warn: write,
    info: write,
    debug: write,
    trace: write,
    child: () => log,
    isEnabled: () => true,
  };
  return log;
}

/** An empty store that is open. */
export async function openTemporary(): Promise<AsyncDisposable & { readonly engine: LmdbEngine }> {
  const store = new TemporaryStore();
  const engine = await store.open();
  return { engine, [Symbol.asyncDispose]: () => store[Symbol.asyncDispose]() };
}
