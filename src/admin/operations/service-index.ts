// The service index: every operation that the port it is asked on serves.

import { type TSchema, Type } from 'typebox';
import { type Catalogue, type IndexEntry, serviceIndex } from '../catalogue.ts';
import { type AnyOperation, define } from '../operation.ts';
import { noParams } from '../paging.ts';

const row: TSchema = Type.Object({
  name: Type.String(),
  method: Type.String(),
  path: Type.String(),
  descr: Type.String(),
});

export function indexOperations({ catalogue }: { readonly catalogue: Catalogue }): AnyOperation[] {
  const index: AnyOperation = define({
    name: 'index',
    descr: 'List the operations of this port',
    tag: 'Service index',
    http: { method: 'GET', path: '/' },
    params: noParams,
    result: Type.Array(row),
    run: (_params, { port = 'management' }): IndexEntry[] =>
      // What is asked is no news to whoever asks, and the original does not list it either.
      serviceIndex(
        catalogue.all().filter((operation) => operation !== index),
        port,
      ),
  });
  return [index];
}
