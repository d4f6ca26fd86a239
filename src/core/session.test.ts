import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import type { QoS } from '#wire/packet';
import {
  clientInfo,
  deafStore,
  deliveryTo,
  FakeLink,
  messageOn,
  publisher,
  type SessionBench,
  sessionBench,
} from './session-fixture.ts';

const given = process.env['FUZZ_SEED'];
const seed: number = given === undefined ? (Math.random() * 0x7fff_ffff) | 0 : Number(given);

function attach({ session }: SessionBench, window = 10, version: 3 | 4 | 5 = 5): FakeLink {
  const link = new FakeLink();
  session.attach(link, clientInfo('s', version), window);
  session.out.pump();
  return link;
}

function deliver({ session }: SessionBench, payload: string, qos: QoS = 1, size = 0): void {
  const message = messageOn('t', { payload: payload.padEnd(size), qos });
  void session.deliver(message, deliveryTo(session, { qos: 2 }));
}

test('a session lowers the QoS to that of the subscription', () => {
  const bench = sessionBench();
  const link = attach(bench);
  const { session } = bench;
  for (const granted of [0, 1, 2] as const) {
    for (const qos of [0, 1, 2] as const) {
      void session.deliver(messageOn('t', { qos }), deliveryTo(session, { qos: granted }));
    }
  }
  assert.deepEqual(
    link.published.map(({ qos }) => qos),
    [0, 0, 0, 0, 1, 1, 0, 1, 2],
  );
});

test('a session of a zone that upgrades raises the QoS to that of the subscription', () => {
  const bench = sessionBench({ upgradeQos: true });
  const link = attach(bench);
  const { session } = bench;
  for (const qos of [0, 1, 2] as const) {
    void session.deliver(messageOn('t', { qos }), deliveryTo(session, { qos: 1 }));
  }
  assert.deepEqual(
    link.published.map(({ qos }) => qos),
    [1, 1, 2],
  );
});

test('a session sends as much as the window allows and the rest when it is acknowledged', () => {
  const bench = sessionBench();
  const link = attach(bench, 2);
  for (const payload of ['1', '2', '3', '4']) deliver(bench, payload);
  assert.deepEqual(link.payloads, ['1', '2']);
  assert.equal(bench.session.isReady, false);
  assert.equal(bench.session.onPuback(link.published[0]?.packetId as number, 0), 'done');
  assert.deepEqual(link.payloads, ['1', '2', '3']);
  assert.equal(bench.session.onPuback(link.published[2]?.packetId as number, 0), 'done');
  assert.deepEqual(link.payloads, ['1', '2', '3', '4']);
  assert.equal(bench.session.out.queue.length, 0);
});

test('a session keeps QoS 2 in its window until PUBCOMP', () => {
  const bench = sessionBench();
  const link = attach(bench, 1);
  deliver(bench, 'one', 2);
  deliver(bench, 'two', 2);
  const id = link.published[0]?.packetId as number;
  assert.equal(bench.session.onPubcomp(id), 'unknown');
  assert.equal(bench.session.onPuback(id, 0), 'unknown');
  assert.equal(bench.session.onPubrec(id, 0), 'done');
  assert.deepEqual(link.released, [id]);
  assert.deepEqual(link.payloads, ['one']);
  assert.equal(bench.session.onPubrec(id, 0), 'done');
  assert.deepEqual(link.released, [id, id], 'a repeated PUBREC is answered again');
  assert.equal(bench.session.onPubcomp(id), 'done');
  assert.deepEqual(link.payloads, ['one', 'two']);
  assert.equal(bench.session.onPubcomp(id), 'unknown');
});

test('a session ends a QoS 2 message that the client refuses', () => {
  const bench = sessionBench();
  const link = attach(bench, 1);
  deliver(bench, 'one', 2);
  deliver(bench, 'two', 2);
  assert.equal(bench.session.onPubrec(link.published[0]?.packetId as number, 0x83), 'done');
  assert.deepEqual(link.released, []);
  assert.deepEqual(link.payloads, ['one', 'two']);
});

test('a session knows no acknowledgement for the wrong QoS', () => {
  const bench = sessionBench();
  const link = attach(bench);
  deliver(bench, 'one', 1);
  const id = link.published[0]?.packetId as number;
  assert.equal(bench.session.onPubrec(id, 0), 'unknown');
  assert.equal(bench.session.onPubcomp(id), 'unknown');
  assert.equal(bench.session.onPuback(id + 1, 0), 'unknown');
  assert.equal(bench.session.onPuback(id, 0), 'done');
});

test('a session without a link queues QoS 1 and drops QoS 0 unless it is stored', () => {
  const strict = sessionBench({ mqueueStoreQos0: false });
  deliver(strict, 'zero', 0);
  deliver(strict, 'one', 1);
  assert.deepEqual(strict.dropped, [{ payload: 'zero', reason: 'qos0_offline' }]);
  assert.deepEqual(attach(strict).payloads, ['one']);
  const kind = sessionBench({ mqueueStoreQos0: true });
  deliver(kind, 'zero', 0);
  deliver(kind, 'one', 1);
  assert.deepEqual(attach(kind).payloads, ['zero', 'one']);
  assert.deepEqual(kind.dropped, []);
});

test('a session does not let younger QoS 0 messages overtake queued ones', () => {
  const bench = sessionBench({ mqueueStoreQos0: true });
  deliver(bench, 'old 1', 1);
  deliver(bench, 'old 0', 0);
  const link = attach(bench, 1);
  assert.deepEqual(link.payloads, ['old 1']);
  assert.equal(bench.session.out.isClearForQos0, false);
  deliver(bench, 'young 0', 0);
  assert.deepEqual(link.payloads, ['old 1']);
  bench.session.onPuback(link.published[0]?.packetId as number, 0);
  assert.deepEqual(link.payloads, ['old 1', 'old 0', 'young 0']);
  assert.equal(bench.session.out.isClearForQos0, true);
});

test('a session drops the oldest when its queue is full', () => {
  const bench = sessionBench({ maxMqueueLen: 2, mqueueStoreQos0: true });
  deliver(bench, 'zero', 0);
  for (const payload of ['1', '2', '3']) deliver(bench, payload);
  assert.deepEqual(
    bench.dropped.map(({ payload, reason }) => `${payload} ${reason}`),
    ['zero queue_full', '1 queue_full'],
  );
  assert.equal(bench.session.out.isClearForQos0, true);
  assert.deepEqual(attach(bench).payloads, ['2', '3']);
});

test('a session drops QoS 0 and queues QoS 1 while the outbox has no room', () => {
  const bench = sessionBench();
  const link = attach(bench);
  link.room = -1;
  deliver(bench, 'zero', 0);
  deliver(bench, 'one', 1);
  assert.deepEqual(bench.dropped, [{ payload: 'zero', reason: 'outbox_full' }]);
  assert.deepEqual(link.payloads, []);
  link.room = Number.POSITIVE_INFINITY;
  bench.session.out.pump();
  assert.deepEqual(link.payloads, ['one']);
});

test('a session counts an early acknowledgement of what it has not sent again', () => {
  const bench = sessionBench();
  const first = attach(bench, 3);
  for (const payload of ['1', '2', '3']) deliver(bench, payload);
  const [one, two, three] = first.published.map(({ packetId }) => packetId) as [
    number,
    number,
    number,
  ];
  bench.session.detach();
  const link = attach(bench, 1);
  deliver(bench, '4');
  assert.equal(bench.session.onPuback(two, 0), 'done');
  assert.deepEqual(link.payloads, ['1'], 'the window is still full');
  bench.session.onPuback(one, 0);
  bench.session.onPuback(three, 0);
  assert.deepEqual(link.payloads, ['1', '3', '4']);
});

test('a session drops queued messages that have expired', () => {
  const bench = sessionBench();
  const { session, clock } = bench;
  const properties = { messageExpirySeconds: 10 };
  const message = messageOn('t', { qos: 1, properties, timestampMs: clock.nowMs() });
  void session.deliver(message, deliveryTo(session, { qos: 1 }));
  deliver(bench, 'lasts');
  clock.advance(11_000);
  assert.deepEqual(attach(bench).payloads, ['lasts']);
  assert.deepEqual(bench.dropped, [{ payload: 'x', reason: 'expired' }]);
  assert.equal(bench.metrics.get('messages/expired'), 1);
});

test('a session sends again what was in flight, in order and as duplicates, before the queue', () => {
  const bench = sessionBench();
  const first = attach(bench, 3);
  for (const payload of ['1', '2', '3', '4']) deliver(bench, payload, payload === '2' ? 2 : 1);
  bench.session.onPubrec(first.published[1]?.packetId as number, 0);
  bench.session.detach();
  deliver(bench, '5');
  const second = attach(bench, 10);
  assert.deepEqual(second.payloads, ['1', '3', '4', '5']);
  assert.deepEqual(
    second.published.map(({ isDuplicate }) => isDuplicate),
    [true, true, false, false],
  );
  assert.deepEqual(second.released, [first.published[1]?.packetId]);
  assert.equal(second.published[0]?.packetId, first.published[0]?.packetId);
});

test('a session sends again within the window of the new connection', () => {
  const bench = sessionBench();
  attach(bench, 3);
  for (const payload of ['1', '2', '3']) deliver(bench, payload);
  bench.session.detach();
  const link = attach(bench, 1);
  deliver(bench, '4');
  const order: string[] = [];
  for (let i = 0; i < 4; i++) {
    assert.equal(link.published.length, i + 1);
    order.push(link.payloads[i] as string);
    bench.session.onPuback(link.published[i]?.packetId as number, 0);
  }
  assert.deepEqual(order, ['1', '2', '3', '4']);
});

test('a session sends again to a v3 client what it does not acknowledge', () => {
  const bench = sessionBench({ retryIntervalMs: 30_000 });
  const link = attach(bench, 10, 4);
  deliver(bench, 'one');
  bench.clock.advance(31_000);
  assert.deepEqual(link.payloads, ['one', 'one']);
  assert.equal(link.published[1]?.isDuplicate, true);
  bench.session.onPuback(link.published[0]?.packetId as number, 0);
  bench.clock.advance(100_000);
  assert.equal(link.published.length, 2);
});

test('a session never sends again to a v5 client on the same connection', () => {
  const bench = sessionBench({ retryIntervalMs: 30_000 });
  const link = attach(bench, 10, 5);
  deliver(bench, 'one');
  bench.clock.advance(100_000);
  assert.equal(link.published.length, 1);
});

test('a session leaves out its own messages when the subscription says so', () => {
  const bench = sessionBench();
  const link = attach(bench);
  const { session } = bench;
  const own = messageOn('t', { payload: 'own', qos: 1, from: { ...publisher, clientId: 's' } });
  const noLocal = deliveryTo(session, { qos: 2, noLocal: true, isPlain: false });
  void session.deliver(own, noLocal);
  assert.deepEqual(bench.dropped, [{ payload: 'own', reason: 'no_local' }]);
  assert.equal(bench.metrics.get('messages/dropped'), 0);
  void session.deliver(messageOn('t', { payload: 'other' }), noLocal);
  const open = deliveryTo(session, { qos: 0 });
  void session.deliver(own, deliveryTo(session, { qos: 2, mixed: [noLocal, open] }));
  assert.deepEqual(
    link.published.map(({ message, qos }) => `${message.payload} ${qos}`),
    ['other 0', 'own 0'],
  );
});

test('a session waits for the store only for QoS 1 and 2 of a durable session', () => {
  const flushed = Promise.resolve();
  const store = { ...deafStore, flushed: () => flushed };
  const durable = sessionBench({}, { expirySeconds: 10, store });
  const brief = sessionBench({}, { expirySeconds: 0, store });
  for (const { session, expected } of [
    { session: durable.session, expected: flushed },
    { session: brief.session, expected: undefined },
  ]) {
    const delivery = deliveryTo(session, { qos: 2 });
    assert.equal(session.deliver(messageOn('t', { qos: 1 }), delivery), expected);
    assert.equal(session.deliver(messageOn('t', { qos: 0 }), delivery), undefined);
  }
});

test('a session gives back what shared subscriptions left, except QoS 2 that was sent', () => {
  const bench = sessionBench();
  const { session } = bench;
  attach(bench, 2);
  session.subscriptions.set('$share/g/t', {
    filter: '$share/g/t',
    routed: 't',
    group: 'g',
    qos: 2,
    noLocal: false,
    retainAsPublished: false,
    retainHandling: 0,
    subscriptionId: undefined,
  });
  const group = { name: 'g', filter: 't', redispatch: () => undefined };
  const give = (payload: string, qos: QoS, isShared = true): void =>
    void session.deliver(
      messageOn('t', { payload, qos }),
      deliveryTo(session, { qos: 2, group: isShared ? group : undefined }),
    );
  give('sent 1', 1);
  give('sent 2', 2);
  give('queued 2', 2);
  give('queued own', 1, false);
  give('queued 1', 1);
  assert.deepEqual(
    session.takeUnfinished().map(({ message }) => message.payload.toString()),
    ['sent 1', 'queued 2', 'queued 1'],
  );
  assert.equal(session.out.queue.length, 1);
  assert.equal(session.out.window.inflight.size, 1);
});

test('a session that has left its group gives back what it was sent and did not acknowledge', () => {
  const bench = sessionBench();
  const { session } = bench;
  attach(bench, 1);
  const group = { name: 'g', filter: 't', redispatch: () => undefined };
  const give = (payload: string): void =>
    void session.deliver(
      messageOn('t', { payload, qos: 1 }),
      deliveryTo(session, { qos: 1, group }),
    );
  give('sent');
  give('queued');
  assert.deepEqual(
    session.takeUnsent(() => true).map(({ message }) => message.payload.toString()),
    ['queued'],
  );
  assert.deepEqual(
    session.takeUnfinished().map(({ message }) => message.payload.toString()),
    ['sent'],
  );
});

test('a message whose packet id is still in flight waits, also a retained one', () => {
  for (const isReplay of [false, true]) {
    const bench = sessionBench({ maxMqueueLen: 0 }, { expirySeconds: 10 });
    const { session } = bench;
    const link = attach(bench, 10);
    const delivery = deliveryTo(session, { qos: 1, isReplay });
    const give = (payload: string): void => {
      const message = messageOn('t', { payload, qos: 1 });
      if (isReplay) session.out.replay(message, delivery);
      else void session.deliver(message, delivery);
    };
    give('never acknowledged');
    for (let i = 2; i <= 0xffff; i++) {
      give('acknowledged');
      session.onPuback(link.published.pop()?.packetId as number, 0);
    }
    give('the same id');
    assert.deepEqual(link.payloads, ['never acknowledged']);
    session.onPuback(link.published[0]?.packetId as number, 0);
    assert.deepEqual(link.payloads, ['never acknowledged', 'the same id']);
    assert.equal(link.published[0]?.packetId, link.published[1]?.packetId);
  }
});

test('a session tells who acknowledged what, once per message', () => {
  const bench = sessionBench();
  const { session, hooks } = bench;
  const acked: string[] = [];
  hooks.on('message.acked', 'test', (client, { payload }) => {
    acked.push(`${client.clientId} ${payload.toString()}`);
  });
  const link = attach(bench);
  deliver(bench, 'one', 1);
  deliver(bench, 'two', 2);
  deliver(bench, 'refused', 1);
  const [one, two, refused] = link.published.map(({ packetId }) => packetId) as [
    number,
    number,
    number,
  ];
  session.onPuback(one, 0);
  session.onPubrec(two, 0);
  session.onPubrec(two, 0);
  session.onPubcomp(two);
  session.onPuback(refused, 0x87);
  assert.deepEqual(acked, ['s one', 's two']);
});

test('a session that is over holds nothing', () => {
  const bench = sessionBench();
  attach(bench, 1);
  deliver(bench, 'one');
  deliver(bench, 'two');
  bench.session.awaitingRel.add(1);
  bench.session.clear();
  const { session } = bench;
  assert.deepEqual(bench.dropped, [{ payload: 'two', reason: 'session_ended' }]);
  assert.deepEqual(
    [
      session.link,
      session.out.window.inflight.size,
      session.out.queue.length,
      session.awaitingRel.size,
    ],
    [null, 0, 0, 0],
  );
});

interface Step {
  readonly do: 'deliver' | 'ack' | 'leave' | 'return' | 'room';
  readonly qos: QoS;
  readonly at: number;
  readonly answer: 'sent' | 'too_large' | 'dropped';
}
const steps = fc.array(
  fc.record<Step>({
    do: fc.constantFrom('deliver', 'deliver', 'deliver', 'ack', 'ack', 'leave', 'return', 'room'),
    qos: fc.constantFrom<QoS>(0, 1, 2),
    at: fc.nat(20),
    answer: fc.constantFrom('sent', 'sent', 'sent', 'sent', 'too_large', 'dropped'),
  }),
  { maxLength: 150 },
);

test('a session sends, queues or drops every message it is given, exactly once', (t) => {
  t.diagnostic(`FUZZ_SEED=${seed}`);
  const law = fc.property(steps, fc.integer({ min: 1, max: 4 }), (all, window) => {
    const bench = sessionBench({ maxMqueueLen: 5, mqueueStoreQos0: true });
    const { session } = bench;
    let link: FakeLink | undefined = attach(bench, window);
    const first = new Map<string, number>();
    const given: string[] = [];
    const note = (from: FakeLink): void => {
      for (const { message, isDuplicate, qos } of from.published.splice(0)) {
        const payload = message.payload.toString();
        if (!isDuplicate) first.set(payload, (first.get(payload) ?? 0) + 1);
        else assert.ok(qos > 0 && first.has(payload), 'only what was sent is sent again');
      }
    };
    for (const [i, step] of all.entries()) {
      if (step.do === 'deliver') {
        if (link !== undefined) link.answer = step.answer;
        given.push(`${i}`);
        deliver(bench, `${i}`, step.qos);
        if (link !== undefined) link.answer = 'sent';
      } else if (step.do === 'ack' && link !== undefined) {
        // What the client can acknowledge is what it has: the oldest that are not beyond the window.
        const entry = session.out.window.inflight.inOrder()[step.at % window];
        if (entry !== undefined) acknowledge(bench, entry.packetId);
      } else if (step.do === 'leave') {
        session.detach();
        link = undefined;
      } else if (step.do === 'return' && link === undefined) {
        link = attach(bench, window);
      } else if (step.do === 'room' && link !== undefined) {
        link.room = step.at < 10 ? -1 : Number.POSITIVE_INFINITY;
        session.out.pump();
      }
      if (link !== undefined) note(link);
    }
    const queued = session.out.queue
      .extract(() => true)
      .map(({ message }) => message.payload.toString());
    const dropped = bench.dropped.map(({ payload }) => payload);
    const sent = [...first].flatMap(([payload, times]) => new Array<string>(times).fill(payload));
    const byNumber = (a: string, b: string): number => Number(a) - Number(b);
    assert.deepEqual([...sent, ...queued, ...dropped].sort(byNumber), given);
  });
  fc.assert(law, { seed, numRuns: 300 });
});

function acknowledge({ session }: SessionBench, packetId: number): void {
  if (session.onPuback(packetId, 0) === 'done') return;
  if (session.out.window.inflight.get(packetId)?.message === undefined) session.onPubcomp(packetId);
  else session.onPubrec(packetId, 0);
}
