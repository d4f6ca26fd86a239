// Many sessions with a few messages waiting in each, made through the broker itself: clients that
// connect, subscribe and leave, then publishers that write to each of their topics.

import { connect } from 'node:net';
import { Client } from './client.ts';
import {
  connectFrame,
  disconnectFrame,
  FrameWalker,
  puback,
  publishFrame,
  suback,
  subscribeFrame,
} from './frames.ts';

const connectingMax = 200;
const publishers = 10;
/** Messages of one publisher under way. */
const window = 1000;
const batch = 100;
const ids = 60_000;

export function sessionOf(index: number): string {
  return `bench-session-${index}`;
}

function topicOf(index: number): string {
  return `bench/store/${String(index).padStart(6, '0')}`;
}

/** A session for each index below `count`, subscribed to a topic of its own with QoS 1. */
export async function makeSessions(port: number, count: number): Promise<void> {
  let next = 0;
  const lane = async (): Promise<void> => {
    while (next < count) await makeSession(port, next++);
  };
  await Promise.all(Array.from({ length: connectingMax }, lane));
}

/** All it has to say in one write; the broker closes behind DISCONNECT. */
function makeSession(port: number, index: number): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const walker = new FrameWalker();
  let isGranted = false;
  const socket = connect({ host: '127.0.0.1', port, noDelay: true });
  socket.write(
    Buffer.concat([
      connectFrame(sessionOf(index), 0, false),
      subscribeFrame(topicOf(index), 1),
      disconnectFrame,
    ]),
  );
  socket.on('data', (bytes: Buffer) => {
    const frame = (_bytes: Buffer, header: number): void => {
      isGranted ||= header === suback;
    };
    walker.walk(bytes, bytes.length, { frame });
  });
  // 'close' follows.
  socket.on('error', () => undefined);
  socket.on('close', () => {
    if (isGranted) resolve();
    else reject(new Error(`Cannot make session ${index}: it ended without a SUBACK`));
  });
  return promise;
}

/** So many messages to each session; done when all are acknowledged. */
export async function fillSessions(port: number, count: number, each: number): Promise<void> {
  await Promise.all(
    Array.from({ length: publishers }, async (_, publisher) => {
      const client = await Client.open(port, `bench-fill-${publisher}`);
      const mine = Math.ceil((count - publisher) / publishers);
      const topicAt = (message: number): string =>
        topicOf(publisher + publishers * (message % mine));
      await publishAll(client, mine * each, topicAt);
      await client.disconnect();
    }),
  );
}

function publishAll(
  client: Client,
  count: number,
  topicAt: (message: number) => string,
): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  let sent = 0;
  let acked = 0;
  const pump = (): void => {
    while (sent < count && sent - acked <= window - batch) {
      const frames: Buffer[] = [];
      for (const end = Math.min(count, sent + batch); sent < end; sent++) {
        frames.push(publishFrame(topicAt(sent), 1, (sent % ids) + 1, 0));
      }
      client.socket.write(Buffer.concat(frames));
    }
    if (acked === count) resolve();
  };
  client.receive({
    frame: (_bytes, header) => {
      if (header === puback) acked++;
    },
    readDone: pump,
  });
  client.socket.once('close', () => reject(new Error('Cannot fill: the connection ended')));
  pump();
  return promise;
}
