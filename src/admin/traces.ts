// The traces of the node: started, listed, stopped, written into files, read along. Laws: all workers
// trace the same, also one that comes later; a trace ends by itself at its size, at its time, and with
// the process; there are at most so many. What has ended can still be downloaded for a while.

import { join } from 'node:path';
import type { Clock, ClockTimer } from '#base/clock';
import { describeError } from '#base/errors';
import type { Logger } from '#base/log';
import { filterFault } from '#topics/topic';
import type { LogSettings } from '#config/settings';
import { checkTrace, readTrace, TraceFile } from '#observe/trace-file';
import {
  traceFields,
  type TraceLevel,
  traceLevels,
  type TraceSpec,
  traceText,
} from '#observe/trace-line';
import type { Taken, TraceBatch } from '#observe/tracer';
import { TraceTail } from '#observe/trace-tail';
import type { WorkersFace } from '#node/node-face';
import { OperatingError } from './failures.ts';
import { clientIdFault, madeName, shortened, traceNameOf } from './traces-names.ts';

export interface TraceWish {
  readonly by: TraceSpec['by'];
  readonly of: string;
  /** Named after what is traced where it is not said. */
  readonly file?: string | undefined;
  readonly level?: TraceLevel | undefined;
  readonly forMs?: number | undefined;
}

export interface TraceReport extends TraceSpec {
  /** The file with its directory. */
  readonly path: string;
  readonly startedAtMs: number;
  /** When it stops by itself. */
  readonly untilMs: number | undefined;
  /** Why it is over; undefined: it runs. */
  readonly ended: TraceEnd | undefined;
  readonly lines: number;
  readonly bytes: number;
}

export type TraceEnd = 'stopped' | 'full' | 'time' | 'failed';

export interface TracesParts {
  readonly workers: WorkersFace;
  readonly clock: Clock;
  readonly log: Logger;
  readonly settings: Pick<LogSettings, 'dir' | 'file' | 'levelFiles'>;
  readonly bytesMax?: number;
}

interface Running {
  readonly spec: TraceSpec;
  readonly startedAtMs: number;
  readonly untilMs: number | undefined;
  readonly file: TraceFile;
  readonly tails: Set<TraceTail>;
  timer: ClockTimer | undefined;
  lines: number;
}

const tracesMax: number = 50;
/** Who reads along with one trace. */
const tailsMax: number = 10;
const bytesMaxUsual = 100 * 1024 * 1024;

export class Traces implements AsyncDisposable {
  readonly #parts: TracesParts;
  readonly #running = new Map<string, Running>();
  /** The last ones, by name. */
  readonly #ended = new Map<string, TraceReport>();
  /** One change after another: the workers are told of all traces at once. */
  #turn: Promise<unknown> = Promise.resolve();
  #taken = new Map<string, Taken>();
  #isTelling = false;

  constructor(parts: TracesParts) {
    this.#parts = parts;
    parts.workers.onReport('traced', (batch, worker) => this.#onLines(batch, worker));
  }

  /** Those that run, then those that have ended. */
  list(): TraceReport[] {
    const running = Array.from(this.#running.values(), (one) => this.#report(one, undefined));
    return [...running, ...[...this.#ended.values()].reverse()];
  }

  start(wish: TraceWish): Promise<TraceReport> {
    return this.#inTurn(() => this.#start(wish));
  }

  /** By the name of its file. */
  async stop(name: string): Promise<void> {
    const isThere = await this.#inTurn(() => this.#stop(name, 'stopped'));
    if (!isThere) throw notFound(name);
  }

  /** By what it traces. */
  async stopOf(by: TraceSpec['by'], of: string): Promise<void> {
    const found = this.#find(by, of);
    if (found === undefined) throw new OperatingError('notFound', 'not_found');
    await this.stop(found.spec.name);
  }

  /** What it has written so far; also of one that has ended. */
  async download(name: string): Promise<AsyncIterable<Buffer>> {
    const running = this.#running.get(name);
    if (running === undefined && !this.#ended.has(name)) throw notFound(name);
    await running?.file.settled();
    const { dir } = this.#parts.settings;
    try {
      await checkTrace(dir, name);
    } catch (cause) {
      // Somebody has moved or replaced it.
      throw new OperatingError('notFound', `Cannot read the file of trace "${name}"`, { cause });
    }
    return readTrace(dir, name);
  }

  /** Its lines from now on, as server-sent events, until it ends or nobody reads any more. */
  tail(name: string, signal: AbortSignal): AsyncIterable<string> {
    const running = this.#running.get(name);
    if (running === undefined) throw notFound(name);
    if (running.tails.size >= tailsMax) {
      const text = `Cannot read along with "${name}": ${tailsMax} others do, which is the limit`;
      throw new OperatingError('tooMany', text);
    }
    const tail = new TraceTail(this.#parts.clock);
    running.tails.add(tail);
    // Also when nobody has begun to read.
    const abandon = (): void => {
      running.tails.delete(tail);
      tail.abandon();
    };
    tail.onGone = () => {
      running.tails.delete(tail);
      signal.removeEventListener('abort', abandon);
    };
    signal.addEventListener('abort', abandon, { once: true });
    if (signal.aborted) abandon();
    return tail;
  }

  async #start(wish: TraceWish): Promise<TraceReport> {
    const { clock, settings, bytesMax = bytesMaxUsual } = this.#parts;
    const spec = this.#specOf(wish);
    const { name } = spec;
    const file = await openFile(spec, {
      dir: settings.dir,
      name,
      bytesMax,
      onFull: () => void this.#end(name, 'full'),
      onFault: (error) => this.#parts.log.warn('trace.write_failed', { file: name, error }),
    });
    const startedAtMs = clock.nowMs();
    const { forMs } = wish;
    const untilMs = forMs === undefined ? undefined : startedAtMs + forMs;
    const tails = new Set<TraceTail>();
    const one: Running = { spec, startedAtMs, untilMs, file, tails, timer: undefined, lines: 0 };
    this.#running.set(name, one);
    this.#ended.delete(name);
    try {
      await this.#tellWorkers();
    } catch (error) {
      await this.#stop(name, 'failed');
      throw new OperatingError('badCall', `Cannot trace: ${describeError(error)}`, {
        cause: error,
      });
    }
    if (forMs !== undefined) one.timer = clock.setTimer(forMs, () => void this.#end(name, 'time'));
    const { by, of, level } = spec;
    this.#parts.log.info('trace.started', { by, of, traceLevel: level, file: name });
    return this.#report(one, undefined);
  }

  /** Throws where it cannot be. */
  #specOf({ by, of, file, level = 'all' }: TraceWish): TraceSpec {
    const fault = by === 'topic' ? filterFault(of) : clientIdFault(of);
    if (fault !== undefined) {
      throw new OperatingError('invalid', `Cannot trace ${by} "${shortened(of)}": ${fault}`);
    }
    if (this.#find(by, of) !== undefined) {
      throw new OperatingError('invalid', `Cannot trace ${by} "${of}": it is traced already`);
    }
    if (this.#running.size >= tracesMax) {
      throw new OperatingError('tooMany', `Cannot trace: ${tracesMax} traces run, the limit`);
    }
    const { settings } = this.#parts;
    const name = file === undefined ? madeName(by, of) : traceNameOf(file, settings);
    if (this.#running.has(name)) {
      throw new OperatingError('invalid', `Cannot trace into "${name}": another trace does`);
    }
    return { name, by, of, level };
  }

  #find(by: TraceSpec['by'], of: string): Running | undefined {
    return this.#running.values().find(({ spec }) => spec.by === by && spec.of === of);
  }

  /** By itself. */
  async #end(name: string, why: TraceEnd): Promise<void> {
    try {
      await this.#inTurn(() => this.#stop(name, why));
    } catch (error) {
      this.#parts.log.warn('trace.stop_failed', { file: name, error: describeError(error) });
    }
  }

  /** The workers first: when they know, their last lines are here. False: it does not run. */
  async #stop(name: string, why: TraceEnd): Promise<boolean> {
    const one = this.#running.get(name);
    if (one === undefined) return false;
    one.timer?.cancel();
    try {
      await this.#tellWorkers(name);
    } catch (error) {
      // One that does not answer is down or about to be: its successor is told what is upheld.
      this.#parts.log.warn('trace.stop_failed', { file: name, error: describeError(error) });
    }
    this.#running.delete(name);
    const { clock } = this.#parts;
    one.file.writeLast(traceText(clock.nowMs(), 'notice', 'trace.ended', { reason: why }));
    for (const tail of one.tails) tail.end(why);
    await one.file[Symbol.asyncDispose]();
    this.#remember(this.#report(one, why));
    this.#parts.log.info('trace.stopped', { file: name, reason: why, lines: one.lines });
    return true;
  }

  #remember(ended: TraceReport): void {
    this.#ended.set(ended.name, ended);
    const [oldest] = this.#ended.keys();
    if (this.#ended.size > tracesMax && oldest !== undefined) this.#ended.delete(oldest);
  }

  async #tellWorkers(without?: string): Promise<void> {
    const specs = Array.from(this.#running.values(), ({ spec }) => spec);
    const kept = specs.filter(({ name }) => name !== without);
    await this.#parts.workers.uphold('setTraces', [kept]);
  }

  #onLines({ tracer, lines, chars, lost }: TraceBatch, worker: number): void {
    const from = traceFields({ worker });
    for (const { traces, text, payload } of lines) {
      for (const name of traces) {
        const one = this.#running.get(name);
        if (one === undefined) continue;
        const isShown = payload !== undefined && traceLevels[one.spec.level] === traceLevels.debug;
        write(one, `${text}${from}${isShown ? ` payload=${payload}` : ''}`);
      }
    }
    if (lost > 0) this.#tellLost(lost, worker);
    const before = this.#taken.get(tracer);
    this.#taken.set(tracer, {
      tracer,
      lines: lines.length + (before?.lines ?? 0),
      chars: chars + (before?.chars ?? 0),
    });
    void this.#tellTaken();
  }

  /** Nobody knows of which trace they were. */
  #tellLost(lines: number, worker: number): void {
    const nowMs = this.#parts.clock.nowMs();
    const text = traceText(nowMs, 'warning', 'trace.lost', { lines, worker });
    for (const one of this.#running.values()) write(one, text);
  }

  /** One message to all workers at a time, however many batches come. */
  async #tellTaken(): Promise<void> {
    if (this.#isTelling) return;
    this.#isTelling = true;
    while (this.#taken.size > 0) {
      const taken = [...this.#taken.values()];
      this.#taken = new Map();
      await this.#parts.workers.everywhere('tracesTaken', [taken]);
    }
    this.#isTelling = false;
  }

  #report({ spec, file, ...one }: Running, ended: TraceEnd | undefined): TraceReport {
    const { startedAtMs, untilMs, lines } = one;
    const path = join(this.#parts.settings.dir, spec.name);
    return { ...spec, path, startedAtMs, untilMs, ended, lines, bytes: file.bytes };
  }

  #inTurn<T>(act: () => Promise<T>): Promise<T> {
    const turn = this.#turn.then(act);
    this.#turn = turn.catch(() => undefined);
    return turn;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const name of [...this.#running.keys()]) await this.#end(name, 'stopped');
  }
}

function write(one: Running, line: string): void {
  one.lines++;
  one.file.write(line);
  for (const tail of one.tails) tail.push(line);
}

async function openFile(
  spec: TraceSpec,
  options: Parameters<typeof TraceFile.open>[0],
): Promise<TraceFile> {
  const { by, of, level, name } = spec;
  try {
    return await TraceFile.open(options, traceFields({ [by]: of, level }).trimStart());
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    const why = code === 'ELOOP' ? `Cannot write to "${name}": it is a symbolic link` : message;
    throw new OperatingError('failed', why, { cause: error });
  }
}

function notFound(name: string): OperatingError {
  return new OperatingError('notFound', `Cannot find trace "${shortened(name)}"`);
}
