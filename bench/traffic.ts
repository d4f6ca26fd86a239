// Message traffic of every shape: who publishes, who listens, how the sending is paced. Either way
// each delivery is counted, and what is missing when everything has come to rest is a loss.

import { setTimeout as delay } from 'node:timers/promises';
import { Client, openAll } from './client.ts';
import { Arrivals, Flow, type FlowShape } from './flow.ts';
import { payloadBytes, publishFrame, type Qos, sampledAt, sentAt } from './frames.ts';
import { Latency } from './latency.ts';
import type { Outcome, Target } from './load.ts';
import { measure, type Plan, type Span } from './measure.ts';
import { Publisher, Subscriber } from './receivers.ts';

export interface Shape {
  readonly publishers: number;
  readonly subscribers: number;
  /** Pairs: subscriber n hears publisher n. Otherwise every subscriber hears every publisher. */
  readonly pairs: boolean;
  /** What the subscribers subscribe to instead of the topic that they hear. */
  readonly filter?: string;
}

/** Ten independent streams: the load that features are measured by, too. */
export function tenPairs(qos: FlowShape['qos']): Shape & FlowShape {
  return { publishers: 10, subscribers: 10, pairs: true, qos, batch: 50, slots: 10 };
}

/** Connects a publisher or a subscriber. */
export type Opener = (role: 'pub' | 'sub', index: number) => Promise<Client>;

/** Publishers send the next batch when the last has arrived. */
export async function runClosedLoop(
  shape: Shape & FlowShape,
  target: Target,
  open: Opener = openerOf(target),
): Promise<Outcome> {
  const stage = await openStage(shape, shape.qos, open);
  const flows = stage.publishers.map((publisher, index) => {
    const hearers = stage.subscribers.filter((_, number) => hears(shape, number, index));
    const flow = new Flow(publisher.socket, index, topicOf(index), hearers.length, shape);
    for (const subscriber of hearers) subscriber.arrivals[index] = new Arrivals(flow);
    publisher.receive(new Publisher(new Arrivals(flow)));
    return flow;
  });
  for (const flow of flows) flow.start();
  const sent = (): number[] => flows.map((flow) => flow.sent);
  const span = await measure(planOf(stage, sent, target, 1));
  for (const flow of flows) flow.stop();
  await settled(stage.received);
  return finish(stage, shape, sent(), span, span.notes);
}

/** All publishers together send `rate` messages a second, in turn, whatever the broker does. */
export async function runOpenLoop(shape: Shape, rate: number, target: Target): Promise<Outcome> {
  const stage = await openStage(shape, 0, openerOf(target));
  const pacer = new Pacer(stage.publishers, rate);
  const span = await measure(planOf(stage, () => pacer.sent, target, 2));
  pacer.stop();
  await settled(stage.received);
  const late = span.perSecond < rate * 0.99 ? ['the rate was not kept'] : [];
  return finish(stage, shape, pacer.sent, span, [...span.notes, ...late]);
}

interface Stage {
  readonly publishers: readonly Client[];
  readonly listeners: readonly Client[];
  readonly subscribers: readonly Subscriber[];
  readonly latency: Latency;
  readonly received: () => number;
}

function openerOf({ port }: Target): Opener {
  return (role, index) => Client.open(port, `bench-${role}-${index}`);
}

async function openStage(shape: Shape, qos: Qos, open: Opener): Promise<Stage> {
  const latency = new Latency();
  const listeners = await openAll(shape.subscribers, async (index) => {
    const client = await open('sub', index);
    await client.subscribe(shape.filter ?? topicOf(shape.pairs ? index : 0), qos);
    return client;
  });
  const publishers = await openAll(shape.publishers, (index) => open('pub', index));
  const subscribers = listeners.map((client) => new Subscriber(client.socket, latency));
  for (const [index, subscriber] of subscribers.entries()) listeners[index]?.receive(subscriber);
  const received = (): number => sum(subscribers.map((subscriber) => subscriber.received));
  return { publishers, listeners, subscribers, latency, received };
}

/** Sends what has become due, a message from each publisher in turn. Every message is sampled. */
class Pacer {
  readonly sent: number[];
  readonly #start: number = performance.now();
  readonly #rate: number;
  readonly #publishers: readonly Client[];
  readonly #frames: readonly Buffer[];
  readonly #timer: NodeJS.Timeout;
  #total = 0;

  constructor(publishers: readonly Client[], rate: number) {
    this.#rate = rate;
    this.#publishers = publishers;
    this.sent = publishers.map(() => 0);
    this.#frames = publishers.map((_, index) => publishFrame(topicOf(index), 0, 0, index));
    for (const frame of this.#frames) frame[frame.length - payloadBytes + sampledAt] = 1;
    this.#timer = setInterval(() => this.#sendDue(), 1);
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  #sendDue(): void {
    const due = Math.floor(((performance.now() - this.#start) / 1000) * this.#rate);
    for (; this.#total < due; this.#total++) {
      const index = this.#total % this.#publishers.length;
      const frame = this.#frames[index]!; // one frame per publisher
      frame.writeDoubleLE(performance.now(), frame.length - payloadBytes + sentAt);
      this.#publishers[index]?.socket.write(frame);
      this.sent[index]! += 1; // one count per publisher
    }
  }
}

function planOf(
  stage: Stage,
  sent: () => readonly number[],
  target: Target,
  warmUpSeconds: number,
): Plan {
  return {
    pid: target.pid,
    seconds: target.seconds,
    warmUpSeconds,
    count: stage.received,
    work: () => sum(sent()) + stage.received(),
    onStart: () => stage.latency.clear(),
  };
}

async function finish(
  stage: Stage,
  shape: Shape,
  sent: readonly number[],
  span: Span,
  notes: readonly string[],
): Promise<Outcome> {
  const all = [...stage.publishers, ...stage.listeners];
  const closed = all.filter((client) => !client.isOpen).length;
  const surplus = stage.subscribers.map(
    (subscriber, number) =>
      subscriber.received - sum(sent.filter((_, index) => hears(shape, number, index))),
  );
  await Promise.all(all.map((client) => client.disconnect()));
  return {
    figures: {
      messagesPerSecond: span.perSecond,
      cpuMicros: span.cpuMicros,
      p50Ms: stage.latency.quantile(0.5),
      p99Ms: stage.latency.quantile(0.99),
    },
    lost: sum(surplus.map((count) => Math.max(0, -count))),
    extra: sum(surplus.map((count) => Math.max(0, count))),
    notes: closed > 0 ? [...notes, `the broker closed ${closed} connections`] : notes,
    busy: span.busy,
  };
}

/** Nothing has arrived for half a second. */
async function settled(received: () => number): Promise<void> {
  for (let before = -1; before !== received(); ) {
    before = received();
    await delay(500);
  }
}

function hears(shape: Shape, subscriber: number, publisher: number): boolean {
  return !shape.pairs || subscriber === publisher;
}

function topicOf(publisher: number): string {
  return `bench/hall/${String(publisher).padStart(5, '0')}/temp`;
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
