// The clients of a storm, in a thread of their own: a bounded number of them is under way at a time,
// and who is refused comes again. Runs when it is loaded as a worker: says that it is ready, waits for
// the word, and reports when all are connected or when the next word comes.

import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { connect as connectTls, createSecureContext } from 'node:tls';
import { parentPort, workerData } from 'node:worker_threads';
import { connack, connectFrame } from '../frames.ts';

export interface StormOrder {
  readonly port: number;
  readonly isTls: boolean;
  readonly concurrency: number;
  /** Numbers of its clients, which make their ids. */
  readonly from: number;
  readonly to: number;
}

export interface StormReport {
  readonly connected: number;
  /** Attempts that ended without a CONNACK that says yes. */
  readonly refused: number;
  /** Connected, and not any more. */
  readonly closed: number;
}

const keepaliveSeconds = 300;
const againMs = 100;
const attemptsMax = 20;

if (parentPort !== null) await storm(workerData as StormOrder, parentPort);

async function storm(order: StormOrder, parent: NonNullable<typeof parentPort>): Promise<void> {
  const open = order.isTls ? tlsOpener(order.port) : tcpOpener(order.port);
  const sockets: Socket[] = [];
  let refused = 0;
  let next = order.from;
  const lane = async (): Promise<void> => {
    while (next < order.to) {
      const id = `bench-storm-${next++}`;
      for (let attempt = 1; ; attempt++) {
        const socket = open();
        if (await isAccepted(socket, id)) {
          sockets.push(socket);
          break;
        }
        refused++;
        if (attempt === attemptsMax) throw new Error(`Cannot connect "${id}": refused every time`);
        await delay(againMs);
      }
    }
  };
  const report = (): void => {
    const closed = sockets.filter((socket) => socket.destroyed).length;
    parent.postMessage({ connected: sockets.length, refused, closed } satisfies StormReport);
  };
  const told = once(parent, 'message');
  report();
  await told;
  const stopped = once(parent, 'message');
  await Promise.race([Promise.all(Array.from({ length: order.concurrency }, lane)), stopped]);
  report();
}

function tcpOpener(port: number): () => Socket {
  return () => connect({ host: '127.0.0.1', port, noDelay: true });
}

function tlsOpener(port: number): () => Socket {
  // One for all: it is the broker's work that is measured. No session is kept, so none is resumed.
  const secureContext = createSecureContext();
  const options = { host: '127.0.0.1', port, secureContext, rejectUnauthorized: false };
  return () => connectTls(options).setNoDelay(true);
}

function isAccepted(socket: Socket, clientId: string): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  // 'close' follows.
  socket.on('error', () => undefined);
  socket.once('close', () => resolve(false));
  socket.once('data', (bytes) => {
    const isYes = bytes[0] === connack && bytes[3] === 0;
    if (!isYes) socket.destroy();
    resolve(isYes);
  });
  socket.write(connectFrame(clientId, keepaliveSeconds));
  return promise;
}
