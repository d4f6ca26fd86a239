// `start` and `stop`: a broker in the background, waited for.

import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, mkdirSync, openSync, readFileSync, rmSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { runningPid } from './pid-file.ts';
import type { ReadyMessage } from './run-node.ts';

const startTimeoutMs = 30_000;
const stopTimeoutMs = 10_000;

export interface Started {
  readonly pid: number;
  readonly listeners: readonly string[];
  /** What the broker has printed until it was ready. */
  readonly said: string;
}

/** Runs `script` with `args` detached. Resolves when it is ready; throws what it said when not. */
export async function startDetached(
  script: string,
  args: readonly string[],
  dataDir: string,
): Promise<Started> {
  mkdirSync(dataDir, { recursive: true, mode: 0o750 });
  const outputFile = join(dataDir, 'start.out');
  // A mode holds for a file that is made, not for one that is there.
  rmSync(outputFile, { force: true });
  const output = openSync(outputFile, 'ax', 0o600);
  const child = spawn(process.execPath, [...process.execArgv, script, ...args], {
    detached: true,
    stdio: ['ignore', output, output, 'ipc'],
  });
  closeSync(output);
  try {
    const listeners = await readiness(child);
    const said = readFileSync(outputFile, 'utf8').trim();
    // A secret may be in it, which is shown once. What the broker says when it dies comes here, too.
    truncateSync(outputFile);
    return { pid: child.pid ?? 0, listeners, said };
  } catch (error) {
    const said = readFileSync(outputFile, 'utf8').trim();
    throw new Error(`${(error as Error).message}${said === '' ? '' : `:\n${said}`}`, {
      cause: error,
    });
  } finally {
    child.unref();
    if (child.connected) child.disconnect();
  }
}

function readiness(child: ChildProcess): Promise<readonly string[]> {
  const { promise, resolve, reject } = Promise.withResolvers<readonly string[]>();
  const timer = setTimeout(() => {
    child.kill('SIGTERM');
    reject(new Error(`Cannot start: not ready after ${startTimeoutMs / 1000} seconds`));
  }, startTimeoutMs);
  child.once('error', (cause) => reject(new Error('Cannot start the process', { cause })));
  child.once('exit', (code, signal) => {
    reject(new Error(`Cannot start: the broker ended with ${signal ?? `exit code ${code}`}`));
  });
  child.once('message', (message) => resolve((message as ReadyMessage).ready));
  return promise.finally(() => clearTimeout(timer));
}

/** False: none was running. Throws when it is still there after the time it has. */
export async function stopRunning(dataDir: string): Promise<boolean> {
  const pid = runningPid(dataDir);
  if (pid === undefined) return false;
  process.kill(pid, 'SIGTERM');
  const deadline = Date.now() + stopTimeoutMs;
  while (runningPid(dataDir) === pid) {
    if (Date.now() > deadline) {
      throw new Error(
        `Cannot stop the broker: pid ${pid} still runs after ${stopTimeoutMs / 1000} seconds`,
      );
    }
    await pause(20);
  }
  return true;
}
