import assert from 'node:assert/strict';
import test, { mock } from 'node:test';
import type { PublishPacket } from '#wire/packet';
import { Violations } from './violations.ts';
import { WillBook } from './will-book.ts';

/** The will of one client, and everything that happens to it in order. */
function story(
  qos: 1 | 2,
  delayMs: number,
  happens: (book: WillBook, come: () => void) => void,
): string {
  mock.timers.enable({ apis: ['Date'], now: 1_000_000 });
  try {
    const violations = new Violations();
    const book = new WillBook(violations);
    const payload = Buffer.from(book.ask('client', qos, delayMs));
    happens(book, () => book.received({ payload } as PublishPacket));
    book.settle();
    return violations.lines().join();
  } finally {
    mock.timers.reset();
  }
}

test('a will is due when the process is killed under its connection', () => {
  const killed = (come: boolean): string =>
    story(1, 0, (book, arrive) => {
      book.stand('client', 1);
      book.kill(2);
      if (come) arrive();
    });
  assert.equal(killed(true), '');
  assert.match(killed(false), /"client 1" is due and was never published/);
});

test('a will whose CONNECT was not answered may come or not', () => {
  const killed = (come: boolean): string =>
    story(1, 0, (book, arrive) => {
      book.kill(2);
      if (come) arrive();
    });
  assert.deepEqual([killed(true), killed(false)], ['', '']);
});

test('a will that stands may come or not while nothing later is known to be flushed', () => {
  const killed = (come: boolean): string =>
    story(1, 0, (book, arrive) => {
      book.stand('client', 1);
      book.kill(1);
      if (come) arrive();
    });
  assert.deepEqual([killed(true), killed(false)], ['', '']);
});

test('a will of QoS 2 comes once, one of QoS 1 may come again', () => {
  const twice = (qos: 1 | 2): string =>
    story(qos, 0, (book, arrive) => {
      book.stand('client', 1);
      book.kill(2);
      arrive();
      arrive();
    });
  assert.match(twice(2), /\(QoS 2\) was published 2 times/);
  assert.equal(twice(1), '');
});

test('a will must not come while its connection stands, nor after DISCONNECT', () => {
  const standing = story(1, 0, (book, arrive) => {
    book.stand('client', 1);
    arrive();
  });
  const leaving = story(1, 0, (book, arrive) => {
    book.stand('client', 1);
    book.leave('client');
    arrive();
  });
  assert.match(standing, /was published, but it is standing/);
  assert.match(leaving, /was published, but it is leaving/);
});

test('a will with a delay must not come long before it is over', () => {
  const after = (ms: number): string =>
    story(1, 5000, (book, arrive) => {
      book.stand('client', 1);
      book.kill(2);
      mock.timers.tick(ms);
      arrive();
    });
  assert.match(after(1000), /was published after 1000 ms, its delay is 5000 ms/);
  assert.equal(after(5000), '');
});

test('a will with a delay is withdrawn by a client that is back in time', () => {
  const back = (ms: number, come: boolean, provenAt = 4): string =>
    story(1, 5000, (book, arrive) => {
      book.stand('client', 1);
      book.kill(2);
      mock.timers.tick(ms);
      book.ask('client', 1, 5000);
      book.stand('client', 3);
      book.leave('client');
      book.kill(provenAt);
      if (come) arrive();
    });
  assert.match(back(1000, true), /was published, but it is withdrawn/);
  assert.equal(back(1000, false), '');
  assert.deepEqual([back(4900, true), back(4900, false)], ['', '']);
  assert.deepEqual([back(1000, true, 3), back(1000, false, 3)], ['', '']);
});

test('a will is withdrawn by DISCONNECT once something later is known to be flushed', () => {
  const left = (provenAt: number, come: boolean): string =>
    story(1, 0, (book, arrive) => {
      book.stand('client', 1);
      book.leave('client');
      book.left('client', 10);
      book.kill(provenAt);
      if (come) arrive();
    });
  assert.match(left(11, true), /was published, but it is withdrawn/);
  assert.deepEqual([left(11, false), left(9, true), left(9, false)], ['', '', '']);
});

test('a will whose connection was lost before a stop is due once that must have been seen', () => {
  const lost = (provenAt: number): string =>
    story(1, 0, (book) => {
      book.stand('client', 1);
      book.lose('client', 5);
      book.stop(provenAt);
    });
  assert.match(lost(6), /is due and was never published/);
  assert.equal(lost(5), '');
});

test('a will that nobody has is seen', () => {
  const violations = new Violations();
  new WillBook(violations).received({ payload: Buffer.from('x 1') } as PublishPacket);
  assert.equal(violations.countOf('will'), 1);
});
