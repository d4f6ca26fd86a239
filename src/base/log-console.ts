// Log lines on the console: JSON as it is where a program reads, one readable line where a person
// does.

import type { LogSink } from './log-sink.ts';

interface ConsoleStream {
  readonly isTTY?: boolean;
  write(text: string): boolean;
  on(event: 'error', listener: () => void): unknown;
}

export function consoleSink(stream: ConsoleStream): LogSink {
  const show = stream.isTTY === true ? readable : (line: string): string => line;
  // A reader that went away (EPIPE) costs the lines, not the broker.
  stream.on('error', () => {});
  return {
    write: (line) => {
      stream.write(show(line));
    },
    // Lines on a terminal or pipe are written by the operating system when the call returns.
    [Symbol.asyncDispose]: async () => {},
  };
}

/** `02:50:54.123 warning outbox.full clientId=c1 bytes=4096` */
export function readable(line: string): string {
  const { level, time, event, ...fields } = JSON.parse(line) as Record<string, unknown>;
  const clock = String(time).slice(11, 23);
  const words = Object.entries(fields).map(([name, value]) => `${name}=${word(value)}`);
  return `${[clock, String(level).padEnd(7), event, ...words].join(' ')}\n`;
}

function word(value: unknown): string {
  return typeof value === 'string' && /^[^\s"=]+$/.test(value) ? value : JSON.stringify(value);
}
