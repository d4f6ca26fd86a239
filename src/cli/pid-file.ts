// <data_dir>/broker.pid: the process id of the broker that has this data directory, and in a second
// line what tells that process from a later one with the same number. Laws: the file appears whole;
// of brokers that start together one gets it; what a killed broker left behind does not count.

import { randomUUID } from 'node:crypto';
import { linkSync, readFileSync, readlinkSync, realpathSync } from 'node:fs';
import { renameSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const program = fileURLToPath(new URL('broker.ts', import.meta.url));

/** How long another broker may take for what is done in a moment. */
const patienceMs = 1000;
const lookAgainMs = 5;

/** What link() fails with on file systems that have none. */
const withoutLinks: ReadonlySet<string | undefined> = new Set(['EPERM', 'ENOTSUP', 'ENOSYS']);
const deadStates: ReadonlySet<string | undefined> = new Set(['Z', 'X']);

export function pidFileOf(dataDir: string): string {
  return join(dataDir, 'broker.pid');
}

/** The process id of the broker of this data directory; undefined when none runs. */
export function runningPid(dataDir: string): number | undefined {
  return ownerOf(readIfThere(pidFileOf(dataDir)) ?? '');
}

/** Makes the directory ours. Throws when a broker has it. */
export function claimPidFile(dataDir: string): Disposable {
  const file = pidFileOf(dataDir);
  const mine = `${process.pid}\n${birthOf(statOf(process.pid))}\n`;
  const draft = uniqueBeside(file);
  try {
    writeFileSync(draft, mine, { flag: 'wx' });
    const other = takenFrom(file, draft);
    if (other !== undefined) {
      throw new Error(`Cannot start in "${dataDir}": ${other}, expected a directory of its own`);
    }
  } finally {
    rmSync(draft, { force: true });
  }
  return {
    [Symbol.dispose]() {
      if (readIfThere(file) === mine) rmSync(file, { force: true });
    },
  };
}

/** Undefined: the draft is in its place. Otherwise who is in the way. */
function takenFrom(file: string, draft: string): string | undefined {
  const deadline = performance.now() + patienceMs;
  while (!isLinked(draft, file)) {
    const found = readIfThere(file);
    if (found === undefined) continue;
    const owner = ownerOf(found);
    if (owner !== undefined) return `pid ${owner} runs there`;
    const isLate = performance.now() > deadline;
    // An empty file is about to be written, where files cannot be linked; later it is a left-over.
    if ((found !== '' || isLate) && isReplaced(draft, file, found)) break;
    if (isLate) return 'another broker starts there';
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, lookAgainMs);
  }
  return undefined;
}

/** Puts the draft where a file is that nobody owns. False: it changed, or somebody else is at it. */
function isReplaced(draft: string, file: string, unowned: string): boolean {
  const turn = `${file}.turn`;
  if (!isLinked(draft, turn)) {
    const holder = readIfThere(turn) ?? '';
    if (holder !== '' && ownerOf(holder) === undefined) removeLeftOver(turn, holder);
    return false;
  }
  try {
    // Links replace nothing, and who does not have the turn removes nothing but what it wrote
    // itself: so what is read here is still there when the draft is renamed over it.
    if (readIfThere(file) !== unowned) return false;
    renameSync(draft, file);
    return true;
  } finally {
    rmSync(turn, { force: true });
  }
}

/** Removes the file when it is still the one that was read, and not one that came after it. */
function removeLeftOver(file: string, text: string): void {
  const aside = uniqueBeside(file);
  try {
    renameSync(file, aside);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return;
    throw error;
  }
  if (readIfThere(aside) !== text) isLinked(aside, file);
  rmSync(aside, { force: true });
}

/** False when there is a file. */
function isLinked(draft: string, file: string): boolean {
  try {
    linkSync(draft, file);
    return true;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EEXIST') return false;
    if (!withoutLinks.has(code)) throw error;
  }
  try {
    writeFileSync(file, readFileSync(draft), { flag: 'wx' });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

function uniqueBeside(file: string): string {
  return `${file}.${randomUUID()}.tmp`;
}

/** The process, other than this one, that wrote the text and still runs. */
function ownerOf(text: string): number | undefined {
  const [first = '', birth = ''] = text.split('\n').map((line) => line.trim());
  if (!/^[1-9]\d*$/.test(first)) return undefined;
  const pid = Number(first);
  return pid !== process.pid && isOwner(pid, birth) ? pid : undefined;
}

function isOwner(pid: number, birth: string): boolean {
  const stat = statOf(pid);
  // Asked last: a process that ended meanwhile is not there.
  if (stat === undefined) return isThere(pid);
  if (deadStates.has(stat[0])) return false;
  return (birth === '' ? runsProgram(pid) : birth === birthOf(stat)) && isThere(pid);
}

function isThere(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // Alive, and somebody else's.
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/** The fields of proc(5) `stat` from the third on, which is the state; undefined where there are none. */
function statOf(pid: number): string[] | undefined {
  const text = readOfSystem(`/proc/${pid}/stat`);
  // The name of the program stands before, in brackets, and may have brackets and spaces itself.
  return text?.slice(text.lastIndexOf(')') + 2).split(' ');
}

/** The boot of the machine and the start of the process in it: no later process has both. */
function birthOf(stat: readonly string[] | undefined): string {
  const start = stat?.[19];
  if (start === undefined) return '';
  const boot = readOfSystem('/proc/sys/kernel/random/boot_id')?.trim() ?? '';
  return `${boot} ${start}`;
}

/** Whether the command line has this very program: all there is when the birth was not stored. */
function runsProgram(pid: number): boolean {
  const words = readOfSystem(`/proc/${pid}/cmdline`)?.split('\0') ?? [];
  return words.some((word) => {
    try {
      return (
        word !== '' && realpathSync(resolve(readlinkSync(`/proc/${pid}/cwd`), word)) === program
      );
    } catch {
      // Most words are no files.
      return false;
    }
  });
}

function readOfSystem(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    // No such system, no such process, or one that is hidden from us: nothing is known.
    return undefined;
  }
}

function readIfThere(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}
