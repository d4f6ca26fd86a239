// Traces of a test's own broker, in a directory of their own, and the lines of their files as records.

import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { nullLogger } from '#base/log';
import { systemClock } from '#base/clock';
import type { LogSettings } from '#config/settings';
import { AskingHere } from '#node/asking-here';
import type { WorkersFace } from '#node/node-face';
import { Traces } from '#admin/traces';
import type { TestBroker } from '../helpers/broker.ts';

/** The workers of a test's broker, asked as management asks them. */
export function workersOf({ broker, workers }: TestBroker): WorkersFace {
  if (workers !== undefined) return workers.workers.asking;
  const keepClosed = async (): Promise<void> => undefined;
  return new AskingHere({ broker, listeners: () => [], keepClosed, setLogLevel: () => undefined });
}

export class TracedBroker implements AsyncDisposable {
  readonly dir: string;
  readonly traces: Traces;

  static async of(broker: TestBroker, bytesMax?: number): Promise<TracedBroker> {
    const dir = await mkdtemp(join(tmpdir(), 'broker-trace-'));
    return new TracedBroker(dir, workersOf(broker), bytesMax);
  }

  constructor(dir: string, workers: WorkersFace, bytesMax: number | undefined) {
    this.dir = dir;
    const settings: Pick<LogSettings, 'dir' | 'file' | 'levelFiles'> = {
      dir,
      file: 'broker.log',
      levelFiles: new Map([['error', 'error.log']]),
    };
    const bound = bytesMax === undefined ? {} : { bytesMax };
    this.traces = new Traces({ workers, clock: systemClock, log: nullLogger, settings, ...bound });
  }

  /** Stops the trace and answers what it has written. */
  async stopped(name: string): Promise<TraceRecord[]> {
    await this.traces.stop(name);
    return recordsOf(await readFile(join(this.dir, name), 'utf8'));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.traces[Symbol.asyncDispose]();
    await rm(this.dir, { recursive: true });
  }
}

export interface TraceRecord {
  readonly time: string;
  readonly level: string;
  readonly event: string;
  readonly fields: Readonly<Record<string, string>>;
}

/** Without the first and the last line. */
export function recordsOf(text: string): TraceRecord[] {
  const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  const records = lines.map((line) => {
    const [, time = '', level = '', event = '', rest = ''] =
      /^(\S+) \[(\w+)\] (\S+)(.*)$/.exec(line) ?? [];
    const pairs = rest.matchAll(/ (\w+)=("(?:[^"\\]|\\.)*"|\S+)/g);
    const fields = Object.fromEntries(
      Array.from(pairs, ([, key = '', value = '']) => [key, value] as const),
    );
    return { time, level, event, fields };
  });
  return records.filter(({ event }) => event !== 'trace.ended');
}
