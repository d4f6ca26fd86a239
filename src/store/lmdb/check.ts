// Finds out whether a store can be read at all, in a process that may die of it (see `checker.ts`).

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { StoreDamaged } from '../store-damaged.ts';

const program = fileURLToPath(new URL('checker.ts', import.meta.url));

const damagedExit = 3;

/** Sent by somebody; all others are what reading a damaged map does to a process. */
const sent: ReadonlySet<string> = new Set(['SIGKILL', 'SIGTERM', 'SIGINT', 'SIGHUP', 'SIGQUIT']);

/** Throws StoreDamaged, or an Error when the check itself failed. */
export async function checkStore(dir: string): Promise<void> {
  const child = spawn(process.execPath, [program, dir], { stdio: ['ignore', 'pipe', 'ignore'] });
  const said = text(child.stdout);
  const [code, signal] = (await once(child, 'exit')) as [number | null, NodeJS.Signals | null];
  const finding = await said;
  if (code === 0) return;
  if (signal !== null && !sent.has(signal)) {
    throw new StoreDamaged(`reading "${dir}" ends a process by ${signal}`);
  }
  if (code === damagedExit) throw new StoreDamaged(`"${dir}" is not in order: ${finding}`);
  throw new Error(`Cannot check the store "${dir}": ${finding || `the check ended by ${signal}`}`);
}
