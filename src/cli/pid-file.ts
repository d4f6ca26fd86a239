// <data_dir>/broker.pid: the process id of the broker that has this data directory. A file that a
// killed broker left behind does not count, also when its number was given to another program.

import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

export function pidFileOf(dataDir: string): string {
  return join(dataDir, 'broker.pid');
}

/** The process id of the broker of this data directory; undefined when none runs. */
export function runningPid(dataDir: string): number | undefined {
  const pid = storedPid(dataDir);
  return pid !== undefined && pid !== process.pid && isBroker(pid) ? pid : undefined;
}

/** Makes the directory ours. Throws when a broker has it. */
export function claimPidFile(dataDir: string): Disposable {
  if (!writeExclusively(dataDir)) {
    const other = runningPid(dataDir);
    if (other === undefined) rmSync(pidFileOf(dataDir), { force: true });
    if (other !== undefined || !writeExclusively(dataDir)) {
      const owner = other === undefined ? 'another broker starts there' : `pid ${other} runs there`;
      throw new Error(`Cannot start in "${dataDir}": ${owner}, expected a directory of its own`);
    }
  }
  return { [Symbol.dispose]: () => releasePidFile(dataDir) };
}

/** False when there is a file: of two brokers that start together, one finds that of the other. */
function writeExclusively(dataDir: string): boolean {
  try {
    writeFileSync(pidFileOf(dataDir), `${process.pid}\n`, { flag: 'wx' });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

function releasePidFile(dataDir: string): void {
  if (storedPid(dataDir) === process.pid) rmSync(pidFileOf(dataDir), { force: true });
}

function storedPid(dataDir: string): number | undefined {
  const text = readIfThere(pidFileOf(dataDir))?.trim() ?? '';
  return /^[1-9]\d*$/.test(text) ? Number(text) : undefined;
}

function isBroker(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    // EPERM: it is alive and somebody else's; the command line decides.
    if ((error as NodeJS.ErrnoException).code !== 'EPERM') return false;
  }
  const commandLine = readIfThere(`/proc/${pid}/cmdline`);
  // Where there is no /proc, being alive has to be enough.
  if (commandLine === undefined) return true;
  return commandLine.split('\0').some((word) => /(^|\/)broker[^/]*$/.test(word));
}

function readIfThere(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ESRCH') return undefined;
    throw error;
  }
}
