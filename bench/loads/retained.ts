// A million retained messages: what they take in memory, what finding one, a hundred or all of them
// costs a broker, and whether other clients notice. A subscription is complete when its last
// retained message has arrived; each one is to other topics than the one before.

import { setTimeout as delay } from 'node:timers/promises';
import { Client, type Receiver } from '../client.ts';
import { cpuMicros, steadyBytes } from '../cpu.ts';
import { pingFrame, pingresp, publish, subscribeFrame } from '../frames.ts';
import { Latency } from '../latency.ts';
import type { Load, Outcome, Target } from '../load.ts';
import { watchMachine } from '../measure.ts';
import { median } from '../median.ts';
import { branchAt, devicesPerSite, fill, topicAt, topicCount } from '../retained-topics.ts';

/** Judged by their time: the first ones, as nobody subscribes a thousand times to warm a broker up. */
const timedSubscribes = 20;
/** Judged by processor time, which comes in steps of 10 ms: enough of them for a hundred steps. */
const exactSubscribes = 5000;
const branchSubscribes = 1000;

const fillMsMax = 45_000;
const phaseMsMax = 15_000;
const allMsMax = 30_000;

export const load: Load = {
  title: '1 000 000 retained messages',
  figures: [
    'exactMs',
    'exactCpuMicros',
    'branchMs',
    'branchCpuMicros',
    'allMs',
    'pingP99Ms',
    'bytesPerRetained',
  ],
  bars: {
    exactMs: { kind: 'atMost', bar: 1 },
    exactCpuMicros: { kind: 'atMost', bar: 1000 },
    branchMs: { kind: 'atMost', bar: 5 },
    branchCpuMicros: { kind: 'atMost', bar: 5000 },
  },
  roundsMax: 1,
  mosquittoNodelay: true,
  run,
};

async function run({ port, pid }: Target): Promise<Outcome> {
  const doubts = watchMachine(pid);
  const publisher = await Client.open(port, 'bench-retained-pub');
  const emptyBytes = await steadyBytes(pid);
  const fillStart = performance.now();
  await fill(publisher, fillMsMax);
  const fillSeconds = (performance.now() - fillStart) / 1000;
  const fullBytes = await steadyBytes(pid);
  const exact = await subscribeMany(port, pid, exactSubscribes, 1, topicAt);
  const branch = await subscribeMany(port, pid, branchSubscribes, devicesPerSite, branchAt);
  const all = await subscribeToAll(port, publisher);
  await publisher.disconnect();
  return {
    figures: {
      exactMs: exact.ms,
      exactCpuMicros: exact.cpuMicros,
      branchMs: branch.ms,
      branchCpuMicros: branch.cpuMicros,
      allMs: all.missing === 0 ? all.ms : Number.NaN,
      pingP99Ms: all.pings.quantile(0.99),
      bytesPerRetained: (fullBytes - emptyBytes) / topicCount,
    },
    lost: exact.missing + branch.missing + (all.isSlow ? 0 : all.missing),
    extra: exact.extra + branch.extra + all.extra,
    notes: [
      `filled in ${fillSeconds.toFixed(1)} s`,
      `longest ping during \`#\`: ${all.pings.quantile(1).toFixed(1)} ms`,
      ...exact.notes,
      ...branch.notes,
      ...(all.isSlow ? [`\`#\`: ${all.missing} still to come after ${allMsMax} ms`] : []),
      ...doubts(),
    ],
  };
}

/** Counts retained messages up to those awaited. */
class Inbox implements Receiver {
  received = 0;
  #awaited = Number.POSITIVE_INFINITY;
  #arrived: PromiseWithResolvers<number> = Promise.withResolvers();

  frame(_bytes: Buffer, header: number): void {
    if ((header & 0xf0) !== publish) return;
    this.received++;
    if (this.received === this.#awaited) this.#arrived.resolve(performance.now());
  }

  /** When the last of so many more arrived. */
  next(count: number): Promise<number> {
    this.#awaited = this.received + count;
    this.#arrived = Promise.withResolvers();
    return this.#arrived.promise;
  }
}

interface Subscribed {
  /** Median of the first, from the write of SUBSCRIBE to the last of its messages. */
  readonly ms: number;
  /** Of the broker, for each. */
  readonly cpuMicros: number;
  readonly missing: number;
  readonly extra: number;
  readonly notes: readonly string[];
}

async function subscribeMany(
  port: number,
  pid: number,
  subscribes: number,
  hits: number,
  filterAt: (place: number) => string,
): Promise<Subscribed> {
  const client = await Client.open(port, `bench-retained-sub-${hits}`);
  const inbox = new Inbox();
  client.receive(inbox);
  const times: number[] = [];
  const deadline = delay(phaseMsMax, undefined, { ref: false });
  const cpuStart = cpuMicros(pid);
  let done = 0;
  for (; done < subscribes; done++) {
    const arrived = inbox.next(hits);
    const begin = performance.now();
    client.socket.write(subscribeFrame(filterAt(done), 0));
    const end = await Promise.race([arrived, deadline]);
    if (end === undefined) break;
    times.push(end - begin);
  }
  const cpu = (cpuMicros(pid) - cpuStart) / done;
  await delay(100);
  // When time ran out, one more was asked for and may have been answered since.
  const isShort = done < subscribes;
  const surplus = inbox.received - (isShort ? done + 1 : done) * hits;
  await client.disconnect();
  return {
    ms: median(times.slice(0, timedSubscribes)),
    cpuMicros: cpu,
    missing: Math.max(0, -surplus),
    extra: Math.max(0, surplus),
    notes: isShort ? [`only ${done} subscriptions with ${hits} hits in ${phaseMsMax} ms`] : [],
  };
}

interface AllOfThem {
  readonly ms: number;
  readonly missing: number;
  readonly extra: number;
  /** Messages were still coming when time was up. */
  readonly isSlow: boolean;
  readonly pings: Latency;
}

async function subscribeToAll(port: number, other: Client): Promise<AllOfThem> {
  const client = await Client.open(port, 'bench-retained-all');
  const inbox = new Inbox();
  client.receive(inbox);
  const pings = new Pings(other);
  const arrived = inbox.next(topicCount);
  const begin = performance.now();
  client.socket.write(subscribeFrame('#', 0));
  const end = await Promise.race([arrived, delay(allMsMax, undefined, { ref: false })]);
  const before = inbox.received;
  await delay(500);
  await pings.stop();
  const missing = Math.max(0, topicCount - inbox.received);
  const isSlow = missing > 0 && inbox.received > before;
  client.socket.destroy();
  return {
    ms: (end ?? Number.NaN) - begin,
    missing,
    extra: Math.max(0, inbox.received - topicCount),
    isSlow,
    pings: pings.latency,
  };
}

/** A ping every millisecond, answered or not: a broker that stands still is asked all the same. */
class Pings implements Receiver {
  readonly latency = new Latency();
  readonly #client: Client;
  readonly #sentAt: number[] = [];
  readonly #timer: NodeJS.Timeout;
  #answered = 0;

  constructor(client: Client) {
    this.#client = client;
    client.receive(this);
    this.#timer = setInterval(() => {
      this.#sentAt.push(performance.now());
      client.socket.write(pingFrame);
    }, 1);
  }

  frame(_bytes: Buffer, header: number): void {
    if (header !== pingresp) return;
    this.latency.record(performance.now() - (this.#sentAt[this.#answered++] ?? Number.NaN));
  }

  /** What is not answered a second later counts with the time it has waited. */
  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await delay(1000);
    this.#client.receive({ frame: () => undefined });
    const now = performance.now();
    for (const sentAt of this.#sentAt.slice(this.#answered)) this.latency.record(now - sentAt);
  }
}
