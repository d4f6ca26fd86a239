// The version of what a store holds, and the way from an older one. Laws: a step from one version to
// the next happens in one transaction together with its number; a store of a newer broker is left
// alone.

import type { RootDatabase } from 'lmdb';
import type { Logger } from '#base/log';
import { Table } from '../table.ts';
import { StoreDamaged } from '../store-damaged.ts';
import { type Environment, openTable, openTables } from './environment.ts';
import { WritableTables } from './tables.ts';

export interface Migration {
  /** For the log. */
  readonly title: string;
  /** NOTE: gather the keys first, then write: a range does not promise to see what it changes. */
  migrate(tables: WritableTables): void;
}

/** The first one is from version 1 to 2, and so on: a list that only grows. */
export const migrations: readonly Migration[] = [];

const firstVersion = 1;
const versionKey: Buffer = Buffer.from('version');

export interface VersionOptions {
  readonly dir: string;
  readonly log: Logger;
  readonly migrations: readonly Migration[];
}

/** Opens the tables of a store at the version of this broker. */
export function openAtVersion(
  root: RootDatabase<Buffer, Buffer>,
  options: VersionOptions,
): Environment {
  const { dir, log } = options;
  const latest = firstVersion + options.migrations.length;
  const found = versionOf(root, dir);
  if (found !== undefined && found > latest) {
    throw new Error(
      `Cannot open the store "${dir}": it is of version ${found}, this broker knows versions up to ${latest}`,
    );
  }
  const environment = root.transactionSync(() => {
    const opened = openTables(root);
    if (found === undefined) setVersion(new WritableTables(opened), latest);
    return opened;
  });
  const tables = new WritableTables(environment);
  for (let version = found ?? latest; version < latest; version += 1) {
    const migration = options.migrations[version - firstVersion] as Migration;
    const step = { dir, from: version, to: version + 1, title: migration.title };
    log.info('store.migrating', step);
    root.transactionSync(() => {
      migration.migrate(tables);
      setVersion(tables, version + 1);
    });
    log.info('store.migrated', step);
  }
  return environment;
}

/** Undefined: the store is new. */
function versionOf(root: RootDatabase<Buffer, Buffer>, dir: string): number | undefined {
  const version = openTable(root, String(Table.meta))?.get(versionKey);
  if (version === undefined) {
    if (hasRecords(root)) throw new StoreDamaged(`"${dir}" has records and no version`);
    return undefined;
  }
  const number = version.length === 4 ? version.readUInt32LE(0) : 0;
  if (number < firstVersion) {
    throw new StoreDamaged(`"${dir}" has the version 0x${version.toString('hex')}`);
  }
  return number;
}

function hasRecords(root: RootDatabase<Buffer, Buffer>): boolean {
  return Object.values(Table).some(
    (table) => (openTable(root, String(table))?.getCount() ?? 0) > 0,
  );
}

function setVersion(tables: WritableTables, version: number): void {
  const value = Buffer.alloc(4);
  value.writeUInt32LE(version);
  tables.put(Table.meta, versionKey, value);
}
