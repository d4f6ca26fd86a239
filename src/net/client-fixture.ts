// Clients of all four kinds for the tests, as byte streams, so that one contract fits all.

import { connect } from 'node:net';
import type { Duplex } from 'node:stream';
import { connect as connectTls } from 'node:tls';
import { createWebSocketStream, WebSocket } from 'ws';
import type { ListenerSettings } from '#config/settings';

export const kinds: readonly ListenerSettings['kind'][] = ['tcp', 'ssl', 'ws', 'wss'];

/** A connected client that has not begun to read. */
export async function connectClient(kind: ListenerSettings['kind'], port: number): Promise<Duplex> {
  const { promise, resolve, reject } = Promise.withResolvers<Duplex>();
  if (kind === 'tcp') {
    const socket = connect(port, '127.0.0.1', () => resolve(socket)).once('error', reject);
  } else if (kind === 'ssl') {
    const socket = connectTls({ port, host: '127.0.0.1', rejectUnauthorized: false }, () =>
      resolve(socket),
    ).once('error', reject);
  } else {
    const url = `${kind}://127.0.0.1:${port}/mqtt`;
    const ws = new WebSocket(url, ['mqtt'], { rejectUnauthorized: false });
    const stream = createWebSocketStream(ws).on('error', reject);
    webSockets.set(stream, ws);
    ws.once('open', () => resolve(stream)).once('error', reject);
  }
  const client = await promise;
  client.on('error', () => undefined); // the other side's reset is part of many tests
  return client;
}

const webSockets = new WeakMap<Duplex, WebSocket>();

/** Leaves what the server sends in the kernel's buffers. */
export function stopReading(client: Duplex): void {
  client.pause();
  webSockets.get(client)?.pause();
}

/** Everything the client reads from now on. */
export function collect(client: Duplex): {
  bytes: () => Buffer;
  count: () => number;
  ended: () => boolean;
} {
  let count = 0;
  const chunks: Buffer[] = [];
  let ended = false;
  client.on('data', (chunk: Buffer) => {
    count += chunk.length;
    chunks.push(chunk);
  });
  const onEnd = (): void => {
    ended = true;
  };
  client.on('end', onEnd);
  client.on('close', onEnd);
  webSockets.get(client)?.resume();
  return { bytes: () => Buffer.concat(chunks), count: () => count, ended: () => ended };
}
