import assert from 'node:assert/strict';
import test from 'node:test';
import type { RecordStore } from '#sdk';
import { type DelayedMessage, DelayedMessages, type DelayedParts } from './delayed-messages.ts';

/** Records that a failing flush takes back, as the store does. */
class Disk {
  readonly #kinds = new Map<string, Map<string, string>>();
  #undo: (() => void)[] = [];
  isBroken = false;

  readonly records = (kind: string): RecordStore => {
    const table = this.#kinds.get(kind) ?? new Map<string, string>();
    this.#kinds.set(kind, table);
    const change = (key: string, value: string | undefined): void => {
      const former = table.get(key);
      this.#undo.unshift(() => set(table, key, former));
      set(table, key, value);
    };
    return {
      get: (key) => parse(table.get(key)),
      put: (key, value) => change(key, JSON.stringify(value)),
      delete: (key) => change(key, undefined),
      entries: () =>
        [...table]
          .sort(([a], [b]) => (a < b ? -1 : 1))
          .map(([key, text]) => [key, parse(text)] as const),
    };
  };

  readonly flushed = async (): Promise<void> => {
    const undo = this.#undo;
    this.#undo = [];
    if (!this.isBroken) return;
    for (const one of undo) one();
    throw new Error('disk full');
  };

  open(messagesMax = 0): DelayedMessages {
    const parts: DelayedParts = { records: this.records, flushed: this.flushed, messagesMax };
    return new DelayedMessages(parts);
  }
}

function set(table: Map<string, string>, key: string, value: string | undefined): void {
  if (value === undefined) table.delete(key);
  else table.set(key, value);
}

function parse(text: string | undefined): unknown {
  return text === undefined ? undefined : JSON.parse(text);
}

function message(topic: string, dueAtMs: number): DelayedMessage {
  return {
    ...{ topic, dueAtMs, qos: 1, retain: false, clientId: 'c', username: undefined },
    hops: 0,
    payload: Buffer.from(`about ${topic}`),
    properties: { correlationData: Buffer.of(0, 255), userProperties: [['a', 'b']] },
  };
}

test('messages are due in the order of their times, then of their coming', async () => {
  const messages = new Disk().open();
  for (const [topic, at] of [
    ['late', 9000],
    ['b', 500],
    ['c', 500],
    ['a', 100],
  ] as const) {
    await messages.add(message(topic, at), 0);
  }
  const due = (nowMs: number, max: number): string[] =>
    messages.due(nowMs, max).map(({ topic }) => topic);
  assert.deepEqual(due(500, 9), ['a', 'b', 'c']);
  assert.deepEqual(due(500, 2), ['a', 'b']);
  assert.deepEqual(due(99, 9), []);
  assert.deepEqual(
    messages.page(1, 2).map(({ topic }) => topic),
    ['b', 'c'],
  );
});

test('payload and properties come back as they were', async () => {
  const messages = new Disk().open();
  await messages.add(message('t', 0), 0);
  const [head] = messages.due(0, 1);
  assert.ok(head !== undefined);
  assert.deepEqual(messages.bodyOf(head), {
    payload: Buffer.from('about t'),
    properties: { correlationData: Buffer.of(0, 255), userProperties: [['a', 'b']] },
  });
});

test('how many rules a message has gone through is kept; a record of before has none', async () => {
  const disk = new Disk();
  const first = disk.open();
  await first.add({ ...message('ruled', 1), hops: 7 }, 0);
  await first.add(message('plain', 2), 0);
  const heads = disk.records('heads');
  const [key, plain] = [...heads.entries()][1] as [string, object];
  heads.put(key, { ...plain, hops: undefined });
  const kept = disk.open().due(2, 9);
  assert.deepEqual(
    kept.map(({ topic, hops }) => [topic, hops]),
    [
      ['ruled', 7],
      ['plain', 0],
    ],
  );
});

test('one message too many is refused until there is room again', async () => {
  const messages = new Disk().open(2);
  const added = await Promise.all([1, 2, 3].map((at) => messages.add(message('t', at), 0)));
  assert.deepEqual(added, [true, true, false]);
  await messages.remove(messages.due(1, 1));
  assert.equal(await messages.add(message('t', 4), 0), true);
  assert.equal(messages.count, 2);
});

test('a message that cannot be written is not there, and takes no room', async () => {
  const disk = new Disk();
  const messages = disk.open(1);
  disk.isBroken = true;
  await assert.rejects(messages.add(message('t', 1), 0), /disk full/);
  assert.equal(messages.count, 0);
  disk.isBroken = false;
  assert.equal(await messages.add(message('t', 1), 0), true);
  disk.isBroken = true;
  await assert.rejects(messages.remove(messages.due(1, 1)), /disk full/);
  assert.equal(messages.count, 1);
  assert.equal(messages.due(1, 1).length, 1);
});

test('a number is not given twice, whatever was written and forgotten before', async () => {
  const disk = new Disk();
  const first = disk.open();
  await first.add(message('t', 1), 0);
  await first.remove(first.due(1, 1));
  const second = disk.open();
  disk.isBroken = true;
  await assert.rejects(second.add(message('t', 1), 0));
  disk.isBroken = false;
  await second.add(message('t', 1), 0);
  const [head] = second.due(1, 1);
  assert.ok(head !== undefined && head.id > 1);
  const third = disk.open();
  assert.equal(third.count, 1);
  await third.add(message('t', 2), 0);
  const ids = third.page(0, 9).map(({ id }) => id);
  assert.equal(new Set(ids).size, 2);
});
