// What a broker costs the machine, as Linux accounts for it: processor time and memory of a process
// with all its threads and, should its launcher have started others, its descendants.

import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';

/** Linux reports in USER_HZ, which is 100 on every platform that Node runs on. */
const microsPerTick = 10_000;

/** User and system time so far, in microseconds, to the nearest 10 ms. */
export function cpuMicros(pid: number): number {
  let ticks = 0;
  for (const member of family(pid)) {
    const stat = readFileSync(`/proc/${member}/stat`, 'latin1');
    // The second field, the name, may hold spaces; what follows its bracket may not.
    ticks += ticksIn(stat, stat.lastIndexOf(')'));
  }
  return ticks * microsPerTick;
}

/** The same of the threads of one process that have this name. */
export function threadMicros(pid: number, name: string): number {
  let ticks = 0;
  for (const thread of readdirSync(`/proc/${pid}/task`)) {
    const stat = readFileSync(`/proc/${pid}/task/${thread}/stat`, 'latin1');
    const nameEnd = stat.lastIndexOf(')');
    if (stat.slice(stat.indexOf('(') + 1, nameEnd) === name) ticks += ticksIn(stat, nameEnd);
  }
  return ticks * microsPerTick;
}

function ticksIn(stat: string, nameEnd: number): number {
  const fields = stat.slice(nameEnd + 2).split(' ');
  return Number(fields[11]) + Number(fields[12]); // utime and stime: 14th and 15th of all
}

/** Processor time of all processes so far, and what a host took from this machine. */
export function machineMicros(): number {
  const [, ...fields] = readFileSync('/proc/stat', 'latin1').split(/\s+/, 9);
  // Interrupts (sixth and seventh) serve the loopback interface, which is our own doing.
  const [user = 0, nice = 0, system = 0, , , , , stolen = 0] = fields.map(Number);
  return (user + nice + system + stolen) * microsPerTick;
}

/** Resident memory, in bytes. */
export function residentBytes(pid: number): number {
  let kilobytes = 0;
  for (const member of family(pid)) {
    const status = readFileSync(`/proc/${member}/status`, 'latin1');
    kilobytes += Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1] ?? 0);
  }
  return kilobytes * 1024;
}

/** Resident memory once it has not moved by a percent for two seconds; after 20 s, as it is. */
export async function steadyBytes(pid: number): Promise<number> {
  let steadyReadings = 0;
  let last = residentBytes(pid);
  for (let reading = 0; reading < 40 && steadyReadings < 4; reading++) {
    await delay(500);
    const now = residentBytes(pid);
    steadyReadings = Math.abs(now - last) < last / 100 ? steadyReadings + 1 : 0;
    last = now;
  }
  return last;
}

/** How many files a process may hold open. */
export function openFilesMax(pid: number | 'self'): number {
  const limits = readFileSync(`/proc/${pid}/limits`, 'latin1');
  const soft = /^Max open files\s+(\d+|unlimited)/m.exec(limits)?.[1];
  return soft === undefined || soft === 'unlimited' ? Number.POSITIVE_INFINITY : Number(soft);
}

/** The process and all its descendants; only itself where the kernel does not list children. */
export function family(pid: number): readonly number[] {
  const members = [pid];
  for (const member of members) {
    try {
      const children = readFileSync(`/proc/${member}/task/${member}/children`, 'latin1');
      members.push(...children.split(' ').filter(Boolean).map(Number));
    } catch (error) {
      if (!isMissing(error)) throw error;
    }
  }
  return members;
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT';
}
