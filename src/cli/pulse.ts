// How a running broker shows that it responds: a socket in the data directory that tells, to
// whoever connects, who it is. `ping` and `status` ask it.

import { createHash } from 'node:crypto';
import { chmodSync, rmSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
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

function socketOf(dataDir: string): string {
  const path = join(dataDir, 'broker.sock');
  if (Buffer.byteLength(path) <= pathBytesMax) return path;
  const digest = createHash('sha256').update(dataDir).digest('hex').slice(0, 16);
  return join(tmpdir(), `broker-${digest}.sock`);
}

/** Answers until it is disposed. The pid file is ours by now, so an old socket is nobody's. */
export function showPulse(dataDir: string, pulse: Pulse): AsyncDisposable {
  const path = socketOf(dataDir);
  rmSync(path, { force: true });
  const server = createServer((socket) => {
    socket.on('error', () => socket.destroy());
    socket.end(JSON.stringify(pulse));
  });
  server.on('error', (error) => {
    // Some file systems have no sockets; a broker that only cannot be asked still serves.
    console.error(`Cannot open "${path}": ${error.message}; ping and status will not answer`);
  });
  server.listen(path, () => chmodSync(path, 0o600));
  server.unref();
  return {
    [Symbol.asyncDispose]: () => new Promise((done) => server.close(() => done())),
  };
}

/** Undefined: nobody answered in time. */
export function feelPulse(dataDir: string, timeoutMs: number): Promise<Pulse | undefined> {
  const { promise, resolve } = Promise.withResolvers<Pulse | undefined>();
  const socket = connect(socketOf(dataDir));
  let answer = '';
  socket.setEncoding('utf8').setTimeout(timeoutMs, () => socket.destroy());
  socket.on('data', (text: string) => {
    answer += text;
  });
  socket.on('error', () => resolve(undefined));
  socket.on('close', () => resolve(read(answer)));
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
