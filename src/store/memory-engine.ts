// An engine that forgets with the process: for stores that need not last, and for tests, which hand
// one instance to the broker that comes after a restart. Laws: a commit is visible on a later turn,
// as it is with a disk, and a batch that cannot be applied leaves nothing.

import { latin1Of } from '#base/latin1';
import { SortedMap } from '#base/sorted-map';
import { applyBatch } from './apply-batch.ts';
import type { Batch } from './batch.ts';
import type { Engine } from './engine.ts';
import { Table } from './table.ts';

export class MemoryEngine implements Engine {
  readonly #tables = new Map<Table, SortedMap<Buffer>>(
    Object.values(Table).map((table) => [table, new SortedMap<Buffer>()]),
  );
  #commit: Promise<void> | undefined;

  get(table: Table, key: Buffer): Buffer | undefined {
    const value = this.#table(table).get(textOf(key));
    return value && Buffer.from(value);
  }

  has(table: Table, key: Buffer): boolean {
    return this.#table(table).has(textOf(key));
  }

  range(
    table: Table,
    from: Buffer,
    to: Buffer | undefined,
    visit: (key: Buffer, value: Buffer) => boolean,
  ): void {
    this.#table(table).visit(textOf(from), to && textOf(to), (key, value) =>
      visit(Buffer.from(key, 'latin1'), Buffer.from(value)),
    );
  }

  keys(table: Table, from: Buffer, to: Buffer | undefined, visit: (key: Buffer) => boolean): void {
    this.#table(table).visit(textOf(from), to && textOf(to), (key) =>
      visit(Buffer.from(key, 'latin1')),
    );
  }

  lastKey(table: Table, from: Buffer, to: Buffer): Buffer | undefined {
    const last = this.#table(table).lastBelow(textOf(to));
    if (last === undefined || last < textOf(from)) return undefined;
    return Buffer.from(last, 'latin1');
  }

  count(table: Table): number {
    return this.#table(table).size;
  }

  /** There is no snapshot: what was applied is seen. */
  renew(): void {}

  commit(batch: Batch): Promise<void> {
    const commit = new Promise<void>((resolve, reject) => {
      setImmediate(() => {
        try {
          this.applyNow(batch.bytes, batch.length);
          resolve();
        } catch (error) {
          reject(error as Error);
        }
      });
    });
    this.#commit = commit;
    return commit;
  }

  /** The commit itself. Throws, and leaves everything as it was, when the batch cannot be applied. */
  applyNow(bytes: Buffer, length: number): void {
    const undo: { table: SortedMap<Buffer>; key: string; before: Buffer | undefined }[] = [];
    const change = (table: SortedMap<Buffer>, key: string, after: Buffer | undefined): void => {
      undo.push({ table, key, before: table.get(key) });
      restore(table, key, after);
    };
    try {
      applyBatch(bytes, length, {
        get: (table, key) => this.get(table, key),
        put: (table, key, value) => change(this.#table(table), textOf(key), ownCopy(value)),
        remove: (table, key) => change(this.#table(table), textOf(key), undefined),
      });
    } catch (error) {
      for (const { table, key, before } of undo.reverse()) restore(table, key, before);
      throw error;
    }
  }

  /** Waits for the commit under way. What is stored stays, and the engine can be used again. */
  async close(): Promise<void> {
    await this.#commit?.catch(() => {
      // Whoever committed was told.
    });
  }

  #table(table: Table): SortedMap<Buffer> {
    return this.#tables.get(table) as SortedMap<Buffer>;
  }
}

function restore(table: SortedMap<Buffer>, key: string, value: Buffer | undefined): void {
  if (value) table.set(key, value);
  else table.delete(key);
}

/** Memory of its own size: a piece of Node's pool would keep the whole pool alive for its time. */
function ownCopy(value: Buffer): Buffer {
  const copy = Buffer.allocUnsafeSlow(value.length);
  copy.set(value);
  return copy;
}

function textOf(key: Buffer): string {
  return latin1Of(key, 0, key.length);
}
