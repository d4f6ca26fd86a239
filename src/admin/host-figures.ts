// What the process and its machine are doing, in the words of the API. The fields of the original's
// runtime carry the nearest true value of ours: memory is that of this process, and "processes", which
// there grow by the connection up to a limit, are open files, which here do.

import { readFile, readdir, stat } from 'node:fs/promises';
import { loadavg } from 'node:os';
import type { NodeFace } from '#node/node-face';

/** What kind of thing runs here. */
export const systemDescription = 'MQTT Broker';

/** The runtime: `R26/14.6.202.33`, its major version and that of its engine. */
export function runtimeRelease(versions: NodeJS.ProcessVersions = process.versions): string {
  const [major = ''] = versions.node.split('.');
  // `-node.10` behind it is the build of the runtime, not the engine.
  return `R${major}/${versions.v8.replace(/-.*$/, '')}`;
}

export interface MemoryFigures {
  /** What the process has of the machine. */
  readonly totalBytes: number;
  /** Of that: the heaps of all threads, as far as they are used, and what they hold outside. */
  readonly usedBytes: number;
}

const threadsMsMax = 2000;

/** A thread that does not answer in time is not in the sum. */
export async function memoryFigures(node: Pick<NodeFace, 'threads'>): Promise<MemoryFigures> {
  const { answers } = await node.threads(threadsMsMax);
  const totalBytes = process.memoryUsage.rss();
  const usedBytes = answers.reduce(
    (sum, [, { heapUsedBytes, externalBytes }]) => sum + heapUsedBytes + externalBytes,
    0,
  );
  // Memory that was never touched is counted as used by the heap, but the system has not given it yet.
  return { totalBytes, usedBytes: Math.min(usedBytes, totalBytes) };
}

export interface FileFigures {
  readonly open: number;
  readonly max: number;
}

/** Without a system that tells them: 0. */
export async function fileFigures(): Promise<FileFigures> {
  const [open, limits] = await Promise.all([
    openFiles(),
    readFile('/proc/self/limits', 'utf8').catch(() => ''),
  ]);
  return { open, max: maxFilesIn(limits) };
}

async function openFiles(): Promise<number> {
  try {
    // Since Linux 6.2 the size of this directory is the number, without reading 100 000 names.
    const { size } = await stat('/proc/self/fd');
    return size > 0 ? size : (await readdir('/proc/self/fd')).length;
  } catch {
    // Not Linux: nothing else of the system tells it.
    return 0;
  }
}

/** The soft limit in the text of `/proc/self/limits`. */
export function maxFilesIn(limits: string): number {
  const [, soft] = /^Max open files\s+(\S+)/m.exec(limits) ?? [];
  if (soft === 'unlimited') return Number.MAX_SAFE_INTEGER;
  return soft === undefined ? 0 : Number(soft);
}

export interface LoadFigures {
  readonly load1: string;
  readonly load5: string;
  readonly load15: string;
}

export function loadFigures(averages: readonly number[] = loadavg()): LoadFigures {
  const [load1 = 0, load5 = 0, load15 = 0] = averages;
  return { load1: load1.toFixed(2), load5: load5.toFixed(2), load15: load15.toFixed(2) };
}

const units = [
  ['G', 1024 ** 3],
  ['M', 1024 ** 2],
  ['K', 1024],
] as const;

/** `76.45M`; a plain number up to 1 K, as the original writes it. */
export function memoryText(bytes: number): string {
  for (const [unit, size] of units) {
    if (bytes > size) return `${(bytes / size).toFixed(2)}${unit}`;
  }
  return String(bytes);
}
