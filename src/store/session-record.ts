// Heads of sessions, their subscriptions, and the options of a delivery as bytes. A format number
// stands before each, so that a later version can tell what it reads.

import type { QoS } from '#wire/packet';
import { mount, parseFilter } from '#topics/topic';
import type { DeliveryOptions, SessionHead } from '#core/store-port';
import type { Subscription } from '#core/subscription';
import { RecordReader, RecordWriter } from './record-bytes.ts';
import { numberMax } from './keys.ts';
import { StoreDamaged } from './store-damaged.ts';

const format = 1;
/** Times that have not come, and intervals that never end. */
const never = numberMax;

const record = new RecordWriter();

export function headRecord(head: SessionHead): Buffer {
  const { expirySeconds, leftAtMs } = head;
  return record
    .start()
    .u8(format)
    .text(head.clientId)
    .text(head.username)
    .text(head.provenUsername)
    .text(head.mountpoint)
    .text(head.zone)
    .u48(head.createdAtMs)
    .u48(expirySeconds === Number.POSITIVE_INFINITY ? never : expirySeconds)
    .u48(leftAtMs ?? never)
    .u48(head.sentSeq)
    .done();
}

export function readHead(bytes: Buffer): SessionHead {
  const reader = opened(bytes, 'a session');
  const clientId = reader.text();
  const username = reader.maybeText();
  const provenUsername = reader.maybeText();
  const mountpoint = reader.text();
  const zone = reader.text();
  const createdAtMs = reader.u48();
  const expiry = reader.u48();
  const left = reader.u48();
  return {
    clientId,
    username,
    provenUsername,
    mountpoint,
    zone,
    createdAtMs,
    expirySeconds: expiry === never ? Number.POSITIVE_INFINITY : expiry,
    leftAtMs: left === never ? undefined : left,
    sentSeq: reader.u48(),
  };
}

/** Whose session it is, without reading the rest. */
export function clientIdOfHead(bytes: Buffer): string {
  return opened(bytes, 'a session').text();
}

export function subscriptionRecord(subscription: Subscription): Buffer {
  const { filter, qos, noLocal, retainAsPublished, retainHandling, subscriptionId } = subscription;
  const { askedAs } = subscription;
  const flags =
    qos |
    (noLocal ? 4 : 0) |
    (retainAsPublished ? 8 : 0) |
    ((retainHandling as number) << 4) |
    (typeof askedAs === 'string' ? 64 : 0) |
    (askedAs === null ? 128 : 0);
  record
    .start()
    .u8(format)
    .u8(flags)
    .u32(subscriptionId ?? 0)
    .text(filter);
  if (typeof askedAs === 'string') record.text(askedAs);
  return record.done();
}

export function readSubscription(bytes: Buffer, mountpoint: string): Subscription {
  const reader = opened(bytes, 'a subscription');
  const flags = reader.u8();
  const subscriptionId = reader.u32();
  const filter = reader.text();
  if (flags >= 192 || (flags & 3) === 3 || ((flags >> 4) & 3) === 3) {
    throw new StoreDamaged(`Cannot read the subscription to "${filter}": its flags are ${flags}`);
  }
  const parsed = parseFilter(filter);
  return {
    filter,
    routed: mount(mountpoint, parsed.filter),
    group: parsed.group,
    qos: (flags & 3) as QoS,
    noLocal: (flags & 4) !== 0,
    retainAsPublished: (flags & 8) !== 0,
    retainHandling: ((flags >> 4) & 3) as 0 | 1 | 2,
    subscriptionId: subscriptionId === 0 ? undefined : subscriptionId,
    ...((flags & 64) !== 0 && { askedAs: reader.text() }),
    ...((flags & 128) !== 0 && { askedAs: null }),
  };
}

/** What stands before the message of a queue entry. */
export const EntryKind = { inline: 0, byReference: 1, released: 2 } as const;
export type EntryKind = (typeof EntryKind)[keyof typeof EntryKind];

/** Format and flags. */
export const plainEntryBytes = 2;

/** The commonest entry by far has two bytes before its message; `undefined`: not that one. */
export function plainEntryHead(kind: EntryKind, options: DeliveryOptions): number | undefined {
  if (options.subscriptionIds !== undefined || options.group !== undefined) return undefined;
  return entryFlags(kind, options);
}

function entryFlags(kind: EntryKind, options: DeliveryOptions): number {
  return (
    kind |
    (options.qos << 2) |
    (options.retainAsPublished ? 16 : 0) |
    (options.isReplay ? 32 : 0) |
    (options.subscriptionIds === undefined ? 0 : 64) |
    (options.group === undefined ? 0 : 128)
  );
}

export function entryHead(kind: EntryKind, options: DeliveryOptions): Buffer {
  record.start().u8(format).u8(entryFlags(kind, options));
  const { subscriptionIds, group } = options;
  if (subscriptionIds !== undefined) {
    record.u16(subscriptionIds.length);
    for (const id of subscriptionIds) record.u32(id);
  }
  if (group !== undefined) record.text(group.name).text(group.filter);
  return record.done();
}

export function readEntryHead(bytes: Buffer): {
  kind: EntryKind;
  options: DeliveryOptions;
  bodyAt: number;
} {
  const reader = opened(bytes, 'a queued message');
  const flags = reader.u8();
  if ((flags & 3) === 3 || (flags & 12) === 12) {
    throw new StoreDamaged(`Cannot read a queued message: its flags are ${flags}`);
  }
  const options: DeliveryOptions = {
    qos: ((flags >> 2) & 3) as QoS,
    retainAsPublished: (flags & 16) !== 0,
    isReplay: (flags & 32) !== 0,
    subscriptionIds:
      (flags & 64) === 0 ? undefined : Array.from({ length: reader.u16() }, () => reader.u32()),
    group: (flags & 128) === 0 ? undefined : { name: reader.text(), filter: reader.text() },
  };
  return { kind: (flags & 3) as EntryKind, options, bodyAt: reader.at };
}

/** Of an entry by reference: which body it refers to. */
export function readBodyId(bytes: Buffer, bodyAt: number): number {
  return new RecordReader(bytes, bodyAt).u48();
}

function opened(bytes: Buffer, what: string): RecordReader {
  const reader = new RecordReader(bytes);
  const found = reader.u8();
  if (found !== format) {
    throw new StoreDamaged(`Cannot read ${what}: its format is ${found}, wanted is ${format}`);
  }
  return reader;
}
