// Reads what link-batch.ts writes, in place. Messages are borrowed from the memory of the batch, as
// those of a client are from the read buffer.

import { readProperties } from '#wire/properties';
import { type PublishParts, publishParts, scanPublish } from '#wire/publish-scan';
import type { Properties } from '#wire/packet';
import { invariant } from '#base/assert';
import type { FrameRun } from '#core/delivery';
import { Message, type Publisher } from '#core/message';
import type { MemberName } from '#core/peers-port';
import type { Route, Router } from '#core/router';
import { routeOfTopic, type RouteMemory } from '#core/topic-route';
import {
  Flag,
  Kind,
  messageHeadBytes,
  originBytes,
  runHeadBytes,
  wordHeadBytes,
} from './link-batch.ts';
import { PublisherNames } from './publisher-names.ts';

/** What a batch is read to. */
export interface LinkSink {
  onRun(run: FrameRun, route: Route, isV5: boolean, from: Publisher): void;
  onMessage(message: Message, route: Route, flags: number, member: MemberName | undefined): void;
  onWord(word: unknown): void;
}

const parts: PublishParts = publishParts();
const noBytes: Buffer = Buffer.alloc(0);

export class LinkReader implements RouteMemory {
  lastRoute: Route | null = null;
  readonly #router: Router;
  /** The index of the worker at the other end. */
  readonly #via: number;
  readonly #names = new PublisherNames();
  readonly #run: FrameRun = { bytes: noBytes, start: 0, end: 0, count: 0, piece: null };
  #at = 0;
  /** Of the last message. */
  #from: Publisher | undefined;
  #timestampMs = 0;

  constructor(router: Router, via: number) {
    this.#router = router;
    this.#via = via;
  }

  read(bytes: Buffer, length: number, sink: LinkSink): void {
    for (this.#at = 0; this.#at < length; ) {
      const kind = bytes[this.#at];
      if (kind === Kind.run) this.#readRun(bytes, sink);
      else if (kind === Kind.message) this.#readMessage(bytes, sink);
      else this.#readWord(bytes, sink);
    }
  }

  #readRun(bytes: Buffer, sink: LinkSink): void {
    const at = this.#at;
    const topicStart = at + runHeadBytes;
    const namesStart = topicStart + bytes.readUInt16BE(at + 2);
    const start = namesStart + bytes.readUInt32BE(at + 4);
    const run = this.#run;
    run.bytes = bytes;
    run.start = start;
    run.end = start + bytes.readUInt32BE(at + 12);
    run.count = bytes.readUInt32BE(at + 8);
    run.piece = null;
    this.#at = run.end;
    const route = routeOfTopic(this.#router, this, bytes, topicStart, namesStart);
    const from = this.#names.read(bytes, namesStart, start);
    sink.onRun(run, route, bytes[at + 1] === Flag.isV5, from);
    run.bytes = noBytes;
    run.piece = null;
  }

  #readMessage(bytes: Buffer, sink: LinkSink): void {
    const flags = bytes[this.#at + 1] as number;
    this.#at += messageHeadBytes;
    if ((flags & Flag.isAsBefore) === 0) this.#readOrigin(bytes);
    const id = (flags & Flag.hasId) === 0 ? undefined : this.#text(bytes);
    const passageAt = this.#at;
    if ((flags & Flag.hasPassage) !== 0) this.#at += 8;
    const member = (flags & Flag.isDirected) === 0 ? undefined : this.#member(bytes);
    const start = this.#at;
    const body = this.#frameBody(bytes, start);
    const end = this.#at;
    const isV5 = (flags & Flag.isV5) !== 0;
    const header = bytes[start] as number;
    scanPublish(parts, header, bytes, body, end, isV5);
    const { topicStart, topicEnd, packetId, payloadStart } = parts;
    const properties = propertiesOf(bytes);
    const route = routeOfTopic(this.#router, this, bytes, topicStart, topicEnd);
    const message = Message.borrowed(
      route.topic,
      header,
      properties,
      this.#from as Publisher,
      this.#timestampMs,
      bytes,
      start,
      packetId === 0 ? 0 : topicEnd,
      payloadStart,
      end,
      isV5,
      true,
    );
    message.via = this.#via;
    if (id !== undefined) message.name(id);
    if ((flags & Flag.hasPassage) !== 0) {
      const sessionNo = bytes.readUIntBE(passageAt, 6);
      message.passage = { sessionNo, packetId: bytes.readUInt16BE(passageAt + 6) };
      message.mayBeHad = (flags & Flag.mayBeHad) !== 0;
    }
    sink.onMessage(message, route, flags, member);
  }

  #readOrigin(bytes: Buffer): void {
    const at = this.#at;
    const names = at + originBytes;
    this.#timestampMs = bytes.readUIntBE(at, 6);
    this.#at = names + bytes.readUInt32BE(at + 6);
    this.#from = this.#names.read(bytes, names, this.#at);
  }

  /** Answers where the body of an MQTT frame begins; `#at` is behind its end then. */
  #frameBody(bytes: Buffer, start: number): number {
    let at = start + 1;
    let length = 0;
    for (let shift = 0; ; shift += 7) {
      const digit = bytes[at++] as number;
      length |= (digit & 0x7f) << shift;
      if (digit < 0x80) break;
    }
    this.#at = at + length;
    return at;
  }

  #readWord(bytes: Buffer, sink: LinkSink): void {
    const at = this.#at;
    invariant(bytes[at] === Kind.word, 'a batch between workers holds runs, messages and words');
    const start = at + wordHeadBytes;
    const end = start + bytes.readUInt32BE(at + 1);
    this.#at = end;
    sink.onWord(JSON.parse(bytes.toString('utf8', start, end)));
  }

  #member(bytes: Buffer): MemberName {
    const group = this.#text(bytes);
    const filter = this.#text(bytes);
    return { group, filter, clientId: this.#text(bytes) };
  }

  #text(bytes: Buffer): string {
    const start = this.#at + 2;
    this.#at = start + bytes.readUInt16BE(this.#at);
    return bytes.toString('utf8', start, this.#at);
  }
}

function propertiesOf(bytes: Buffer): Properties | undefined {
  const { propertiesStart, propertiesEnd } = parts;
  if (propertiesStart === propertiesEnd) return undefined;
  return readProperties(bytes, propertiesStart, propertiesEnd, 'publish');
}
