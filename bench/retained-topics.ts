// A field of retained topics, `site/<0-9999>/dev/<0-99>`, and how a broker is filled with it: each
// topic once, in an order that looks like chance but is the same in every run, because brokers and
// their sorted or hashed stores must not profit from topics that come in order.

import type { Client } from './client.ts';
import { pingFrame, pingresp, retainedFrame } from './frames.ts';

const sites = 10_000;
export const devicesPerSite = 100;
export const topicCount: number = sites * devicesPerSite;
/** 16 bytes: a measured value with its time. */
const payload = '21.5;1731628800;';

const batch = 500;
/** Batches under way at most: a broker always has one to work on and never many to hold. */
const batchesAhead = 4;
/** Prime to the number of topics, so that its multiples meet every topic once. */
const stride = 611_953;

/** The topic that comes at a place of the order. */
export function topicAt(place: number): string {
  const index = (place * stride) % topicCount;
  return `site/${Math.floor(index / devicesPerSite)}/dev/${index % devicesPerSite}`;
}

/** The filter of one site's devices; sites, too, are spread over the field. */
export function branchAt(place: number): string {
  return `site/${(77 + place * 7919) % sites}/dev/+`;
}

/** Publishes every topic, QoS 0; done when the broker has answered the ping behind the last. */
export async function fill(client: Client, msMax: number): Promise<void> {
  const batches = topicCount / batch;
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const deadline = setTimeout(
    () => reject(new Error(`Cannot fill the broker: ${answered * batch} messages in ${msMax} ms`)),
    msMax,
  );
  client.socket.once('close', () =>
    reject(new Error('Cannot fill the broker: it closed the connection')),
  );
  let sent = 0;
  let answered = 0;
  const sendNext = (): void => {
    if (sent < batches) client.socket.write(batchAt(sent++));
  };
  client.receive({
    frame: (_bytes, header) => {
      if (header !== pingresp) return;
      answered++;
      if (answered === batches) resolve();
      else sendNext();
    },
  });
  for (let ahead = 0; ahead < batchesAhead; ahead++) sendNext();
  await promise.finally(() => clearTimeout(deadline));
}

/** The ping at its end is answered when everything before it has been taken. */
function batchAt(number: number): Buffer {
  const frames = Array.from({ length: batch }, (_, place) =>
    retainedFrame(topicAt(number * batch + place), payload),
  );
  return Buffer.concat([...frames, pingFrame]);
}
