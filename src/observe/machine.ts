// The figures of the machine that this process runs on, or of the container that it may not leave: where
// a control group limits memory, its use of that limit counts and not the whole machine. Files in the
// page cache are not counted as used: they go when memory is wanted, and the store is such a file.

import { readFile, statfs } from 'node:fs/promises';
import { cpus, totalmem } from 'node:os';
import type { CpuTimes, MemoryUse, Use } from './host-monitor.ts';

export function cpuTimes(): CpuTimes | undefined {
  let busyMs = 0;
  let totalMs = 0;
  for (const { times } of cpus()) {
    const { user, nice, sys, idle, irq } = times;
    busyMs += user + nice + sys + irq;
    totalMs += user + nice + sys + irq + idle;
  }
  return totalMs > 0 ? { busyMs, totalMs } : undefined;
}

export async function memoryUse(): Promise<MemoryUse> {
  const ownBytes = process.memoryUsage.rss();
  const totalBytes = totalmem();
  const allowedBytes = process.constrainedMemory();
  if (allowedBytes <= 0 || allowedBytes >= totalBytes) {
    return { used: totalBytes - process.availableMemory(), max: totalBytes, ownBytes };
  }
  const used = (await groupUse()) ?? ownBytes;
  return { used, max: allowedBytes, ownBytes };
}

/** Bytes of the control group that nothing can reclaim; undefined: it does not tell. */
async function groupUse(): Promise<number | undefined> {
  try {
    const [, path = '/'] = /^0::(.*)$/m.exec(await readFile('/proc/self/cgroup', 'utf8')) ?? [];
    const folder = `/sys/fs/cgroup${path === '/' ? '' : path}`;
    const [current, stat] = await Promise.all([
      readFile(`${folder}/memory.current`, 'utf8'),
      readFile(`${folder}/memory.stat`, 'utf8'),
    ]);
    return unreclaimable(Number(current), stat);
  } catch {
    // Groups of the first kind, or none that can be seen.
    return undefined;
  }
}

export function unreclaimable(currentBytes: number, stat: string): number | undefined {
  const valueOf = (name: string): number =>
    Number(new RegExp(`^${name} (\\d+)$`, 'm').exec(stat)?.[1] ?? 0);
  const used = currentBytes - valueOf('inactive_file') - valueOf('active_file');
  return Number.isFinite(used) ? Math.max(0, used) : undefined;
}

/** As `df` counts: what is kept for the superuser is not there for us. */
export async function diskUse(directory: string): Promise<Use> {
  const { bsize, blocks, bfree, bavail } = await statfs(directory);
  const used = (blocks - bfree) * bsize;
  return { used, max: used + bavail * bsize };
}
