// Laws: a page of several workers is that of one list of all their rows, whichever worker has which;
// pages one after the other have every row once; a worker that does not answer is not passed over.

import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import test from 'node:test';
import fc from 'fast-check';
import type { Broker } from '#core/broker';
import { behind, type ListKind, rowKey } from './list-orders.ts';
import { ListUnanswered, readPage, readRows } from './list-reader.ts';
import { asked, brokerWithout, connected, subscribed } from './lists-fixture.ts';

const kinds: readonly ListKind[] = ['connections', 'sessions', 'subscriptions', 'routes'];

type Step =
  | { readonly do: 'connect' | 'leave' | 'end'; readonly client: number }
  | { readonly do: 'subscribe' | 'unsubscribe'; readonly client: number; readonly topic: number };

const client = fc.nat(40);
const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ do: fc.constantFrom('connect' as const, 'leave' as const, 'end' as const), client }),
  fc.record({
    do: fc.constantFrom('subscribe' as const, 'subscribe' as const, 'unsubscribe' as const),
    client,
    topic: fc.nat(30),
  }),
);

/** The node as plain maps. */
interface Model {
  readonly sessions: Map<string, Set<string>>;
  readonly connected: Map<string, () => void>;
}

function take(brokers: readonly Broker[], model: Model, next: Step): void {
  const place = next.client % brokers.length;
  const broker = brokers[place] as Broker;
  const clientId = `c${next.client}`;
  const { sessions, subscriptions } = broker.core;
  if (next.do === 'connect') {
    model.connected.set(clientId, connected(broker, clientId));
    if (!model.sessions.has(clientId)) model.sessions.set(clientId, new Set());
  } else if (next.do === 'leave') {
    model.connected.get(clientId)?.();
    model.connected.delete(clientId);
  } else if (next.do === 'end') {
    void sessions.discard(clientId);
    model.sessions.delete(clientId);
    model.connected.delete(clientId);
  } else if ('topic' in next) {
    // Each filter in one worker, as the node counts them.
    const filter = `${next.topic % 3 === 0 ? '$share/g/' : ''}${place}/${next.topic}`;
    const session = sessions.find(clientId);
    if (session === undefined) return;
    if (next.do === 'subscribe') subscribed(broker, clientId, [filter]);
    else subscriptions.remove(session, filter);
    const filters = model.sessions.get(clientId);
    if (next.do === 'subscribe') filters?.add(filter);
    else filters?.delete(filter);
  }
}

const plain = (filter: string): string => filter.replace('$share/g/', '');

function expected({ sessions, connected: open }: Model, kind: ListKind): string[] {
  const pairs = [...sessions].flatMap(([id, filters]) => [...filters].map((one) => [id, one]));
  const all = {
    connections: [...open.keys()],
    sessions: [...sessions.keys()],
    subscriptions: pairs.map(([id, one = '']) => `${id}\0${plain(one)}\0${one}`),
    routes: [...new Set(pairs.map(([, one = '']) => plain(one)))],
  };
  return all[kind].sort();
}

for (const workers of [1, 3]) {
  test(`pages of ${workers} workers are those of one sorted list, whatever happened before`, async (t) => {
    const seed = Number(process.env['SEED'] ?? randomInt(2 ** 31));
    t.diagnostic(`SEED=${seed}`);
    const steps = fc.array(step, { maxLength: 300, size: 'max' });
    const law = fc.asyncProperty(steps, fc.integer({ min: 1, max: 12 }), async (list, limit) => {
      const brokers = Array.from({ length: workers }, () => brokerWithout(t));
      const model: Model = { sessions: new Map(), connected: new Map() };
      for (const next of list) take(brokers, model, next);
      for (const kind of kinds) {
        const wanted = expected(model, kind);
        for (let offset = 0; offset < wanted.length + limit; offset += limit) {
          const { rows, count } = await readPage(asked(brokers), kind, { offset, limit });
          assert.equal(count, wanted.length);
          assert.deepEqual(rows.map(rowKey), wanted.slice(offset, offset + limit));
        }
        assert.deepEqual((await readRows(asked(brokers), kind, {})).map(rowKey), wanted);
      }
      for (const broker of brokers) broker.stop();
    });
    await fc.assert(law, { seed, numRuns: 40 });
  });
}

/** Of three workers, the first having most of what comes first. */
function crowd(t: test.TestContext, count: number): { brokers: Broker[]; ids: string[] } {
  const brokers = Array.from({ length: 3 }, () => brokerWithout(t));
  const ids = Array.from({ length: count }, (_, i) => `c${String(i).padStart(6, '0')}`);
  for (const [i, id] of ids.entries()) {
    const place = i < count / 3 ? 0 : i % 3;
    subscribed(brokers[place] as Broker, id, [`t/${id}`, `u/${id}`]);
  }
  return { brokers, ids };
}

test('pages far behind are found in long lists of workers that have unlike shares', async (t) => {
  const { brokers, ids } = crowd(t, 30_000);
  for (const page of [0, 1, 499, 1000, 2999]) {
    const offset = page * 10;
    const wanted = ids.slice(offset, offset + 10);
    const sessions = await readPage(asked(brokers), 'sessions', { offset, limit: 10 });
    assert.deepEqual(sessions.rows.map(rowKey), wanted);
    assert.equal(sessions.count, 30_000);
    const halves = await readPage(asked(brokers), 'subscriptions', {
      offset: offset + 1,
      limit: 3,
    });
    assert.deepEqual(
      halves.rows.map(({ topic }) => topic),
      [`u/${ids[offset / 2]}`, `t/${ids[offset / 2 + 1]}`, `u/${ids[offset / 2 + 1]}`],
    );
    assert.equal(halves.count, 60_000);
  }
});

test('a page costs as many questions far behind as in front', async (t) => {
  const { brokers } = crowd(t, 30_000);
  const workers = asked(brokers);
  const counted = async (offset: number): Promise<number> => {
    let questions = 0;
    await readPage(
      {
        everywhere: (...args) => {
          questions++;
          return workers.everywhere(...args);
        },
      },
      'sessions',
      { offset, limit: 10 },
    );
    return questions;
  };
  const near = await counted(100);
  assert.ok(near <= 10, `${near} questions`);
  assert.ok((await counted(29_000)) <= near);
});

test('a page of several thousand rows is whole and in order', async (t) => {
  const { brokers, ids } = crowd(t, 9000);
  const { rows } = await readPage(asked(brokers), 'sessions', { offset: 500, limit: 8000 });
  assert.deepEqual(rows.map(rowKey), ids.slice(500, 8500));
});

test('the rows of one client are found by its id alone', async (t) => {
  const broker = brokerWithout(t);
  subscribed(broker, 'a', ['x', 'y']);
  subscribed(broker, 'a ', ['z']);
  subscribed(broker, 'ab', ['z']);
  const of = { from: 'a', to: behind('a') };
  assert.equal((await readRows(asked([broker]), 'subscriptions', of)).length, 2);
  assert.equal((await readRows(asked([broker]), 'sessions', of)).length, 1);
});

test('a session that two workers have while it moves is listed once', async (t) => {
  const brokers = [brokerWithout(t), brokerWithout(t)];
  for (const broker of brokers) subscribed(broker, 'a', ['x']);
  for (const kind of ['sessions', 'subscriptions'] as const) {
    assert.equal((await readRows(asked(brokers), kind, {})).length, 1);
  }
});

test('a list that a worker does not answer for is refused', async (t) => {
  const broker = brokerWithout(t);
  const workers = asked([broker]);
  const lost = async (): Promise<{ answers: []; missing: [[string, string]] }> => ({
    answers: [],
    missing: [['worker 1', 'no answer within 10 ms']],
  });
  const expectedError = {
    name: 'ListUnanswered',
    message: 'Cannot list sessions: worker 1 did not answer: no answer within 10 ms',
  };
  const asking = readPage({ ...workers, everywhere: lost }, 'sessions', { offset: 0, limit: 1 });
  await assert.rejects(asking, expectedError);
  await assert.rejects(asking, ListUnanswered);
});

test('a list that nobody waits for any more is not read to its end', async (t) => {
  const broker = brokerWithout(t);
  for (let i = 0; i < 2500; i++) subscribed(broker, `c${i}`, []);
  const signal = AbortSignal.abort(new Error('gone'));
  await assert.rejects(readRows(asked([broker]), 'sessions', { signal }), /gone/);
});
