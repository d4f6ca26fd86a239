// Has the node run a command through its control socket (admin/control-socket.ts) and prints what it
// says as it comes. Law: a reader that is slow slows the node down; one that is gone ends the command.

import { connect } from 'node:net';
import { controlSocketName, socketPath } from '#base/socket-path';
import { feelPulse } from './pulse.ts';

export interface CtlRequest {
  readonly args: readonly string[];
  readonly json: boolean;
  /** What relative paths among the arguments are relative to. */
  readonly cwd?: string;
}

/** Where answers go: resolves when there is room for more. */
export interface Terminal {
  out(text: string): Promise<void>;
  err(text: string): Promise<void>;
}

export type Outcome =
  | { readonly exitCode: number }
  /** No node answers. */
  | 'down'
  /** It answered, and then it did not. */
  | 'lost'
  /** It is there, and not ours. */
  | 'forbidden';

interface Line {
  readonly out?: string;
  readonly err?: string;
  readonly exit?: number;
}

/** A command may take its time; a node that is silent for so long is asked whether it lives. */
const silentMs = 10_000;
const pulseMs = 5000;

export async function callNode(
  dataDir: string,
  request: CtlRequest,
  terminal: Terminal,
): Promise<Outcome> {
  const { promise, resolve } = Promise.withResolvers<Outcome>();
  let hasAnswered = false;
  let rest = '';
  try {
    // The path is used in the call, not later.
    using place = socketPath(dataDir, controlSocketName);
    const socket = connect(place.path, () => socket.write(`${JSON.stringify(request)}\n`));
    socket.setEncoding('utf8').setTimeout(silentMs, () => {
      void feelPulse(dataDir, pulseMs).then((pulse) => {
        if (pulse === undefined) socket.destroy();
      });
    });
    socket.on('error', (error: NodeJS.ErrnoException) => {
      resolve(error.code === 'EACCES' ? 'forbidden' : hasAnswered ? 'lost' : 'down');
    });
    void (async () => {
      for await (const text of socket as AsyncIterable<string>) {
        hasAnswered = true;
        const lines = `${rest}${text}`.split('\n');
        rest = lines.pop() ?? '';
        for (const line of lines) {
          const { out, err, exit } = JSON.parse(line) as Line;
          if (out !== undefined) await terminal.out(out);
          if (err !== undefined) await terminal.err(err);
          if (exit !== undefined) resolve({ exitCode: exit });
        }
      }
    })()
      .catch(() => {
        // Either end is gone; what there is to say of it is said by the outcome.
        socket.destroy();
      })
      .finally(() => resolve(hasAnswered ? 'lost' : 'down'));
  } catch {
    // No directory, no node.
    resolve('down');
  }
  return promise;
}
