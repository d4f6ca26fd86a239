// The application that a broker begins with, so that its API can be used as soon as it runs: nobody knows
// its secret but who started it. Laws: it is made once, at the first start, and not again when somebody
// has removed it; its secret is printed once and lies in a file that its owner alone may read, until it
// is removed. A secret that the configuration sets holds at every start, and is written nowhere.

import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Settings } from '#config/settings';
import type { NodeRecords } from '#node/node-face';
import type { Apps } from './apps.ts';

export interface FirstApp {
  readonly id: string;
  readonly secret: string;
  readonly file: string;
}

const fileName = 'api-secret';
const marker = 'first-app';

/** Answers what has just been made up, for whoever starts the broker. */
export async function ensureFirstApp(
  apps: Apps,
  records: NodeRecords,
  { management, node }: Settings,
): Promise<FirstApp | undefined> {
  if (management.listeners.length === 0) return undefined;
  const { defaultAppId: id, defaultAppSecret: given } = management;
  const app = { id, name: 'Default', desc: 'Made at the first start', status: true };
  const begun = records.records('management');
  const isFirst = begun.get(marker) === undefined && apps.list().length === 0;
  begun.put(marker, id);
  if (given !== undefined) {
    await apps.set(app, given);
    return undefined;
  }
  if (!isFirst) return undefined;
  const secret = await apps.add(app, undefined);
  return { id, secret, file: written(node.dataDir, id, secret) };
}

function written(dataDir: string, id: string, secret: string): string {
  const file = join(dataDir, fileName);
  // A file that is there may be open to others, and stays as open when it is written to.
  rmSync(file, { force: true });
  writeFileSync(file, `${id}:${secret}\n`, { mode: 0o600, flag: 'wx' });
  return file;
}
