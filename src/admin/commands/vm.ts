// The runtime on the console: `vm …`. The words are those of the original's runtime; each carries the
// nearest true value of ours, which is said where it is taken.

import { Type } from 'typebox';
import { type ThreadMemory, threadMemory } from '#node/memory-verbs';
import { fileFigures, loadFigures } from '../host-figures.ts';
import { keyLine } from '../key-lines.ts';
import { listenersOf } from '../listener-list.ts';
import { type AnyOperation, define } from '../operation.ts';
import { noParams } from '../paging.ts';
import type { AdminParts } from '../parts.ts';

const keyColumns = 24;
const answerMsMax = 5000;

type Figures = Readonly<Record<string, string | number>>;
type Section = (parts: AdminParts) => Promise<Figures>;

type SectionName = 'load' | 'memory' | 'process' | 'io' | 'ports';

const sections: Readonly<Record<SectionName, Section>> = {
  load,
  memory,
  process: processes,
  io,
  ports,
};

const descriptions: Readonly<Record<SectionName, string>> = {
  load: 'Show the load of the machine',
  memory: 'Show the memory of the process',
  process: 'Show what grows by the connection and has a limit: open files',
  io: 'Show how many files are open, and may be',
  ports: 'Show how many sockets are open, and may be',
};

export function vmCommands(parts: AdminParts): AnyOperation[] {
  const names = Object.keys(sections) as SectionName[];
  return [
    command(parts, ['vm', 'vm all'], 'vm_all', names, 'Show all of the runtime'),
    ...names.map((name) =>
      command(parts, [`vm ${name}`], `vm_${name}`, [name], descriptions[name]),
    ),
  ];
}

function command(
  parts: AdminParts,
  words: readonly string[],
  name: string,
  wanted: readonly SectionName[],
  descr: string,
): AnyOperation {
  const print = (figures: Figures): string =>
    Object.entries(figures)
      .map(([key, value]) => keyLine(key, value, keyColumns))
      .join('\n');
  return define({
    name,
    descr,
    tag: 'Nodes',
    cli: words.map((one) => ({ words: one, args: [], print })),
    params: noParams,
    result: Type.Record(Type.String(), Type.Union([Type.String(), Type.Number()])),
    async run() {
      const found = await Promise.all(wanted.map((section) => sections[section](parts)));
      return Object.assign({}, ...found) as Figures;
    },
  });
}

async function load(): Promise<Figures> {
  const { load1, load5, load15 } = loadFigures();
  return { 'cpu/load1': load1, 'cpu/load5': load5, 'cpu/load15': load15 };
}

/**
 * total: the process; processes: the heaps of all threads, and what of them is used; system: total without
 * the heaps; atom: 0, there are none; binary: buffers outside of the heaps; code: compiled functions; ets:
 * other memory outside of the heaps.
 */
async function memory({ node, settings }: AdminParts): Promise<Figures> {
  // In one thread the worker is this one, and must not be counted twice.
  const { answers } = await node.workers.everywhere('memory', [], answerMsMax);
  const workers = answers.map(([, one]) => one);
  const threads = settings.node.workers === 0 ? workers : [threadMemory(), ...workers];
  const sum = (of: (one: ThreadMemory) => number): number =>
    threads.reduce((total, one) => total + of(one), 0);
  const total = process.memoryUsage.rss();
  const heaps = sum((one) => one.heapTotalBytes);
  const buffers = sum((one) => one.bufferBytes);
  return {
    'memory/total': total,
    'memory/processes': heaps,
    'memory/processes_used': sum((one) => one.heapUsedBytes),
    'memory/system': Math.max(0, total - heaps),
    'memory/atom': 0,
    'memory/atom_used': 0,
    'memory/binary': buffers,
    'memory/code': sum((one) => one.codeBytes),
    'memory/ets': Math.max(0, sum((one) => one.externalBytes) - buffers),
  };
}

/** The same as process_used and process_available of the API. */
async function processes(): Promise<Figures> {
  const { open, max } = await fileFigures();
  return { 'process/limit': max, 'process/count': open };
}

async function io(): Promise<Figures> {
  const { open, max } = await fileFigures();
  return { 'io/max_fds': max, 'io/active_fds': open };
}

/** Sockets: listeners and their connections. */
async function ports(parts: AdminParts): Promise<Figures> {
  const [listeners, { max }] = await Promise.all([listenersOf(parts), fileFigures()]);
  const sockets = listeners.reduce((sum, { currentConns }) => sum + 1 + currentConns, 0);
  return { 'ports/count': sockets, 'ports/limit': max };
}
