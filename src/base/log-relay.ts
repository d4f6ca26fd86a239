// The log of a thread that has no files: finished lines go, once a turn, to the thread that has them.
// Law: lines arrive whole and in order; which are made is decided here, by the level of this log, and
// where they go is decided there.

import { createLog, type LeveledSink, type LogLevelName, type RootLogger } from './log.ts';

/** A line with its end, and the value of its level. */
export type RelayedLine = readonly [levelValue: number, line: string];

/** So many are sent without waiting for the end of the turn, so that a flood is not held in memory. */
const linesMax = 1000;

/** `fields` are in each line and say whose it is. Disposing sends what is left, at once. */
export function relayLog(
  level: LogLevelName,
  charsLimit: number,
  send: (lines: readonly RelayedLine[]) => void,
  fields?: object,
): RootLogger {
  return createLog(level, [{ from: 'trace', sink: new RelaySink(send) }], charsLimit, fields);
}

export function writeRelayed(log: RootLogger, lines: readonly RelayedLine[]): void {
  for (const [levelValue, line] of lines) log.writeLine(levelValue, line);
}

class RelaySink implements LeveledSink {
  readonly #send: (lines: readonly RelayedLine[]) => void;
  #lines: RelayedLine[] = [];

  constructor(send: (lines: readonly RelayedLine[]) => void) {
    this.#send = send;
  }

  write(line: string, levelValue: number): void {
    this.#lines.push([levelValue, line]);
    if (this.#lines.length === 1) setImmediate(() => this.#flush());
    else if (this.#lines.length >= linesMax) this.#flush();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#flush();
  }

  #flush(): void {
    if (this.#lines.length === 0) return;
    const lines = this.#lines;
    this.#lines = [];
    this.#send(lines);
  }
}
