// One caller at the control socket: its request, the command that runs for it, and what it is told.

import type { Socket } from 'node:net';
import type { Clock, ClockTimer } from '#base/clock';
import { describeError } from '#base/errors';
import type { Logger } from '#base/log';
import type { CommandLine, Console, Screen } from './console.ts';

export interface ControlClientParts {
  readonly socket: Socket;
  readonly clock: Clock;
  readonly log: Logger;
  readonly commands: Console;
}

const requestBytesMax = 64 * 1024;
/** For the whole request, and for whoever does not read what it asked for. */
const requestMsMax = 10_000;
const unreadMsMax = 60_000;

type Line = { readonly out: string } | { readonly err: string } | { readonly exit: number };

export class ControlClient {
  readonly #parts: ControlClientParts;
  readonly #gone = new AbortController();

  constructor(parts: ControlClientParts) {
    this.#parts = parts;
    const { socket } = parts;
    // A caller that went away is no failure of ours.
    socket.on('error', () => socket.destroy());
    socket.once('close', () => this.#gone.abort());
  }

  serve(): void {
    const { socket, clock } = this.#parts;
    const patience = clock.setTimer(requestMsMax, () =>
      this.refuse(`Cannot read the request: it did not come within ${requestMsMax} ms`),
    );
    socket.once('close', () => patience.cancel());
    const pieces: Buffer[] = [];
    let bytes = 0;
    const read = (piece: Buffer): void => {
      const end = piece.indexOf('\n');
      pieces.push(end < 0 ? piece : piece.subarray(0, end));
      bytes += piece.length;
      if (end < 0 && bytes <= requestBytesMax) return;
      patience.cancel();
      socket.off('data', read);
      // What else comes is thrown away: the end of the caller is heard only while somebody reads.
      socket.resume();
      if (bytes > requestBytesMax) {
        this.refuse(`Cannot read the request: it has more than ${requestBytesMax} bytes`);
      } else {
        void this.#answer(Buffer.concat(pieces).toString());
      }
    };
    socket.on('data', read);
  }

  refuse(why: string): void {
    const { socket } = this.#parts;
    socket.resume();
    socket.write(encode({ err: `${why}\n` }));
    this.#leave(1);
  }

  /** The node stops. */
  end(): void {
    this.#parts.socket.destroy();
  }

  async #answer(text: string): Promise<void> {
    const { socket, log, commands } = this.#parts;
    const screen: Screen = {
      out: (piece) => this.#say({ out: piece }),
      err: (piece) => this.#say({ err: piece }),
    };
    const line = requestOf(text);
    if (line === undefined) {
      this.refuse('Cannot read the request: expected {"args":["…"],"json":false} in one line');
      return;
    }
    const { directory } = line;
    const where = directory === undefined ? {} : { directory };
    const caller = { name: 'cli', address: 'local', signal: this.#gone.signal, ...where };
    try {
      const exit = await commands.run(line, caller, screen);
      this.#leave(exit);
    } catch (error) {
      // Whoever waited is gone: what it wanted is ended by that, not broken.
      if (!this.#gone.signal.aborted) log.error('control.failed', { error: describeError(error) });
      socket.destroy();
    }
  }

  /** The last words. Who has heard them and stays keeps the place of somebody else. */
  #leave(exit: number): void {
    const { socket, clock } = this.#parts;
    if (socket.destroyed) return;
    const patience = clock.setTimer(unreadMsMax, () => socket.destroy());
    socket.once('close', () => patience.cancel());
    socket.end(encode({ exit }));
  }

  /** Resolves when there is room for more; rejects when nobody is there to read it. */
  async #say(line: Line): Promise<void> {
    const { socket, clock } = this.#parts;
    const { signal } = this.#gone;
    if (signal.aborted) throw new Error('Cannot answer: the caller is gone');
    if (socket.write(encode(line))) return;
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const gone = (): void => reject(new Error('Cannot answer: the caller is gone'));
    const patience: ClockTimer = clock.setTimer(unreadMsMax, () => socket.destroy());
    signal.addEventListener('abort', gone);
    socket.once('drain', resolve);
    try {
      await promise;
    } finally {
      patience.cancel();
      signal.removeEventListener('abort', gone);
      socket.off('drain', resolve);
    }
  }
}

function encode(line: Line): string {
  return `${JSON.stringify(line)}\n`;
}

interface Request extends CommandLine {
  readonly directory: string | undefined;
}

/** Undefined: it is none. */
function requestOf(text: string): Request | undefined {
  let request: unknown;
  try {
    request = JSON.parse(text);
  } catch {
    // Said by the answer.
    return undefined;
  }
  if (typeof request !== 'object' || request === null) return undefined;
  const {
    args,
    json = false,
    cwd,
  } = request as {
    readonly [F in 'args' | 'json' | 'cwd']?: unknown;
  };
  const isWords = Array.isArray(args) && args.every((word) => typeof word === 'string');
  if (!isWords || typeof json !== 'boolean') return undefined;
  return { args, isJson: json, directory: typeof cwd === 'string' ? cwd : undefined };
}
