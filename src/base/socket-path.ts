// Where the sockets of a broker are: in its data directory, under a path that is short enough for one.
// Law: a socket is where its owner alone may put one, so that nobody else can answer for the broker or
// keep it from starting.

import { createHash } from 'node:crypto';
import { closeSync, existsSync, openSync, statSync } from 'node:fs';
import { join } from 'node:path';

/** Where the node is told what to do, see admin/control-socket.ts. */
export const controlSocketName = 'control.sock';

/** Longest path that a socket may have is 104 bytes on some systems, 108 on Linux. */
const pathBytesMax = 100;

/** A path that is short enough, for as long as it is not disposed. */
export interface SocketPath extends Disposable {
  readonly path: string;
}

const nothing = (): void => {};

/** Throws when there is no place for a socket. `name`: `broker.sock`. */
export function socketPath(dataDir: string, name: string): SocketPath {
  const path = join(dataDir, name);
  if (Buffer.byteLength(path) <= pathBytesMax) return { path, [Symbol.dispose]: nothing };
  if (existsSync('/proc/self/fd')) {
    // The open directory is a short name for the long path.
    const directory = openSync(dataDir, 'r');
    return {
      path: `/proc/self/fd/${directory}/${name}`,
      [Symbol.dispose]: () => closeSync(directory),
    };
  }
  const home = process.env['XDG_RUNTIME_DIR'];
  if (home !== undefined && isOurs(home)) {
    const digest = createHash('sha256').update(dataDir).digest('hex').slice(0, 16);
    return { path: join(home, `${digest}-${name}`), [Symbol.dispose]: nothing };
  }
  throw new Error(`the path is longer than ${pathBytesMax} bytes and XDG_RUNTIME_DIR is not ours`);
}

function isOurs(directory: string): boolean {
  const found = statSync(directory, { throwIfNoEntry: false });
  return found !== undefined && found.uid === process.getuid?.() && (found.mode & 0o077) === 0;
}
