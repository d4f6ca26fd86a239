// A client that floods a topic at a fixed rate, in a thread of its own: what it does must be heard at
// the broker and not in the loop of the generator that measures others. Runs when it is loaded as a
// worker, until it is told to stop.

import { parentPort, workerData } from 'node:worker_threads';
import { Client } from './client.ts';
import { bulkFrame, puback, type Qos } from './frames.ts';
import { Pacer } from './pacer.ts';

export interface FloodOrder {
  readonly port: number;
  readonly topic: string;
  readonly qos: Qos;
  readonly rate: number;
  readonly payloadBytes: number;
}

/** Asked for by any message; `stop` ends the flood besides. */
export interface FloodReport {
  readonly sent: number;
  readonly isOpen: boolean;
}

/** Packet ids go round in a ring; so many may wait for their PUBACK. */
const idCount = 10_000;
/** Of what the kernel does not take; beyond it the broker holds the flood back. */
const unsentBytesMax = 10_000_000;

if (parentPort !== null) await flood(workerData as FloodOrder, parentPort);

async function flood(
  { port, topic, qos, rate, payloadBytes }: FloodOrder,
  parent: NonNullable<typeof parentPort>,
): Promise<void> {
  const client = await Client.open(port, `bench-flood-${qos}`);
  const { socket } = client;
  const frames = Array.from({ length: qos === 0 ? 1 : idCount }, (_, i) =>
    bulkFrame(topic, qos, i + 1, payloadBytes),
  );
  let sent = 0;
  let acknowledged = 0;
  client.receive({
    frame: (_bytes, header) => {
      if (header === puback) acknowledged++;
    },
  });
  const pacer = new Pacer(rate, (count) => {
    socket.cork();
    for (let i = 0; i < count; i++) {
      const isHeldBack = qos > 0 && sent - acknowledged >= idCount - 1;
      if (isHeldBack || socket.writableLength > unsentBytesMax) break;
      socket.write(frames[sent % frames.length] as Buffer);
      sent++;
    }
    socket.uncork();
  });
  parent.on('message', (word) => {
    parent.postMessage({ sent, isOpen: client.isOpen } satisfies FloodReport);
    if (word !== 'stop') return;
    pacer.stop();
    socket.destroy();
    parent.close();
  });
  parent.postMessage({ sent, isOpen: true } satisfies FloodReport);
}
