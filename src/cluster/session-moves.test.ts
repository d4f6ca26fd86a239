// What waits for a session on its way is let go of when its publisher, or the worker of that, is gone, and
// a move that failed is not over before all know where its member is. The moves themselves are tested with whole workers: test/regression/workers-move.test.ts.

import assert from 'node:assert/strict';
import test from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { MessageChannel } from 'node:worker_threads';
import { systemClock } from '#base/clock';
import type { Message } from '#core/message';
import type { Wait } from '#core/ports';
import { messageOn } from '#core/session-fixture';
import { DurableStore } from '#store/durable-store';
import { MemoryEngine } from '#store/memory-engine';
import { startBroker, type TestBroker } from '#test/broker';
import { HandedOn } from './handed-on.ts';
import { SessionMoves } from './session-moves.ts';
import { packHead } from './words.ts';
import { WorkerPeer } from './worker-peer.ts';

/** With worker 1 as the other one. */
function movesOf({ broker: ours }: TestBroker): { moves: SessionMoves; other: WorkerPeer } {
  const store = new DurableStore(new MemoryEngine(), { clock: systemClock });
  const { core } = ours;
  const handedOn = new HandedOn(store.records('handed-on'), 0);
  const other = new WorkerPeer(1, { core, handedOn, onWord: () => undefined });
  const flushedBy = (): undefined => undefined;
  const moves = new SessionMoves({ broker: ours, store, index: 0, peers: [other], flushedBy });
  return { moves, other };
}

/** Session `x`, a member of `$share/g/t`, is on its way from worker 1 to this one. */
function arriving(broker: TestBroker): { moves: SessionMoves; from: WorkerPeer } {
  const { moves, other: from } = movesOf(broker);
  const names = { clientId: 'x', username: undefined, provenUsername: undefined };
  const times = { createdAtMs: 0, expirySeconds: 1000, leftAtMs: 0, sentSeq: 0 };
  const head = packHead({ ...names, ...times, mountpoint: '', zone: 'external' });
  const wanted = { qos: 2, noLocal: false, retainAsPublished: false, retainHandling: 0 } as const;
  const name = { filter: '$share/g/t', routed: 't', group: 'g', subscriptionId: undefined };
  const offer = { clientId: 'x', move: 'm', no: 9, isStored: true, head, joinNos: {} };
  moves.onWord(from, ['offer', { ...offer, subscriptions: [{ ...name, ...wanted }] }]);
  return { moves, from };
}

function published(sessionNo: number, via: number): Message {
  const message = messageOn('t', { qos: 2 });
  message.passage = { sessionNo, packetId: 7 };
  message.via = via;
  return message;
}

async function isHeld(wait: Wait): Promise<boolean> {
  assert.ok(wait !== undefined);
  return Promise.race([wait.then(() => false), turn(true)]);
}

for (const why of ['its publisher moves', 'the worker of its publisher dies'] as const) {
  test(`a publish that waits for a session on its way is let go of when ${why}`, async () => {
    await using broker = await startBroker({ workers: 0 });
    const { moves, from } = arriving(broker);
    const group = broker.broker.core.filters.group('t', 'g');
    const [repeated, kept] = [group?.dispatch(published(5, 1)), group?.dispatch(published(6, 2))];
    assert.deepEqual([await isHeld(repeated), await isHeld(kept)], [true, true]);
    if (why === 'its publisher moves') moves.onWord(from, ['disown', 5]);
    else moves.peerDown(from);
    assert.equal(await isHeld(repeated), false);
    if (why === 'its publisher moves') assert.equal(await isHeld(kept), true);
  });
}

test('a move that fails is over when every worker knows that the member is here again', async () => {
  await using broker = await startBroker({ workers: 0 });
  const { moves, other } = movesOf(broker);
  const { port1, port2 } = new MessageChannel();
  other.up(port1);
  const client = await broker.connect({ clientId: 'x', properties: { sessionExpirySeconds: 9 } });
  await client.subscribe('$share/g/t', { qos: 2 });
  const told = Promise.withResolvers<void>();
  broker.broker.core.peers.member = () => told.promise;
  const session = broker.session('x');
  assert.ok(session !== undefined);
  const over = moves.send(session, other).catch(() => undefined);
  other.down();
  moves.peerDown(other);
  assert.equal(session.leaving, undefined);
  assert.equal(await isHeld(over), true);
  told.resolve();
  await over;
  port2.close();
});
