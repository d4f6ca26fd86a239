import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import type { DeliveryOptions, SessionHead } from '#core/store-port';
import type { Subscription } from '#core/subscription';
import type { QoS } from '#wire/packet';
import { mount, parseFilter } from '#topics/topic';
import {
  EntryKind,
  entryHead,
  headRecord,
  plainEntryBytes,
  plainEntryHead,
  readBodyId,
  readEntryHead,
  readHead,
  readSubscription,
  subscriptionRecord,
} from './session-record.ts';
import { StoreDamaged } from './store-damaged.ts';

const given = process.env['FUZZ_SEED'];
const seed: number = given === undefined ? (Math.random() * 0x7fff_ffff) | 0 : Number(given);

const texts = fc.oneof(fc.string({ unit: 'grapheme', maxLength: 12 }), fc.constantFrom('', 'ä/€'));
const maybe = <T>(some: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> =>
  fc.option(some, { nil: undefined });
const times = fc.oneof(fc.constantFrom(0, 1_700_000_000_000), fc.nat());
const plain = { noNullPrototype: true };
const levels = fc.constantFrom<QoS>(0, 1, 2);

const heads: fc.Arbitrary<SessionHead> = fc.record(
  {
    clientId: texts,
    username: maybe(texts),
    provenUsername: maybe(texts),
    mountpoint: texts,
    zone: texts,
    createdAtMs: times,
    expirySeconds: fc.oneof(fc.constantFrom(0, 2 ** 32 - 2, Number.POSITIVE_INFINITY), fc.nat()),
    leftAtMs: maybe(times),
    sentSeq: fc.oneof(fc.constantFrom(0, 2 ** 48 - 1), fc.nat()),
  },
  plain,
);

const filters = fc.constantFrom('a', 'a/+/b', '#', 'ä/#', '$share/g/a/#', '$queue/a');
const subscriptions = fc
  .record(
    {
      filter: filters,
      mountpoint: fc.constantFrom('', 'up/'),
      qos: levels,
      noLocal: fc.boolean(),
      retainAsPublished: fc.boolean(),
      retainHandling: fc.constantFrom<0 | 1 | 2>(0, 1, 2),
      subscriptionId: maybe(fc.integer({ min: 1, max: 268_435_455 })),
      askedAs: fc.option(maybe(filters), { nil: null }),
    },
    plain,
  )
  .map(({ mountpoint, askedAs, ...rest }) => {
    const parsed = parseFilter(rest.filter);
    const routed = mount(mountpoint, parsed.filter);
    const asked = askedAs === undefined ? {} : { askedAs };
    const subscription: Subscription = { ...rest, routed, group: parsed.group, ...asked };
    return { mountpoint, subscription };
  });

const options: fc.Arbitrary<DeliveryOptions> = fc.record(
  {
    qos: levels,
    retainAsPublished: fc.boolean(),
    isReplay: fc.boolean(),
    subscriptionIds: maybe(
      fc.array(fc.integer({ min: 1, max: 268_435_455 }), { minLength: 1, maxLength: 5 }),
    ),
    group: maybe(fc.record({ name: texts, filter: texts }, plain)),
  },
  plain,
);
const kinds = fc.constantFrom(...Object.values(EntryKind));

/** Every beginning of a record that is not all of it is damaged. */
function assertCutIsDamage(bytes: Buffer, read: (bytes: Buffer) => unknown): void {
  for (let end = 0; end < bytes.length; end++) {
    assert.throws(() => read(bytes.subarray(0, end)), StoreDamaged, `${end} of ${bytes.length}`);
  }
}

test('heads of sessions are read as they were written', (t) => {
  t.diagnostic(`FUZZ_SEED=${seed}`);
  const law = fc.property(heads, (head) => {
    const bytes = headRecord(head);
    assert.deepEqual(readHead(bytes), head);
    assertCutIsDamage(bytes, readHead);
  });
  fc.assert(law, { seed });
});

test('subscriptions are read as they were written, under the mountpoint of their session', (t) => {
  t.diagnostic(`FUZZ_SEED=${seed}`);
  const law = fc.property(subscriptions, ({ mountpoint, subscription }) => {
    const bytes = subscriptionRecord(subscription);
    assert.deepEqual(readSubscription(bytes, mountpoint), subscription);
    assertCutIsDamage(bytes, (cut) => readSubscription(cut, mountpoint));
  });
  fc.assert(law, { seed });
});

test('what a delivery asks for is read as it was written, the plain ones in two bytes', (t) => {
  t.diagnostic(`FUZZ_SEED=${seed}`);
  const law = fc.property(kinds, options, (kind, wanted) => {
    const head = entryHead(kind, wanted);
    const bytes = Buffer.concat([head, Buffer.from('the message')]);
    assert.deepEqual(readEntryHead(bytes), { kind, options: wanted, bodyAt: head.length });
    assertCutIsDamage(head, readEntryHead);
    const plain = plainEntryHead(kind, wanted);
    const isPlain = wanted.subscriptionIds === undefined && wanted.group === undefined;
    assert.equal(plain !== undefined, isPlain);
    if (plain !== undefined) {
      assert.equal(head.length, plainEntryBytes);
      assert.equal(head.readUInt16BE(0), 0x0100 | plain);
    }
  });
  fc.assert(law, { seed });
});

test('records of a format that is not ours are damaged', () => {
  const reads = [readHead, readEntryHead, (bytes: Buffer) => readSubscription(bytes, '')];
  for (const read of reads) {
    for (const format of [0, 2, 255]) {
      const bytes = Buffer.alloc(100);
      bytes[0] = format;
      assert.throws(() => read(bytes), StoreDamaged);
    }
  }
});

test('a subscription of no QoS or no retain handling that we know is damaged', () => {
  const record = (flags: number, filter: string): Buffer => {
    const length = Buffer.alloc(4);
    length.writeUInt32BE(filter.length);
    return Buffer.concat([Buffer.of(1, flags, 0, 0, 0, 0), length, Buffer.from(filter)]);
  };
  assert.equal(readSubscription(record(0x2e, 'a/#'), '').retainHandling, 2);
  assert.equal(readSubscription(record(0x80, 'a/#'), '').askedAs, null);
  for (const flags of [0x03, 0x30, 0x40, 0xc0, 0xb0]) {
    assert.throws(() => readSubscription(record(flags, 'a/#'), ''), StoreDamaged, `${flags}`);
  }
});

test('an entry of no kind or no QoS that we know is damaged, and so is a reference cut short', () => {
  assert.throws(() => readEntryHead(Buffer.of(1, 0b0000_0111)), StoreDamaged);
  assert.throws(() => readEntryHead(Buffer.of(1, 0b0000_1101)), StoreDamaged);
  assert.throws(() => readBodyId(Buffer.of(1, 5, 0, 0, 0), 2), StoreDamaged);
  assert.equal(readBodyId(Buffer.of(1, 5, 0, 0, 0, 0, 1, 2), 2), 258);
});
