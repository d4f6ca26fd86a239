// The node that a path names, and operations that are asked of one node. Law: there is only this one until
// nodes form a cluster; any other name is answered as something that does not exist.

import { type TObject, type TString, Type } from 'typebox';
import type { Settings } from '#config/settings';
import { OperatingError } from './failures.ts';
import type { AnyOperation, HttpFace } from './operation.ts';

export const nodeName: TString = Type.String({
  minLength: 1,
  description: 'The node, `<name>@<host>`',
});

export const nodeParams: TObject<{ node: TString }> = Type.Object({ node: nodeName });

export function checkNode(settings: Pick<Settings, 'node'>, node: string): void {
  const { name } = settings.node;
  if (node === name) return;
  throw new OperatingError('notFound', `Cannot find node "${node}": there is only "${name}"`);
}

/** What tells the form for one node from that for all. */
export interface NodeForm extends Pick<HttpFace, 'indexPath'> {
  readonly name: string;
  readonly descr: string;
}

/** The same operation of one node: `/sessions` becomes `/nodes/:node/sessions`. It is no command. */
export function onNode(
  settings: Pick<Settings, 'node'>,
  { tag, http, params, result, run }: AnyOperation,
  { name, descr, indexPath }: NodeForm,
): AnyOperation {
  if (http === undefined) throw new TypeError(`Cannot ask "${name}" of a node: it has no path`);
  const { method, path } = http;
  return {
    name,
    descr,
    tag,
    http: { method, path: `/nodes/:node${path}`, ...(indexPath !== undefined && { indexPath }) },
    params: Type.Object({ node: nodeName, ...params.properties }),
    ...(result !== undefined && { result }),
    run(given, caller) {
      checkNode(settings, (given as { readonly node: string }).node);
      return run(given, caller);
    },
  };
}
