// What was set while the broker ran: `overrides.conf` in the data directory, written by management and
// read after the files and before environment and command line. Law: it is replaced as a whole or not at
// all, and it is on disk before anybody is told so. It may hold passwords: nobody else can read it.

import { randomUUID } from 'node:crypto';
import { open, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { quoteValue } from './parse.ts';
import { fromFile, type Gathered } from './sources.ts';

export function overridesFile(dataDir: string): string {
  return join(dataDir, 'overrides.conf');
}

/** Where the values that would be written are, in a problem that a check finds with them. */
export const overridesWhere = 'overrides.conf';

const dataDirKey = 'node.data_dir';

/** Nothing when there is no such file. */
export function fromOverrides(dataDir: string): Gathered {
  const found = fromFile(overridesFile(dataDir), { source: 'overrides', isOptional: true });
  return withoutDataDir(found);
}

/** What would hold if these were written. */
export function fromMap(overrides: ReadonlyMap<string, string>): Gathered {
  const assignments = [...overrides].map(
    ([key, value]) => ({ key, value, where: overridesWhere, source: 'overrides' }) as const,
  );
  const problems = assignments.flatMap(({ key, value, where }) => {
    const fault = faultOf(value);
    return fault === undefined ? [] : [{ where, key, text: `Cannot set ${key}: ${fault}` }];
  });
  return withoutDataDir({ assignments, problems });
}

/** What a file would not give back. */
function faultOf(value: string): string | undefined {
  if (/[\r\n]/.test(value)) return 'the value has several lines, expected one';
  return value.isWellFormed() ? undefined : 'the value is no Unicode text, expected one';
}

function withoutDataDir({ assignments, problems }: Gathered): Gathered {
  const own = assignments.filter(({ key }) => key === dataDirKey);
  return {
    assignments: assignments.filter(({ key }) => key !== dataDirKey),
    problems: [
      ...problems,
      ...own.map(({ key, where }) => ({
        where,
        key,
        text: `Cannot set ${key}: what is set while the broker runs lies in that directory, expected the line in a configuration file`,
      })),
    ],
  };
}

export async function writeOverrides(
  dataDir: string,
  overrides: ReadonlyMap<string, string>,
): Promise<void> {
  const file = overridesFile(dataDir);
  const fresh = `${file}.${randomUUID()}`;
  try {
    await writeSynced(fresh, renderOverrides(overrides));
    await rename(fresh, file);
  } catch (error) {
    await rm(fresh, { force: true });
    throw error;
  }
  await syncDirectory(dirname(file));
}

const header = `## What was set while the broker ran, by "broker_ctl configs set" or the management API.
## It stands before the configuration files, and after environment and command line. The broker
## writes this file; change it by hand only while the broker is stopped.
`;

function renderOverrides(overrides: ReadonlyMap<string, string>): string {
  const sorted = [...overrides].sort(([a], [b]) => (a < b ? -1 : 1));
  return `${header}\n${sorted.map(([key, value]) => `${key} = ${quoteValue(value)}\n`).join('')}`;
}

async function writeSynced(file: string, text: string): Promise<void> {
  await using handle = await open(file, 'wx', 0o600);
  await handle.writeFile(text);
  await handle.sync();
}

/** A name that was moved is on disk when its directory is. */
async function syncDirectory(directory: string): Promise<void> {
  await using handle = await open(directory, 'r');
  await handle.sync();
}
