// Where the store of a node is, and what is done about a damaged one.

import { join } from 'node:path';
import type { Logger } from '#base/log';
import type { Settings } from '#config/settings';
import type { LmdbOptions } from '#store/lmdb/open';

export function storeOptions({ node }: Settings, log: Logger): LmdbOptions {
  return {
    dir: join(node.dataDir, 'store'),
    onCorrupt: node.onCorruptStore,
    log: log.child({ part: 'store' }),
  };
}
