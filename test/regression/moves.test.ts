// What once went wrong when sessions moved from worker to worker: what the worker that had one still did
// or did not do for it afterwards.

import assert from 'node:assert/strict';
import test from 'node:test';
import { RemoteMember } from '#core/remote-member';
import { startBroker, type TestBroker } from '#test/broker';
import { SlowEngine } from '#test/slow-engine';
import { settled, until } from './event-turns.ts';

const lasting = { cleanStart: false, properties: { sessionExpirySeconds: 1000 } } as const;

function coreOf(broker: TestBroker, worker: number): TestBroker['broker']['core'] {
  const found = broker.brokers[worker];
  assert.ok(found !== undefined);
  return found.core;
}

test('a member whose move has failed is a member again where it was', async () => {
  const engine = new SlowEngine();
  await using broker = await startBroker({ workers: 3, engine });
  const before = await broker.connect({ ...lasting, clientId: 'x', worker: 0 });
  await before.subscribe('$share/g/t', { qos: 1 });
  await broker.lose(before, 'x');
  await broker.flushed();
  const coming = await broker.open(5, 1);
  const refused = coming.connect({ ...lasting, clientId: 'x' }).catch((error: unknown) => error);
  const { filters, sessions } = coreOf(broker, 0);
  await until(
    'the member elsewhere',
    () => filters.group('t', 'g')?.sessionOf('x') instanceof RemoteMember,
  );
  // Worker 0 has something to flush before it may let the session go.
  engine.hold();
  broker.workers?.stores[0]?.records('test').put('key', 1);
  broker.workers?.kill(1);
  await until('the session to stay', () => sessions.find('x')?.leaving === undefined);
  engine.pass();
  await refused;
  await until('the successor', () => broker.workers?.workers.registry.ownerOf('x') === 0);
  const writer = await broker.connect({ worker: 2 });
  assert.equal((await writer.publish('t', 'for the member', { qos: 1 }))?.reasonCode, 0);
  const after = await broker.connect({ ...lasting, clientId: 'x', worker: 0 });
  assert.deepEqual(await after.receivePayloads(1), ['for the member']);
});

test('a packet id that is taken anew after a move is not freed by the worker that had the session', async () => {
  await using broker = await startBroker({ workers: 2, zone: { awaitRelTimeoutMs: 10_000 } });
  const before = await broker.connect({ ...lasting, clientId: 'p', worker: 0 });
  before.sendPublish('t', 'first', { qos: 2, packetId: 7 });
  await before.next('pubrec');
  broker.advance(5000);
  const after = await broker.connect({ ...lasting, clientId: 'p', worker: 1 });
  after.ack('pubrel', 7);
  await after.next('pubcomp');
  after.sendPublish('t', 'second', { qos: 2, packetId: 7 });
  await after.next('pubrec');
  // The time of the first is over, that of the second is not.
  broker.advance(6000);
  await settled();
  await broker.flushed();
  const taken = broker.session('p')?.journal?.stored.taken() ?? [];
  assert.deepEqual(
    [...taken].map(([packetId]) => packetId),
    [7],
  );
});

test('what a session has taken along is not counted where it was', async () => {
  await using broker = await startBroker({ workers: 2, zone: { mqueueStoreQos0: true } });
  const before = await broker.connect({ ...lasting, clientId: 's', worker: 0 });
  await before.subscribe('t');
  await broker.lose(before, 's');
  const writer = await broker.connect({ worker: 0 });
  await writer.publish('t', Buffer.alloc(1000));
  const heldIn = (worker: number): number => coreOf(broker, worker).flusher.pressure.held.messages;
  assert.ok(heldIn(0) > 1000);
  const after = await broker.connect({ ...lasting, clientId: 's', worker: 1 });
  assert.equal((await after.receive()).payload.length, 1000);
  assert.deepEqual([heldIn(0), heldIn(1)], [0, 0]);
});
