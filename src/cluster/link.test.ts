// Laws: what was said first arrives first; memory that comes back says that its batch was handled and
// frees as much room; above the bound the link is congested.

import assert from 'node:assert/strict';
import test from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { MessageChannel, type MessagePort } from 'node:worker_threads';
import { bareRouter } from '#core/session-fixture';
import { Link, type LinkOwner } from './link.ts';
import { messageOf, published, SeeingSink } from './link-fixture.ts';
import { LinkReader } from './link-reader.ts';

const megabyte: Buffer = Buffer.alloc(1024 * 1024);

class End implements LinkOwner {
  readonly link: Link;
  readonly posts: { batch: ArrayBuffer | undefined; back: readonly ArrayBuffer[] }[] = [];
  readonly words: unknown[] = [];
  readonly congestion: boolean[] = [];
  readonly faults: unknown[] = [];
  /** Memory of each batch that was read. */
  readonly memory: ArrayBufferLike[] = [];
  readonly #reader = new LinkReader(bareRouter(), 0);
  onWord: (word: unknown) => void = () => undefined;

  constructor(port: MessagePort) {
    const post = port.postMessage.bind(port);
    port.postMessage = (parcel, transfer) => {
      this.posts.push({ ...parcel });
      post(parcel, transfer as []);
    };
    this.link = new Link(port, this);
  }

  onBatch(bytes: Buffer, length: number): void {
    this.memory.push(bytes.buffer);
    const sink = new SeeingSink();
    sink.onWord = (word) => {
      this.words.push(word);
      this.onWord(word);
    };
    this.#reader.read(bytes, length, sink);
  }

  onCongestion(isCongested: boolean): void {
    this.congestion.push(isCongested);
  }

  onFault(error: unknown): void {
    this.faults.push(error);
  }

  get batches(): number {
    return this.posts.filter(({ batch }) => batch !== undefined).length;
  }
}

function pair(t: test.TestContext): { a: End; b: End } {
  const { port1, port2 } = new MessageChannel();
  const ends = { a: new End(port1), b: new End(port2) };
  t.after(() => {
    ends.a.link.close();
    ends.b.link.close();
  });
  return ends;
}

/** What keeps a promise apart from one that is not settled yet. */
async function isSettled(promise: Promise<void>): Promise<boolean> {
  return Promise.race([promise.then(() => true), turn(false)]);
}

test('a link carries what was said in the order it was said, one post a turn', async (t) => {
  const { a, b } = pair(t);
  for (let i = 0; i < 3; i++) a.link.batch.word(i);
  assert.equal(a.batches, 0, 'nothing goes before the end of the turn');
  await turn();
  assert.equal(a.batches, 1);
  for (let i = 3; i < 6; i++) a.link.batch.word(i);
  await a.link.handled();
  assert.deepEqual(b.words, [0, 1, 2, 3, 4, 5]);
  assert.equal(a.batches, 2);
});

test('both directions of a link go in one post', async (t) => {
  const { a, b } = pair(t);
  b.onWord = (word) => b.link.batch.word(['answer', word]);
  a.link.batch.word('question');
  await a.link.handled();
  assert.deepEqual(a.words, [['answer', 'question']]);
  assert.equal(b.posts.length, 1, 'the answer and the memory together');
  assert.equal(b.posts[0]?.back.length, 1);
});

test('memory comes back and is used again', async (t) => {
  const { a, b } = pair(t);
  const larger = { payload: Buffer.alloc(100 * 1024) };
  a.link.batch.message(messageOf(published('t', larger)), 0, undefined);
  const { byteLength } = a.link.batch.bytes.buffer;
  assert.ok(byteLength > 64 * 1024, 'it is known by its size');
  for (let i = 0; i < 5; i++) {
    await a.link.handled();
    assert.equal(a.link.batch.bytes.buffer.byteLength, byteLength);
    a.link.batch.word(i);
  }
  await a.link.handled();
  assert.deepEqual(b.words, [0, 1, 2, 3, 4]);
  // What was transferred has no bytes any more.
  assert.ok(a.posts.every(({ batch }) => batch?.byteLength === 0));
});

test('memory that a flood has made larger is not kept', async (t) => {
  const { a } = pair(t);
  const { batch } = a.link;
  for (let i = 0; i < 3; i++) {
    batch.message(messageOf(published('t', { payload: megabyte })), 0, undefined);
  }
  assert.ok(batch.bytes.length > 3 * megabyte.length);
  await a.link.handled();
  assert.equal(a.link.batch.bytes.length, 64 * 1024);
});

test('handled waits for the batch of this turn, and for the last one that was sent', async (t) => {
  const { a, b } = pair(t);
  a.link.batch.word('now');
  const now = a.link.handled();
  assert.equal(a.link.handled(), now, 'one promise for all who ask');
  a.link.flush();
  const sent = a.link.handled();
  a.link.batch.word('later');
  const later = a.link.handled();
  assert.equal(await isSettled(later), false);
  await now;
  await sent;
  assert.equal(b.words[0], 'now');
  await later;
  assert.deepEqual(b.words, ['now', 'later']);
});

test('handled does not wait where nothing is under way', async (t) => {
  const { a } = pair(t);
  assert.equal(await isSettled(a.link.handled()), true);
  a.link.batch.word('x');
  await a.link.handled();
  assert.equal(await isSettled(a.link.handled()), true);
});

test('handled is over before what the other end answers later', async (t) => {
  const { a, b } = pair(t);
  a.link.batch.word('x');
  const order: string[] = [];
  b.onWord = () => order.push('read');
  await a.link.handled().then(() => order.push('handled'));
  assert.deepEqual(order, ['read', 'handled']);
});

test('a link is congested above eight megabytes and free again below four', async (t) => {
  const { a, b } = pair(t);
  const send = (count: number): void => {
    for (let i = 0; i < count; i++) {
      a.link.batch.message(messageOf(published('t', { payload: megabyte })), 0, undefined);
      a.link.flush();
    }
  };
  send(7);
  assert.deepEqual(a.congestion, []);
  send(1);
  // Eight and their heads.
  assert.deepEqual(a.congestion, [true]);
  assert.equal(a.link.isCongested, true);
  send(1);
  assert.deepEqual(a.congestion, [true], 'told once');
  await a.link.handled();
  assert.deepEqual(a.congestion, [true, false]);
  assert.equal(b.memory.length, 9);
});

test('a link that was congested stays so until half of the bound is free', async (t) => {
  const { port1, port2 } = new MessageChannel();
  const a = new End(port1);
  const came: ArrayBuffer[] = [];
  port2.on('message', ({ batch }: { batch: ArrayBuffer }) => came.push(batch));
  t.after(() => a.link.close());
  for (let i = 0; i < 9; i++) {
    a.link.batch.message(messageOf(published('t', { payload: megabyte })), 0, undefined);
    a.link.flush();
  }
  while (came.length < 9) await turn();
  const seen: boolean[] = [];
  for (const memory of came) {
    const before = a.congestion.length;
    port2.postMessage({ batch: undefined, length: 0, back: [memory] }, [memory]);
    for (let i = 0; i < 3; i++) await turn();
    seen.push(a.congestion.length > before);
  }
  // Five of nine have to go: four megabytes and their heads are still above the lower bound.
  assert.equal(seen.indexOf(true), 5);
  assert.deepEqual(a.congestion, [true, false]);
});

test('an owner that throws is told of it, and the batch counts as handled', async (t) => {
  const { a, b } = pair(t);
  b.onWord = (word) => {
    if (word === 'bad') throw new Error('cannot bear it');
  };
  a.link.batch.word('bad');
  await a.link.handled();
  a.link.batch.word('good');
  await a.link.handled();
  assert.match(String(b.faults[0]), /cannot bear it/);
  assert.equal(b.faults.length, 1);
  assert.deepEqual(b.words, ['bad', 'good']);
});

test('closing lets everybody go who waits, ends the congestion and hears nothing more', async (t) => {
  const { a, b } = pair(t);
  for (let i = 0; i < 9; i++) {
    a.link.batch.message(messageOf(published('t', { payload: megabyte })), 0, undefined);
    a.link.flush();
  }
  const sent = a.link.handled();
  a.link.batch.word('unsent');
  const unsent = a.link.handled();
  b.link.batch.word('late');
  b.link.flush();
  a.link.close();
  await Promise.all([sent, unsent, a.link.handled()]);
  assert.deepEqual(a.congestion, [true, false]);
  for (let i = 0; i < 5; i++) await turn();
  assert.deepEqual(a.words, []);
  assert.ok(!b.words.includes('unsent'));
  a.link.close();
  assert.deepEqual(a.congestion, [true, false], 'the second time is harmless');
});

test('an owner that closes the link while a batch is read sends nothing back', async (t) => {
  const { a, b } = pair(t);
  b.onWord = () => b.link.close();
  a.link.batch.word('x');
  const handled = a.link.handled();
  for (let i = 0; i < 5; i++) await turn();
  assert.deepEqual(b.words, ['x']);
  assert.deepEqual(b.posts, []);
  assert.equal(await isSettled(handled), false);
});
