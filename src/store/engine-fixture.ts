// What the tests of engines have in common: short keys and values as text.

import { Batch } from './batch.ts';
import type { Engine } from './engine.ts';
import type { Table } from './table.ts';

export interface TriedEngine extends AsyncDisposable {
  readonly engine: Engine;
}

export type MakeEngine = () => TriedEngine | Promise<TriedEngine>;

export function key(text: string): Buffer {
  return Buffer.from(text);
}

/** Bytes without a short period, so that a lost, doubled or swapped piece shows. */
export function patterned(length: number): Buffer {
  const words = new Uint32Array(Math.ceil(length / 4));
  for (let i = 0; i < words.length; i += 1) words[i] = Math.imul(i + 1, 0x9e3779b1);
  return Buffer.from(words.buffer, 0, length);
}

export async function put(
  engine: Engine,
  table: Table,
  entries: readonly (readonly [string, string])[],
): Promise<void> {
  const batch = new Batch();
  for (const [name, value] of entries) batch.put(table, key(name), key(value));
  await engine.commit(batch);
}

export function entriesOf(
  engine: Engine,
  table: Table,
  from = '',
  to?: string,
): [string, string][] {
  const entries: [string, string][] = [];
  engine.range(table, key(from), to === undefined ? undefined : key(to), (name, value) => {
    return entries.push([name.toString(), value.toString()]) > 0;
  });
  return entries;
}

export function keysOf(engine: Engine, table: Table, from = '', to?: string): string[] {
  const keys: string[] = [];
  engine.keys(table, key(from), to === undefined ? undefined : key(to), (name) => {
    return keys.push(name.toString()) > 0;
  });
  return keys;
}
