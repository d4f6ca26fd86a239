// Log lines on the console: JSON as it is where a program reads, one readable line where a person
// does.

import type { LogSink } from './log-sink.ts';

interface ConsoleStream {
  readonly isTTY?: boolean;
  /** Bytes that nobody has read yet. */
  readonly writableLength?: number;
  write(text: string): boolean;
  on(event: 'error', listener: () => void): unknown;
}

/** A reader that does not read costs lines, not memory. */
const unreadBytesMax = 1024 * 1024;

export function consoleSink(stream: ConsoleStream): LogSink {
  let dropped = 0;
  const show = stream.isTTY === true ? readable : (line: string): string => line;
  // A reader that went away (EPIPE) costs the lines, not the broker.
  stream.on('error', () => {});
  return {
    write: (line) => {
      if ((stream.writableLength ?? 0) > unreadBytesMax) {
        dropped++;
        return;
      }
      if (dropped > 0) {
        const time = new Date().toISOString();
        stream.write(
          show(`${JSON.stringify({ level: 'warning', time, event: 'log.unread', dropped })}\n`),
        );
        dropped = 0;
      }
      stream.write(show(line));
    },
    // What a slow reader has not taken by the end of the process is lost; see the command line.
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

// Clients choose many of these texts, and a terminal obeys what is no letter, number or mark.
const bare = /^(?:(?!["=])[\p{L}\p{N}\p{P}\p{S}\p{M}])+$/u;
const unprintable = /[\p{Cc}\p{Cf}\p{Co}\p{Zl}\p{Zp}]/gu;

function word(value: unknown): string {
  if (typeof value === 'string' && bare.test(value)) return value;
  return String(JSON.stringify(value)).replaceAll(unprintable, escaped);
}

/** In the way of JSON, which escapes only the first 32 characters by itself. */
function escaped(character: string): string {
  const units = Array.from({ length: character.length }, (_, i) => character.charCodeAt(i));
  return units.map((unit) => `\\u${unit.toString(16).padStart(4, '0')}`).join('');
}
