// An engine that reads from another one: what differs in those that extend it is how they write, and
// how they end.

import type { Batch } from './batch.ts';
import type { Engine } from './engine.ts';
import type { Table } from './table.ts';

export abstract class ForwardingEngine implements Engine {
  protected readonly inner: Engine;

  constructor(inner: Engine) {
    this.inner = inner;
  }

  get(table: Table, key: Buffer): Buffer | undefined {
    return this.inner.get(table, key);
  }

  has(table: Table, key: Buffer): boolean {
    return this.inner.has(table, key);
  }

  range(
    table: Table,
    from: Buffer,
    to: Buffer | undefined,
    visit: (key: Buffer, value: Buffer) => boolean,
  ): void {
    this.inner.range(table, from, to, visit);
  }

  keys(table: Table, from: Buffer, to: Buffer | undefined, visit: (key: Buffer) => boolean): void {
    this.inner.keys(table, from, to, visit);
  }

  lastKey(table: Table, from: Buffer, to: Buffer): Buffer | undefined {
    return this.inner.lastKey(table, from, to);
  }

  count(table: Table): number {
    return this.inner.count(table);
  }

  renew(): void {
    this.inner.renew();
  }

  abstract commit(batch: Batch): Promise<void>;

  close(): Promise<void> {
    return this.inner.close();
  }
}
