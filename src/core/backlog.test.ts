import assert from 'node:assert/strict';
import test from 'node:test';
import { foundIn, sessionIn, type StoreBench, storeBench } from '#test/store-bench';
import { Backlog } from './backlog.ts';
import type { Queued } from './mqueue.ts';
import { deliveryTo, FakeSubscriber, messageOn, type MessageOptions } from './session-fixture.ts';
import { SessionJournal } from './session-journal.ts';
import { unstored } from './store-port.ts';

const delivery = deliveryTo(new FakeSubscriber('s'), { qos: 2 });
const nowMs = 1_700_000_000_000;
const silent = { onFlushed: () => undefined, onRefused: () => undefined, onFault: () => undefined };

interface Bench extends StoreBench {
  readonly backlog: Backlog;
  /** Numbers of messages that the client has, as they came back. */
  readonly released: number[];
  /** Puts messages behind the others, numbered by the journal; answers what had to go. */
  readonly push: (...payloads: string[]) => string[];
}

interface Options {
  readonly max?: number;
  readonly priorities?: [string, number][];
  /** The last message of those on disk that the client may have seen. */
  readonly sentSeq?: number;
  /** Numbers of those that the client has. */
  readonly has?: readonly number[];
}

/** `a:text` is on topic a, everything else on t. */
function messageOf(text: string, options: MessageOptions = {}): ReturnType<typeof messageOn> {
  const [topic, payload] = text.includes(':') ? (text.split(':') as [string, string]) : ['t', text];
  return messageOn(topic, { payload, qos: 1, ...options });
}

/** A backlog after a restart; the last process left these messages. */
async function backlogWith(onDisk: readonly string[], options: Options = {}): Promise<Bench> {
  const before = storeBench();
  const session = sessionIn(before);
  for (const [i, text] of onDisk.entries()) {
    const message = messageOf(text);
    const receipt = session.put(i + 1, message, delivery);
    if (options.has?.includes(i + 1)) session.release(i + 1, message, receipt);
  }
  await before.store.flushed();
  const bench = before.again();
  const { max = 0, priorities = [], sentSeq = 0 } = options;
  const { store } = foundIn(bench);
  const journal = new SessionJournal(bench.store, store, silent, true, { sentSeq });
  const released: number[] = [];
  const limits = {
    maxMqueueLen: max,
    mqueuePriorities: new Map(priorities),
    mqueueDefaultPriority: 'lowest',
  } as const;
  const backlog = new Backlog(limits, {
    comeBack: ({ seq, message, receipt }) => {
      if (message !== undefined) {
        return { seq, message, receipt, delivery, mayBeSent: seq <= sentSeq };
      }
      released.push(seq);
      return undefined;
    },
  });
  backlog.journal = journal;
  const push = (...payloads: string[]): string[] =>
    payloads.flatMap((text) => {
      const message = messageOf(text);
      const seq = journal.put(message, delivery, nowMs);
      const gone = backlog.push({ ...young(message), seq, receipt: journal.receipt });
      if (gone !== undefined) journal.shed(gone, gone.message);
      return textsOf(gone === undefined ? [] : [gone]);
    });
  return { ...bench, backlog, released, push };
}

/** As it is queued when no store is told of it. */
function young(message: Queued['message']): Queued {
  return { message, delivery, seq: 0, receipt: unstored, mayBeSent: false };
}

const textsOf = (queued: readonly Queued[]): string[] =>
  queued.map(({ message }) => message.payload.toString());

function drain(backlog: Backlog): string[] {
  const all: Queued[] = [];
  for (let next = backlog.peek(); next !== undefined; next = backlog.peek()) {
    assert.equal(backlog.shift(), next);
    all.push(next);
  }
  assert.deepEqual([backlog.length, backlog.isEmpty], [0, true]);
  return textsOf(all);
}

const numbered = (count: number): string[] => Array.from({ length: count }, (_, i) => `${i}`);

test('what lies on disk leaves first, in order, and what is younger behind it', async () => {
  for (const count of [0, 1, 99, 100, 101, 250]) {
    const { backlog, push } = await backlogWith(numbered(count));
    assert.equal(backlog.length, count);
    assert.equal(backlog.isEmpty, count === 0);
    push('young', 'younger');
    assert.equal(backlog.length, count + 2);
    assert.deepEqual(drain(backlog), [...numbered(count), 'young', 'younger']);
  }
});

test('no more is brought into memory than is wanted soon', async () => {
  const { backlog } = await backlogWith(numbered(250));
  assert.equal(backlog.heldCount, 0);
  backlog.peek();
  assert.equal(backlog.heldCount, 100);
  for (let i = 0; i < 100; i++) {
    backlog.peek();
    backlog.shift();
  }
  assert.equal(backlog.heldCount, 0);
  assert.equal(backlog.length, 150);
});

test('a message that the client has does not leave: it is only told of', async () => {
  const all = numbered(205);
  const has = [1, 2, 150, ...Array.from({ length: 5 }, (_, i) => 201 + i)];
  const { backlog, released } = await backlogWith(all, { has });
  assert.deepEqual(
    drain(backlog),
    all.filter((_, i) => !has.includes(i + 1)),
  );
  assert.deepEqual(released, has);
});

test('the bound counts what is on disk, and the oldest goes, there too', async () => {
  const { backlog, push, store, again } = await backlogWith(['0', '1', '2'], { max: 4 });
  assert.deepEqual(push('3'), []);
  assert.deepEqual(push('4', '5'), ['0', '1']);
  assert.deepEqual([backlog.length, backlog.dropped], [4, 2]);
  await store.flushed();
  assert.deepEqual(
    foundIn(again())
      .store.read(0, 2 ** 47, 100)
      .map(({ message }) => message?.payload.toString()),
    ['2', '3', '4', '5'],
  );
  assert.deepEqual(drain(backlog), ['2', '3', '4', '5']);
});

test('the bound holds for far more than is read at once, and none of the rest is lost', async () => {
  const { backlog, push } = await backlogWith(numbered(300), { max: 300 });
  const later = Array.from({ length: 250 }, (_, i) => `${300 + i}`);
  assert.deepEqual(push(...later), numbered(250));
  assert.equal(backlog.length, 300);
  assert.deepEqual(drain(backlog), [...numbered(300).slice(250), ...later]);
});

test('what the client may have seen is not the queue’s to drop', async () => {
  for (const isPeeked of [false, true]) {
    const { backlog, push } = await backlogWith(['0', '1', '2'], { max: 3, sentSeq: 2 });
    if (isPeeked) backlog.peek();
    assert.deepEqual(push('3'), ['2']);
    assert.deepEqual(push('4'), ['3']);
    assert.deepEqual(drain(backlog), ['0', '1', '4']);
  }
});

test('a bound that was lowered holds from now on, oldest first', async () => {
  const { backlog, push } = await backlogWith(numbered(6), { max: 2 });
  assert.deepEqual(push('6', '7'), ['0', '1']);
  assert.equal(backlog.length, 6, 'one goes for each that comes');
  assert.deepEqual(drain(backlog), ['2', '3', '4', '5', '6', '7']);
});

test('what was never promised goes before what was', async () => {
  const { backlog, push } = await backlogWith(['0', '1'], { max: 4 });
  const qos0 = young(messageOf('qos 0', { qos: 0 }));
  assert.equal(backlog.push(qos0), undefined);
  push('2');
  assert.deepEqual(push('3'), ['qos 0']);
  assert.equal(backlog.push(qos0), qos0, 'and does not come in where all is promised');
  assert.deepEqual(drain(backlog), ['0', '1', '2', '3']);
});

test('one more message fits while neither the number nor the bound is reached', async () => {
  const bounded = (await backlogWith(['0', '1'], { max: 3 })).backlog;
  assert.deepEqual(
    [1, 2, 3, 9].map((count) => bounded.fits(count)),
    [false, false, true, true],
  );
  bounded.push(young(messageOf('x')));
  assert.equal(bounded.fits(9), false);
  const open = (await backlogWith(['0', '1'])).backlog;
  assert.deepEqual(
    [2, 3].map((count) => open.fits(count)),
    [false, true],
  );
});

test('priorities hold for what is on disk too', async () => {
  const priorities: [string, number][] = [
    ['high', 9],
    ['low', 1],
  ];
  const onDisk = ['low:0', 'high:1', 't:2', 'low:3'];
  const { backlog, push } = await backlogWith(onDisk, { priorities, max: 3 });
  assert.deepEqual(push('high:4', 'low:5'), []);
  assert.deepEqual(push('low:6'), ['0'], 'the bound is that of a priority');
  assert.deepEqual(drain(backlog), ['1', '4', '3', '5', '6', '2']);
});

test('what the client may have seen leaves first, whatever its priority', async () => {
  const priorities: [string, number][] = [['high', 9]];
  const onDisk = ['low:0', 'low:1', 'high:2'];
  const { backlog, push } = await backlogWith(onDisk, { priorities, sentSeq: 1 });
  push('high:3');
  assert.deepEqual(drain(backlog), ['0', '2', '3', '1']);
});

test('messages are taken out of the middle, on disk and in memory', async () => {
  const isOdd = ({ message }: Queued): boolean => Number(message.payload.toString()) % 2 === 1;
  const { backlog, push } = await backlogWith(numbered(150));
  push('150', '151');
  assert.deepEqual(
    textsOf(backlog.extract(isOdd)),
    [...numbered(150), '150', '151'].filter((text) => Number(text) % 2 === 1),
  );
  assert.equal(backlog.length, 76);
  const other = await backlogWith(numbered(150));
  other.push('150', '151');
  other.backlog.peek();
  assert.equal(other.backlog.extractHeld(isOdd).length, 51, 'one slice and the younger ones');
  assert.equal(other.backlog.length, 101);
});

test('what has expired in memory is taken out, but not QoS 2 that the client may have', async () => {
  const properties = { messageExpirySeconds: 10 };
  const { backlog } = await backlogWith(['0'], { sentSeq: 1 });
  const brief = young(messageOf('brief', { qos: 2, properties, timestampMs: nowMs }));
  const later = { messageExpirySeconds: 99 };
  backlog.push(brief);
  backlog.push(young(messageOf('lasts')));
  backlog.push(young(messageOf('later', { properties: later, timestampMs: nowMs })));
  backlog.push({ ...brief, mayBeSent: true });
  assert.deepEqual(backlog.takeExpired(nowMs + 9000), []);
  assert.deepEqual(backlog.takeExpired(nowMs + 11_000), [brief]);
  assert.deepEqual(textsOf(backlog.takeExpired(nowMs + 100_000)), ['later']);
  assert.deepEqual(drain(backlog), ['0', 'lasts', 'brief']);
});

test('a backlog without a store is a queue', () => {
  const limits = {
    maxMqueueLen: 2,
    mqueuePriorities: new Map<string, number>(),
    mqueueDefaultPriority: 'lowest',
  } as const;
  const backlog = new Backlog(limits, { comeBack: () => assert.fail() });
  const all = ['0', '1', '2'].map((text) => young(messageOf(text)));
  assert.deepEqual(
    all.map((queued) => backlog.push(queued)),
    [undefined, undefined, all[0]],
  );
  assert.deepEqual(drain(backlog), ['1', '2']);
});
