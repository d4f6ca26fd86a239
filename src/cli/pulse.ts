// How a running broker shows that it responds: a socket that tells, to whoever connects, who it is.
// `ping` and `status` ask it. Law: the socket is where its owner alone may put one, so that nobody
// else can answer for the broker or keep it from starting.

import { createHash } from 'node:crypto';
import { chmodSync, closeSync, existsSync, openSync, rmSync, statSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { join } from 'node:path';

export interface Pulse {
  readonly pid: number;
  readonly node: string;
  readonly version: string;
  readonly startedAtMs: number;
  readonly listeners: readonly string[];
}

/** Longest path that a socket may have is 104 bytes on some systems, 108 on Linux. */
const pathBytesMax = 100;

/** A path that is short enough, for as long as it is not disposed. */
interface SocketPath extends Disposable {
  readonly path: string;
}

const nothing = (): void => {};

/** Throws when there is no place for a socket. */
function socketOf(dataDir: string): SocketPath {
  const path = join(dataDir, 'broker.sock');
  if (Buffer.byteLength(path) <= pathBytesMax) return { path, [Symbol.dispose]: nothing };
  if (existsSync('/proc/self/fd')) {
    // The open directory is a short name for the long path.
    const directory = openSync(dataDir, 'r');
    return {
      path: `/proc/self/fd/${directory}/broker.sock`,
      [Symbol.dispose]: () => closeSync(directory),
    };
  }
  const home = process.env['XDG_RUNTIME_DIR'];
  if (home !== undefined && isOurs(home)) {
    const digest = createHash('sha256').update(dataDir).digest('hex').slice(0, 16);
    return { path: join(home, `broker-${digest}.sock`), [Symbol.dispose]: nothing };
  }
  throw new Error(`the path is longer than ${pathBytesMax} bytes and XDG_RUNTIME_DIR is not ours`);
}

function isOurs(directory: string): boolean {
  const found = statSync(directory, { throwIfNoEntry: false });
  return found !== undefined && found.uid === process.getuid?.() && (found.mode & 0o077) === 0;
}

/** Answers until it is disposed. The pid file is ours by now, so an old socket is nobody's. */
export function showPulse(dataDir: string, pulse: Pulse): AsyncDisposable {
  const server = createServer((socket) => {
    socket.on('error', () => socket.destroy());
    socket.end(JSON.stringify(pulse));
  });
  // Some file systems have no sockets; a broker that only cannot be asked still serves.
  const failed = (error: unknown): void => {
    const file = join(dataDir, 'broker.sock');
    const reason = (error as Error).message;
    console.error(`Cannot open "${file}": ${reason}; ping and status will not answer`);
  };
  server.on('error', failed);
  const stack = new AsyncDisposableStack();
  try {
    const { path } = stack.use(socketOf(dataDir));
    rmSync(path, { force: true });
    server.listen(path, () => {
      try {
        chmodSync(path, 0o600);
      } catch (error) {
        failed(error);
      }
    });
    server.unref();
    // Removes the socket by its path, which has to be valid until then.
    stack.defer(() => new Promise((done) => server.close(() => done())));
  } catch (error) {
    failed(error);
  }
  return stack;
}

/** Undefined: nobody answered in time. */
export function feelPulse(dataDir: string, timeoutMs: number): Promise<Pulse | undefined> {
  const { promise, resolve } = Promise.withResolvers<Pulse | undefined>();
  try {
    // The path is used in the call, not later.
    using place = socketOf(dataDir);
    const socket = connect(place.path);
    let answer = '';
    socket.setEncoding('utf8').setTimeout(timeoutMs, () => socket.destroy());
    socket.on('data', (text: string) => {
      answer += text;
    });
    socket.on('error', () => resolve(undefined));
    socket.on('close', () => resolve(read(answer)));
  } catch {
    // No directory, no broker.
    resolve(undefined);
  }
  return promise;
}

function read(answer: string): Pulse | undefined {
  try {
    return JSON.parse(answer) as Pulse;
  } catch {
    // A broker that was killed in the middle of its answer did not answer.
    return undefined;
  }
}
