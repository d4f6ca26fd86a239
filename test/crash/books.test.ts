import assert from 'node:assert/strict';
import test from 'node:test';
import type { PublishPacket } from '#wire/packet';
import { Books, type Level, type Sent, type SessionBook } from './books.ts';
import { payloadOf } from './numbered-message.ts';
import type { Kind } from './violations.ts';

/** Books with one session that is subscribed to t/#. */
class Table {
  readonly books: Books = new Books();
  readonly session: SessionBook;

  constructor(qos: Level = 2) {
    this.session = this.books.openSession('session', qos);
    this.session.ask('t/#');
    this.session.granted('t/#');
  }

  send(qos: Level, topic = 't/a', more: Partial<Sent> = {}): Sent {
    return this.books.send({
      publisher: 'pub',
      topic,
      qos,
      retain: false,
      isClear: false,
      ...more,
    });
  }

  acked(qos: Level, topic = 't/a', more: Partial<Sent> = {}): Sent {
    const sent = this.send(qos, topic, more);
    this.books.acknowledge(sent);
    return sent;
  }

  arrive(sent: Sent, more: Partial<PublishPacket> = {}): void {
    this.session.receive(packetOf(sent, more));
  }

  /** What has been found so far, once everything is settled. */
  kinds(): Kind[] {
    this.books.settle();
    return [...this.books.violations.counts.keys()];
  }
}

function packetOf(sent: Sent, more: Partial<PublishPacket> = {}): PublishPacket {
  const { topic, qos } = sent;
  const rest = { dup: false, retain: false, packetId: 1, properties: {} };
  return { type: 'publish', topic, qos, payload: payloadOf(sent, 0), ...rest, ...more };
}

test('books are content when all that was acknowledged came, in order and once', () => {
  const table = new Table();
  const sent = [table.acked(1), table.acked(2), table.acked(2, 't/b'), table.acked(1)];
  for (const one of sent) table.arrive(one);
  assert.deepEqual(table.kinds(), []);
  assert.equal(table.books.figures.delivered, 4);
});

test('books miss an acknowledged message and name it', () => {
  const table = new Table();
  table.acked(1);
  table.arrive(table.acked(1));
  table.acked(1);
  assert.deepEqual(table.kinds(), ['lost']);
  assert.match(
    table.books.violations.lines().join(),
    /never got 2 acknowledged of QoS 1: "pub 1, 3"/,
  );
  assert.equal(table.books.figures.lost, 2);
});

test('books do not miss a message that was never acknowledged, nor mind that it came', () => {
  const table = new Table();
  table.send(1);
  table.arrive(table.send(2));
  assert.deepEqual(table.kinds(), []);
});

test('books see a second copy where both ends have QoS 2, and count it elsewhere', () => {
  const twice = (session: Level, qos: Level): Table => {
    const table = new Table(session);
    const sent = table.acked(qos);
    table.arrive(sent);
    table.arrive(sent);
    return table;
  };
  assert.deepEqual(twice(2, 2).kinds(), ['doubled']);
  assert.deepEqual(twice(1, 2).kinds(), []);
  assert.deepEqual(twice(2, 1).kinds(), []);
  assert.equal(twice(1, 1).books.figures.repeated, 1);
});

test('books see a second copy of a message that is settled already', () => {
  for (const qos of [1, 2] as const) {
    const table = new Table();
    const sent = table.acked(qos);
    table.arrive(sent);
    assert.deepEqual(table.kinds(), []);
    table.arrive(sent);
    assert.deepEqual(table.kinds(), qos === 2 ? ['doubled'] : []);
  }
});

test('books see messages of one stream change places, not those of two', () => {
  const table = new Table();
  const first = table.acked(1);
  const other = table.acked(1, 't/b');
  const second = table.acked(1);
  for (const sent of [other, second, first]) table.arrive(sent);
  assert.deepEqual(table.kinds(), ['disordered']);
  assert.equal(table.books.violations.total, 1);
});

test('books know that a repetition may come behind its successors', () => {
  const table = new Table();
  const first = table.acked(1);
  const second = table.acked(1);
  for (const sent of [first, second, first, second]) table.arrive(sent);
  assert.deepEqual(table.kinds(), []);
});

test('books know that what was sent before a subscription is not owed, nor in order', () => {
  const books = new Books();
  const session = books.openSession('session', 1);
  const stream = { publisher: 'pub', topic: 't/a', qos: 1, retain: false, isClear: false } as const;
  const early = books.send(stream);
  session.ask('t/a');
  session.granted('t/a');
  const late = books.send(stream);
  books.acknowledge(late);
  session.receive(packetOf(late));
  session.receive(packetOf(early));
  books.settle();
  assert.equal(books.violations.total, 0);
});

test('books see a message that comes after UNSUBACK, or was done before SUBSCRIBE', () => {
  const left = new Table();
  left.session.leave('t/#');
  left.session.left('t/#');
  left.arrive(left.acked(1));
  assert.deepEqual(left.kinds(), ['stranger']);
  const books = new Books();
  const session = books.openSession('session', 1);
  const stream = { publisher: 'pub', topic: 't/a', qos: 1, retain: false, isClear: false } as const;
  const done = books.send(stream);
  books.acknowledge(done);
  session.ask('t/a');
  session.receive(packetOf(done));
  assert.equal(books.violations.countOf('stranger'), 1);
});

test('books owe nothing any more once UNSUBSCRIBE is out, and let it come', () => {
  const table = new Table();
  table.acked(2);
  const late = table.acked(2);
  table.session.leave('t/#');
  table.arrive(late);
  assert.deepEqual(table.kinds(), []);
});

test('books still owe what another subscription of the session covers', () => {
  const table = new Table();
  table.session.ask('t/a');
  table.session.granted('t/a');
  table.acked(1);
  table.session.leave('t/#');
  assert.deepEqual(table.kinds(), ['lost']);
});

test('books owe again what is subscribed to again', () => {
  const table = new Table();
  table.session.leave('t/#');
  table.session.ask('t/#');
  table.session.granted('t/#');
  table.acked(1);
  assert.deepEqual(table.kinds(), ['lost']);
});

test('books count the members of a shared subscription together', () => {
  const books = new Books();
  const group = books.openSession('group', 2, false);
  group.ask('$share/group/s/#');
  group.granted('$share/group/s/#');
  const stream = { publisher: 'pub', topic: 's/1', retain: false, isClear: false } as const;
  const [one, two] = [books.send({ ...stream, qos: 2 }), books.send({ ...stream, qos: 2 })];
  books.acknowledge(one);
  books.acknowledge(two);
  for (const sent of [two, one, one]) group.receive(packetOf(sent));
  books.settle();
  assert.deepEqual([...books.violations.counts], [['doubled', 1]]);
});

test('books see what nobody sent, and what came under another topic', () => {
  const table = new Table();
  const sent = table.acked(1);
  table.arrive({ ...sent, number: 99 });
  table.arrive(sent, { topic: 't/b' });
  table.arrive(sent);
  assert.deepEqual(table.kinds(), ['invented']);
  assert.equal(table.books.violations.total, 2);
});

test('books let the answer to a subscription come beside the message', () => {
  const table = new Table();
  const sent = table.acked(2);
  table.arrive(sent);
  table.arrive(sent, { retain: true });
  assert.deepEqual(table.kinds(), []);
});

function retained(judge: (table: Table, found: Map<string, Buffer>) => void): string[] {
  const table = new Table();
  const found = new Map<string, Buffer>();
  judge(table, found);
  table.books.retained.judge(table.books.retained.claims(), found);
  return table.books.violations.lines();
}

test('books want the last acknowledged retained message, or a later one', () => {
  const topic = 'r/1';
  const retain = { retain: true };
  const hold = (found: Map<string, Buffer>, sent: Sent): unknown =>
    found.set(topic, payloadOf(sent, 0));
  const right = retained((table, found) => {
    table.acked(1, topic, retain);
    hold(found, table.acked(1, topic, retain));
    table.send(1, topic, retain);
  });
  const later = retained((table, found) => {
    table.acked(1, topic, retain);
    hold(found, table.send(1, topic, retain));
  });
  const older = retained((table, found) => {
    hold(found, table.acked(1, topic, retain));
    table.acked(1, topic, retain);
  });
  const none = retained((table) => table.acked(1, topic, retain));
  const stranger = retained((table, found) => hold(found, table.acked(1)));
  assert.deepEqual([right, later], [[], []]);
  assert.match(older.join(), /holds 1 of "pub", but 2 took its place/);
  assert.match(none.join(), /holds nothing instead of 1/);
  assert.match(stranger.join(), /holds what nobody sent/);
});

test('books want a retained message gone that was cleared, and let one go that may be', () => {
  const topic = 'r/1';
  const retain = { retain: true };
  const clear = { retain: true, isClear: true };
  const back = retained((table, found) => {
    found.set(topic, payloadOf(table.acked(1, topic, retain), 0));
    table.acked(1, topic, clear);
  });
  const gone = retained((table) => {
    table.acked(1, topic, retain);
    table.send(1, topic, clear);
  });
  assert.match(back.join(), /holds 1 of "pub", but 2 took it away/);
  assert.deepEqual(gone, []);
});
