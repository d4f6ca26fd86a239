// Retained messages, as the plugin of that name switches them on and off, lists and removes them. The store
// is one for all workers: ask one of them. Law: a call looks at a slice of the topics and says where to
// go on, so that a million of them hold up nobody.

import type { QoS } from '#wire/packet';
import type { Broker } from '#core/broker';
import type { Message } from '#core/message';
import type { RetainedVisit } from '#core/retained';
import { unpromised } from '#core/wait';

/** What is told of a retained message without its payload. */
export interface RetainedFacts {
  readonly topic: string;
  readonly qos: QoS;
  readonly payloadBytes: number;
  /** Who published it. */
  readonly clientId: string;
  readonly timestampMs: number;
  /** Infinity: never. */
  readonly expiresAtMs: number;
}

export interface RetainedFound extends RetainedFacts {
  readonly payload: Uint8Array;
}

export interface RetainedWanted {
  /** Undefined: all topics of clients. */
  readonly filter: string | undefined;
  /** Where the last slice ended; `''`: at the beginning. */
  readonly from: string;
  /** So many are only counted before rows are given. */
  readonly skip: number;
  readonly rowsMax: number;
}

export interface RetainedSlice {
  /** Of this slice, with those that are in no row. */
  readonly matched: number;
  readonly rows: readonly RetainedFacts[];
  /** Undefined: that was all. */
  readonly next: string | undefined;
}

export type RetainerVerbs = {
  /** False: nothing is retained or handed out from now on. What there is stays. */
  retain: (isOn: boolean) => void;
  /** What has been retained so far, by whichever worker, is seen by all. */
  retainedSettled: () => Promise<void>;
  /** In the order of the topics as bytes. */
  retainedSlice: (wanted: RetainedWanted) => Promise<RetainedSlice>;
  retainedAt: (topic: string) => Promise<RetainedFound | undefined>;
  /** Resolves when it is on disk. */
  removeRetained: (filter: string | undefined, from: string) => Promise<RetainedSlice>;
};

/** Names of a slice: about a millisecond. */
const sliceNames = 1000;

export function retainerVerbs({ broker }: { readonly broker: Broker }): RetainerVerbs {
  const { retained, peers } = broker.core;
  const slice = async (
    filter: string | undefined,
    from: string,
    visit: RetainedVisit,
  ): Promise<string | undefined> => {
    if (from === '') await peers.retainedFlushed();
    return filter === undefined
      ? retained.sliceAll(from, sliceNames, visit)
      : retained.slice(filter, from, sliceNames, visit);
  };
  return {
    retain(isOn) {
      retained.isOn = isOn;
    },
    async retainedSettled() {
      await peers.retainedFlushed();
    },
    async retainedSlice({ filter, from, skip, rowsMax }) {
      const rows: RetainedFacts[] = [];
      let matched = 0;
      const next = await slice(filter, from, (message, expiresAtMs) => {
        if (matched++ >= skip && rows.length < rowsMax) rows.push(factsOf(message, expiresAtMs));
        return true;
      });
      return { matched, rows, next };
    },
    async retainedAt(topic) {
      let found: RetainedFound | undefined;
      await slice(topic, '', (message, expiresAtMs) => {
        // A copy of its own: what goes to another thread goes with the whole block that it lies in.
        found = { ...factsOf(message, expiresAtMs), payload: new Uint8Array(message.payload) };
        return false;
      });
      return found;
    },
    async removeRetained(filter, from) {
      const topics: string[] = [];
      const next = await slice(filter, from, ({ topic }) => topics.push(topic) > 0);
      const [first, ...others] = topics;
      for (const topic of others) unpromised(retained.delete(topic, false));
      // All of them reach the disk with one flush: that of the last that the store is told of.
      if (first !== undefined) await retained.delete(first);
      return { matched: topics.length, rows: [], next };
    },
  };
}

function factsOf(message: Message, expiresAtMs: number): RetainedFacts {
  const { topic, qos, payloadBytes, clientId, timestampMs } = message;
  return { topic, qos, payloadBytes, clientId, timestampMs, expiresAtMs };
}
