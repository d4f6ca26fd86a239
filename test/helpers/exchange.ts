// One connection from its first byte to its end, for tests that look at raw bytes only.

import { once } from 'node:events';
import { createConnection } from 'node:net';

/** Sends bytes on a connection of their own and gives all that came back before the server closed. */
export async function exchange(
  port: number,
  bytes: Uint8Array,
  deadlineMs: number = 2000,
): Promise<Buffer> {
  const socket = createConnection({ port, host: '127.0.0.1', noDelay: true });
  const chunks: Buffer[] = [];
  socket.on('data', (chunk: Buffer) => chunks.push(chunk));
  socket.on('error', () => undefined);
  socket.write(bytes);
  try {
    await once(socket, 'close', { signal: AbortSignal.timeout(deadlineMs) });
  } catch (cause) {
    throw new Error(`Cannot see the end of the connection: still open after ${deadlineMs} ms`, {
      cause,
    });
  } finally {
    socket.destroy();
  }
  return Buffer.concat(chunks);
}
