// The express lane: QoS 0 publishes that nothing but subscribers waits for. Consecutive frames of one
// topic in a read buffer are gathered into a run, and the run is copied to each receiver as it came:
// no object per message, one memcpy per receiver. Whatever needs more (a hook, a property, another
// protocol version at the other end, an absent client) goes by on-publish.ts, message by message.
// Law: a run ends before anything else of its connection is handled, so order is kept.

import { PacketReader } from '#wire/packet-reader';
import type { Hooks } from '#hooks/runner';
import type { HookName } from '#hooks/table';
import type { Delivery, FrameRun } from './delivery.ts';
import type { RoutePeer } from './filter-node.ts';
import { Message, publishedHere, type Publisher } from './message.ts';
import { Metric, type Metrics } from './metrics.ts';
import type { Route, Router } from './router.ts';
import { type RouteMemory, routeOfTopic } from './topic-route.ts';
import { unpromised } from './wait.ts';

/** Where the frames of a run come from. */
export interface RunSource {
  readonly isV5: boolean;
  readonly publisher: Publisher;
}

/** What the lane needs to know of the connection that publishes. */
export interface ExpressSender extends RouteMemory, RunSource {
  /** False: this client's publishes are never express (limits, mountpoint). */
  readonly isExpress: boolean;
  /** Access control concerns it: `mayPublish` has to know a yes. */
  readonly isControlled: boolean;
  mayPublish(route: Route): boolean;
  receivedMessages: number;
}

/** PUBLISH, QoS 0, not retained, not a duplicate. */
const plainHeader = 0x30;
const noBytes: Buffer = Buffer.alloc(0);

/** Hooks that want to see single messages: while one is set the lane is closed. */
const closing: readonly HookName[] = [
  'message.publish',
  'message.deliver',
  'message.received',
  'message.routed',
  'message.queued',
  'message.sent',
  'message.dropped',
];

export class ExpressLane {
  readonly #router: Router;
  readonly #metrics: Metrics;
  readonly #hooks: Hooks;
  readonly #nowMs: () => number;
  readonly #run: FrameRun = { bytes: noBytes, start: 0, end: 0, count: 0, piece: null };
  #route: Route | null = null;
  #sender: ExpressSender | null = null;
  /** Nobody has to see single messages. */
  isOpen = true;

  constructor(parts: {
    router: Router;
    metrics: Metrics;
    hooks: Hooks;
    nowMs: () => number;
  }) {
    this.#router = parts.router;
    this.#metrics = parts.metrics;
    this.#hooks = parts.hooks;
    this.#nowMs = parts.nowMs;
  }

  /** Called when hooks change. */
  reconsider(): void {
    this.isOpen = !closing.some((hook) => this.#hooks.has(hook));
  }

  /** Takes the frame, or answers false: not for this lane. Throws for an invalid topic. */
  take(sender: ExpressSender, bytes: Buffer, start: number, body: number, end: number): boolean {
    if (bytes[start] !== plainHeader || !this.isOpen || !sender.isExpress) return false;
    return this.#takePlain(sender, bytes, start, body, end);
  }

  #takePlain(
    sender: ExpressSender,
    bytes: Buffer,
    start: number,
    body: number,
    end: number,
  ): boolean {
    const topicLength = ((bytes[body] as number) << 8) | (bytes[body + 1] as number);
    const topicStart = body + 2;
    const topicEnd = topicStart + topicLength;
    if (topicLength === 0 || topicEnd > end) return false;
    if (isOverlong(body - start, end - body)) return false;
    if (sender.isV5 && (topicEnd === end || bytes[topicEnd] !== 0)) return false;
    const route = routeOfTopic(this.#router, sender, bytes, topicStart, topicEnd);
    if (!route.isPlain) return false;
    if (sender.isControlled && !sender.mayPublish(route)) return false;
    const run = this.#run;
    if (route === this.#route && run.end === start && run.bytes === bytes) {
      run.end = end;
      run.count++;
      return true;
    }
    this.flush();
    this.#route = route;
    this.#sender = sender;
    run.bytes = bytes;
    run.start = start;
    run.end = end;
    run.count = 1;
    run.piece = null;
    return true;
  }

  /** Sends the run that has been gathered. */
  flush(): void {
    if (this.#route !== null) this.#send(this.#route);
  }

  #send(route: Route): void {
    const sender = this.#sender as ExpressSender;
    const run = this.#run;
    const { count } = run;
    const { deliveries, peers } = route;
    this.#route = null;
    sender.receivedMessages += count;
    this.#metrics.add(Metric.qos0Received, count);
    if (deliveries.length + peers.length === 0) this.#metrics.add(Metric.messagesDropped, count);
    this.deliver(run, route, sender, publishedHere);
    for (let i = 0; i < peers.length; i++) {
      (peers[i] as RoutePeer).peer.forwardRun(run, route.bytes, sender.isV5, sender.publisher);
    }
    run.bytes = noBytes;
    run.piece = null;
  }

  /** To the plain subscribers of this worker; `via`: the worker that the run came from. */
  deliver(run: FrameRun, route: Route, from: RunSource, via: number): void {
    const { deliveries } = route;
    const rawVersion = from.isV5 ? 5 : 4;
    let messages: Message[] | undefined;
    for (let i = 0; i < deliveries.length; i++) {
      const delivery = deliveries[i] as Delivery;
      const { link } = delivery.session;
      const isRaw = link !== null && link.rawVersion === rawVersion;
      // What another worker takes for plain need not be plain here.
      if (isRaw && (via === publishedHere || this.#isPlain(delivery)) && link.sendRun(run))
        continue;
      messages ??= this.#messagesOf(run, route, from, via);
      for (const message of messages) unpromised(this.#router.deliver(message, delivery));
    }
  }

  #isPlain(delivery: Delivery): boolean {
    return this.isOpen && delivery.isPlain;
  }

  /** The run as single messages, for a receiver that cannot take the bytes as they are. */
  #messagesOf(run: FrameRun, route: Route, from: RunSource, via: number): Message[] {
    const messages: Message[] = [];
    const nowMs = this.#nowMs();
    const { bytes } = run;
    for (let at = run.start; at < run.end; ) {
      const reader = new PacketReader(bytes, at + 1, run.end);
      const length = reader.varint();
      const payload = reader.at + 2 + route.bytes.length + (from.isV5 ? 1 : 0);
      const end = reader.at + length;
      const message = Message.borrowed(
        route.topic,
        plainHeader,
        undefined,
        from.publisher,
        nowMs,
        bytes,
        at,
        0,
        payload,
        end,
        from.isV5,
        true,
      );
      message.via = via;
      messages.push(message);
      at = end;
    }
    return messages;
  }
}

/** A remaining length of more bytes than it needs: legal before MQTT 5, and not to be handed on. */
export function isOverlong(headerBytes: number, bodyBytes: number): boolean {
  return headerBytes > 2 && bodyBytes < 128 ** (headerBytes - 2);
}
