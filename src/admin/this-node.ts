// The node that a path names. Law: there is only this one until nodes form a cluster; any other name is
// answered as something that does not exist.

import type { Settings } from '#config/settings';
import { OperatingError } from './failures.ts';

export function checkNode(settings: Pick<Settings, 'node'>, node: string): void {
  const { name } = settings.node;
  if (node === name) return;
  throw new OperatingError('notFound', `Cannot find node "${node}": there is only "${name}"`);
}
