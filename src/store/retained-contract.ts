// What core/store-port.ts promises of retained messages, as tests that run on every engine.

import assert from 'node:assert/strict';
import { matches } from '#topics/match';
import { Message } from '#core/message';
import type { Engine } from './engine.ts';
import type { MakeEngine } from './engine-fixture.ts';
import { onEngine } from './journal-fixture.ts';
import { type Bench, benchOn, publisher, retainedMessage } from './retained-fixture.ts';

export function retainedContract(name: string, make: MakeEngine): void {
  const withJournal = onEngine(`retained messages on ${name}`, make);
  const on: On = (title, body) => {
    withJournal(title, (journal) => body(benchOn(journal.engine, journal), journal.engine));
  };
  shownAtOnce(on);
  longTopics(on);
  takenBack(on);
  sliced(on);
}

type On = (title: string, body: (bench: Bench, engine: Engine) => Promise<void>) => void;

function shownAtOnce(on: On): void {
  on(
    'a message is found at once, after its flush, and by the next process',
    async (bench, engine) => {
      const check = ({ retained, found }: Bench): void => {
        assert.deepEqual([found('a/+'), found('a/b')], [['a/b=1'], ['a/b=1']]);
        assert.deepEqual([retained.size, retained.has('a/b'), retained.has('a')], [1, true, false]);
      };
      bench.put('a/b', '1');
      check(bench);
      bench.journal.handOver();
      check(bench);
      await bench.journal.settle(true);
      check(bench);
      check(benchOn(engine));
    },
  );

  on('a deletion hides the message at once, and removes it', async (bench, engine) => {
    bench.put('a/b', '1');
    await bench.journal.flush();
    bench.retained.delete('a/b');
    bench.retained.delete('a/b');
    bench.retained.delete('never');
    assert.equal(bench.journal.openWrites, 1, 'what is not there is not removed again');
    for (const isFlushed of [false, true]) {
      if (isFlushed) await bench.journal.flush();
      assert.deepEqual([bench.found('#'), bench.found('a/b')], [[], []]);
      assert.deepEqual([bench.retained.size, bench.retained.has('a/b')], [0, false]);
    }
    assert.deepEqual(benchOn(engine).found('#'), []);
  });

  on('everything about a message comes back', async (bench, engine) => {
    const properties = { messageExpirySeconds: 9, contentType: 'text' };
    const from = { ...publisher, username: undefined };
    const message = new Message('t', Buffer.from('x'), 2, true, properties, from, 5000);
    bench.retained.put(message, 14_000);
    bench.retained.put(retainedMessage('u', 'y'), Number.POSITIVE_INFINITY);
    await bench.journal.flush();
    const seen: [Message, number][] = [];
    benchOn(engine).retained.slice('#', '', 10, (...one) => seen.push(one) > 0);
    const [one, two] = seen;
    assert.deepEqual([one?.[1], two?.[1]], [14_000, Number.POSITIVE_INFINITY]);
    assert.deepEqual([one?.[0].qos, one?.[0].retain, one?.[0].from], [2, true, from]);
    assert.deepEqual([one?.[0].properties, one?.[0].expiresAtMs], [properties, 14_000]);
  });

  on('of several messages of one batch only the last is written', async (bench, engine) => {
    for (let i = 0; i < 5; i++) bench.put('a', `${i}`);
    bench.put('b', 'b');
    assert.equal(bench.journal.openWrites, 2);
    assert.deepEqual(bench.found('#'), ['a=4', 'b=b']);
    await bench.journal.flush();
    assert.deepEqual(benchOn(engine).found('#'), ['a=4', 'b=b']);
  });
}

function longTopics(on: On): void {
  on('topics too long for a key are kept, found and removed like others', async (bench, engine) => {
    const long = ['x', 'y'].map((last) => `a/${'l/'.repeat(3000)}${last}`);
    for (const topic of long) bench.put(topic, 'p');
    bench.put('a/short', 'p');
    const [x, y] = long as [string, string];
    for (const isFlushed of [false, true]) {
      if (isFlushed) await bench.journal.flush();
      assert.equal(bench.retained.size, 3);
      assert.deepEqual(bench.found(x), [`${x}=p`]);
      for (const namesMax of [1, 2, 10]) {
        assert.equal(bench.found('a/#', namesMax)[0], 'a/short=p');
        assert.deepEqual(bench.found('a/#', namesMax).toSorted(), bench.found('a/#').toSorted());
      }
      assert.equal(bench.found('a/#').length, 3);
      assert.deepEqual(bench.found(`+/${'+/'.repeat(3000)}y`), [`${y}=p`]);
      assert.deepEqual(bench.found('b/#'), []);
    }
    bench.retained.delete(x);
    await bench.journal.flush();
    assert.deepEqual(benchOn(engine).found('#').toSorted(), ['a/short=p', `${y}=p`].toSorted());
  });
}

function takenBack(on: On): void {
  on('a message whose batch failed is gone, and the older one is back', async (bench) => {
    bench.put('a', 'old');
    await bench.journal.flush();
    bench.put('a', 'new');
    bench.put('b', 'new');
    bench.retained.delete('c');
    assert.deepEqual([bench.found('#'), bench.retained.size], [['a=new', 'b=new'], 2]);
    await bench.journal.fail();
    assert.deepEqual([bench.found('#'), bench.retained.size], [['a=old'], 1]);
    assert.deepEqual([bench.found('a'), bench.retained.has('b')], [['a=old'], false]);
  });

  on('a deletion whose batch failed did not happen', async (bench) => {
    bench.put('a', '1');
    await bench.journal.flush();
    bench.retained.delete('a');
    await bench.journal.fail();
    assert.deepEqual([bench.found('a'), bench.found('#')], [['a=1'], ['a=1']]);
    assert.equal(bench.retained.size, 1);
  });

  on('a second deletion holds when the first one failed', async (bench) => {
    bench.put('a', '1');
    await bench.journal.flush();
    bench.retained.delete('a');
    bench.journal.handOver();
    bench.retained.delete('a');
    await bench.journal.settle(false);
    assert.deepEqual([bench.found('#'), bench.retained.size], [[], 0]);
    await bench.journal.flush();
    assert.deepEqual([bench.found('#'), bench.retained.size], [[], 0]);
  });

  on('each batch takes back its own writes, whatever came after them', async (bench, engine) => {
    bench.put('a', '1');
    bench.journal.handOver();
    bench.put('a', '2');
    bench.put('b', '2');
    await bench.journal.settle(false);
    assert.deepEqual([bench.found('#'), bench.retained.size], [['a=2', 'b=2'], 2]);
    bench.journal.handOver();
    bench.retained.delete('a');
    await bench.journal.settle(true);
    assert.deepEqual([bench.found('#'), bench.retained.size], [['b=2'], 1]);
    await bench.journal.fail();
    assert.deepEqual([bench.found('#'), bench.retained.size], [['a=2', 'b=2'], 2]);
    assert.deepEqual(benchOn(engine).found('#'), ['a=2', 'b=2']);
  });

  on('a later write of the same topic survives the flush of the one before', async (bench) => {
    bench.put('a', '1');
    bench.journal.handOver();
    bench.put('a', '2');
    await bench.journal.settle(true);
    assert.deepEqual([bench.found('#'), bench.found('a')], [['a=2'], ['a=2']]);
    await bench.journal.fail();
    assert.deepEqual([bench.found('#'), bench.retained.size], [['a=1'], 1]);
  });
}

function sliced(on: On): void {
  const topics = ['$SYS/x', '/', 'a', 'a/', 'a/1', 'a/2', 'a/2/deep', 'a/3', 'a!', 'b', 'ä/€'];
  on(
    'a filter finds exactly what it stands for, in order, in slices of any size',
    async (bench) => {
      topics.forEach((topic, i) => {
        if (i % 2 === 0) bench.put(topic, 'p');
      });
      await bench.journal.flush();
      topics.forEach((topic, i) => {
        if (i % 2 === 1) bench.put(topic, 'p');
      });
      for (const filter of ['#', 'a/#', 'a/+', '+', '+/+', '$SYS/#', 'a/2', '/#', '+/2/#', 'x/+']) {
        const wanted = topics
          .filter((topic) => matches(filter, topic))
          .map((topic) => `${topic}=p`);
        for (const namesMax of [1, 2, 3, 100]) {
          assert.deepEqual(bench.found(filter, namesMax), wanted, `${filter} by ${namesMax}`);
        }
      }
    },
  );

  on('a visit that answers false ends the slice, and the next goes on behind it', async (bench) => {
    for (const topic of topics) bench.put(topic, 'p');
    await bench.journal.flush();
    bench.put('a/2', 'p');
    const seen: string[] = [];
    let from: string | undefined = '';
    do {
      from = bench.retained.slice('#', from, 100, ({ topic }) => {
        seen.push(topic);
        return false;
      });
    } while (from !== undefined);
    assert.deepEqual(seen, topics.slice(1));
  });

  on('nothing is seen twice or missed when it is flushed between two slices', async (bench) => {
    for (const topic of topics) bench.put(topic, 'p');
    const seen: string[] = [];
    const step = (from: string): string | undefined =>
      bench.retained.slice('#', from, 1, ({ topic }) => seen.push(topic) > 0);
    let from = step('');
    from = step(from as string);
    await bench.journal.flush();
    while (from !== undefined) from = step(from);
    assert.deepEqual(seen, topics.slice(1));
  });

  on('a visit may delete and put', async (bench) => {
    for (const topic of topics.slice(0, -2)) bench.put(topic, 'p');
    await bench.journal.flush();
    for (const topic of topics.slice(-2)) bench.put(topic, 'p');
    const seen: string[] = [];
    bench.retained.slice('#', '', 100, ({ topic }) => {
      seen.push(topic);
      bench.retained.delete(topic);
      if (topic === 'a/1') {
        bench.retained.delete('a/2');
        bench.put('a/25', 'p');
      }
      return true;
    });
    const wanted = topics.slice(1).filter((topic) => topic !== 'a/2');
    assert.deepEqual(seen, wanted.toSpliced(wanted.indexOf('a/3'), 0, 'a/25'));
    assert.deepEqual([bench.found('#'), bench.retained.size], [[], 1]);
  });
}
