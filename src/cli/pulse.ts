// How a running broker shows that it responds: a socket that tells, to whoever connects, who it is.
// `ping` and `status` ask it. Where the socket is, and why there: base/socket-path.ts.

import { chmodSync, rmSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { join } from 'node:path';
import { socketPath } from '#base/socket-path';

export interface Pulse {
  readonly pid: number;
  readonly node: string;
  readonly version: string;
  readonly startedAtMs: number;
  readonly listeners: readonly string[];
}

const socketName = 'broker.sock';

/** Answers until it is disposed. The pid file is ours by now, so an old socket is nobody's. */
export function showPulse(dataDir: string, pulse: Pulse): AsyncDisposable {
  const server = createServer((socket) => {
    socket.on('error', () => socket.destroy());
    socket.end(JSON.stringify(pulse));
  });
  // Some file systems have no sockets; a broker that only cannot be asked still serves.
  const failed = (error: unknown): void => {
    const file = join(dataDir, socketName);
    const reason = (error as Error).message;
    console.error(`Cannot open "${file}": ${reason}; ping and status will not answer`);
  };
  server.on('error', failed);
  const stack = new AsyncDisposableStack();
  try {
    const { path } = stack.use(socketPath(dataDir, socketName));
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
    using place = socketPath(dataDir, socketName);
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
