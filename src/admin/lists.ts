// Rows of the node's lists as operations answer them: a page, those of one client, those of one name. Law:
// a worker that cannot be asked is a failure, never a shorter list.

import { type TObject, type TString, Type } from 'typebox';
import { CallError } from '#base/calls';
import { type ListKind, type RowTypes } from '#node/list-orders';
import { ListUnanswered, readClient, readPage, readRows, type RowsWanted } from '#node/list-reader';
import { OperatingError } from './failures.ts';
import { type Caller, Page } from './operation.ts';
import { type PagingParams, sliceOf } from './paging.ts';
import type { AdminParts } from './parts.ts';

/** Of what is asked of one client. */
export const clientParams: TObject<{ clientid: TString }> = Type.Object({
  clientid: Type.String({ minLength: 1, description: 'The client id' }),
});

export type ListParts = Pick<AdminParts, 'node' | 'settings'>;

export async function pageOf<K extends ListKind, R>(
  { node, settings }: ListParts,
  kind: K,
  params: PagingParams,
  { signal }: Caller,
  rowOf: (facts: RowTypes[K]) => R,
): Promise<Page<R>> {
  const slice = sliceOf(params, settings.management.rowsMax);
  const { rows, count } = await answered(readPage(node.workers, kind, slice, signal));
  return new Page(rows.map(rowOf), { ...slice, count });
}

export async function rowsOfClient<K extends Exclude<ListKind, 'routes'>, R>(
  { node }: ListParts,
  kind: K,
  clientId: string,
  rowOf: (facts: RowTypes[K]) => R,
): Promise<R[]> {
  return (await answered(readClient(node.workers, kind, clientId))).map(rowOf);
}

/** All that are wanted; where that is more than a page may have, none. */
export async function rowsOf<K extends ListKind, R>(
  { node, settings }: ListParts,
  kind: K,
  wanted: RowsWanted,
  rowOf: (facts: RowTypes[K]) => R,
): Promise<R[]> {
  const { rowsMax } = settings.management;
  const reading = readRows(node.workers, kind, { ...wanted, rowsMax: rowsMax + 1 });
  const rows = await answered(reading);
  if (rows.length > rowsMax) {
    const text = `Cannot list these ${kind}: there are more than ${rowsMax}`;
    throw new OperatingError('failed', `${text}, page through all of them instead`);
  }
  return rows.map(rowOf);
}

async function answered<T>(asked: Promise<T>): Promise<T> {
  try {
    return await asked;
  } catch (error) {
    if (!(error instanceof ListUnanswered || error instanceof CallError)) throw error;
    throw new OperatingError('badCall', error.message, { cause: error });
  }
}
