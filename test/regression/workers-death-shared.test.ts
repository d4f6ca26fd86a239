// A worker dies while members of a shared subscription are on their way to it or from it: whatever the
// others owe it and whoever comes after it knows, nothing acknowledged is lost or comes twice.

import assert from 'node:assert/strict';
import test from 'node:test';
import type { WorkerPeers } from '#cluster/worker-peers';
import type { Broker } from '#core/broker';
import { startBroker, type TestBroker } from '#test/broker';
import { until } from './event-turns.ts';
import { Taker, turns, twice, Writer } from './worker-company.ts';

const filter = '$share/g/t';
const properties = { sessionExpirySeconds: 1000 };

const peersOf = (broker: TestBroker, index: number): WorkerPeers =>
  (broker.brokers[index] as Broker).core.peers as WorkerPeers;

const recovered = (broker: TestBroker): Promise<void> =>
  until('all workers again', () => broker.isRecovered, 10_000);

/** No worker that dies is started again before the answer is called: this one has not heard of the death. */
function holdSuccessors(peers: WorkerPeers): () => void {
  const peerDown = peers.peerDown.bind(peers);
  const { promise, resolve } = Promise.withResolvers<void>();
  peers.peerDown = async (index) => {
    await peerDown(index);
    await promise;
  };
  return resolve;
}

/** Where the members of the group are, as this worker has it. */
const membersAt = (peers: WorkerPeers): number[] =>
  peers.core.filters.group('t', 'g')?.peerIndexes ?? [];

/** A member that has left `from` sets out for `to` and does not arrive: `from` does not hear the others' word. */
async function stuckMove(
  broker: TestBroker,
  origin: number,
  from: number,
  to: number,
): Promise<{ taker: Taker; giver: WorkerPeers; home: WorkerPeers; coming: Promise<unknown> }> {
  const taker = new Taker(broker, 'taker');
  await taker.come(from, [filter]);
  await taker.lose();
  const giver = peersOf(broker, from);
  const onWord = giver.onWord.bind(giver);
  giver.onWord = (peer, word) => {
    if (word[0] !== 'gone') onWord(peer, word);
  };
  const coming = taker.come(to).catch(() => undefined);
  const home = peersOf(broker, origin);
  await until('the move', () => membersAt(home).includes(to));
  return { taker, giver, home, coming };
}

const ways = [
  [0, 1, 2],
  [0, 2, 1],
  [1, 0, 2],
  [1, 2, 0],
  [2, 0, 1],
  [2, 1, 0],
] as const;

test('what waits for a member that a dead worker never got goes to where that one is', async () => {
  for (const [origin, from, to] of ways) {
    await using broker = await startBroker({ workers: 3 });
    const writer = new Writer(broker, 'writer');
    await writer.come(origin);
    const { taker, giver, coming } = await stuckMove(broker, origin, from, to);
    writer.publish('t', 2);
    writer.publish('t', 1);
    await turns();
    // The successor hears last of the worker that has the member.
    const peerUp = giver.peerUp.bind(giver);
    giver.peerUp = async (index, port) => {
      await turns(100);
      await peerUp(index, port);
    };
    broker.kill(to);
    await writer.untilBelow(1);
    await coming;
    await recovered(broker);
    await taker.come(from);
    await taker.untilAll(writer.acked);
    assert.deepEqual(twice(taker.payloads), []);
    assert.equal(writer.acked.length, 2);
  }
});

test('a member whose old and new worker die together is missed by nobody meanwhile', async () => {
  for (const [origin, from, to] of ways) {
    await using broker = await startBroker({ workers: 3 });
    const writer = new Writer(broker, 'writer');
    await writer.come(origin);
    const { taker, home, coming } = await stuckMove(broker, origin, from, to);
    writer.publish('t', 2);
    await turns();
    // The successor of the worker that never got it is heard before that of the one that has it.
    const peerUp = home.peerUp.bind(home);
    const heard = Promise.withResolvers<void>();
    home.peerUp = async (index, port) => {
      if (index === from) await heard.promise;
      await peerUp(index, port);
    };
    broker.kill(to);
    broker.kill(from);
    await until('the first successor', () => membersAt(home).includes(from));
    writer.publish('t', 1);
    writer.publish('t', 2);
    await turns();
    heard.resolve();
    await writer.untilBelow(1);
    await coming;
    await recovered(broker);
    await taker.come(from);
    await taker.untilAll(writer.acked);
    assert.deepEqual(twice(taker.payloads), []);
    assert.equal(writer.acked.length, 3);
  }
});

test('what waits with a third worker for a dead one is let go of there when its publisher has moved', async () => {
  const [origin, from, to] = [0, 1, 2];
  await using broker = await startBroker({ workers: 3 });
  const before = await broker.connect({ clientId: 'p', properties, worker: origin });
  const { taker, home, coming } = await stuckMove(broker, origin, from, to);
  before.sendPublish('t', 'first', { qos: 2, packetId: 7 });
  await turns();
  // The session stays with the dead worker, and what waited for it waits for the successor of that.
  const mayStart = holdSuccessors(peersOf(broker, to));
  broker.kill(from);
  await until('its return', () => membersAt(home).includes(from));
  const other = new Taker(broker, 'other');
  await other.come(origin, [filter]);
  before.destroy();
  const after = await broker.connect({ clientId: 'p', cleanStart: false, properties, worker: to });
  const publish = async (text: string, dup: boolean): Promise<void> => {
    after.sendPublish('t', text, { qos: 2, packetId: 7, dup });
    await after.next('pubrec');
    after.ack('pubrel', 7);
    await after.next('pubcomp');
  };
  await publish('first', true);
  await other.untilAll(['first']);
  mayStart();
  await coming;
  await recovered(broker);
  await publish('second', false);
  await other.untilAll(['first', 'second']);
  await taker.come(from);
  await turns();
  assert.deepEqual([...taker.payloads, ...other.payloads], ['first', 'second']);
});

test('what a publisher sends that has not moved after all is not let go of with what it sent before', async () => {
  for (const [origin, to, third] of ways) {
    await using broker = await startBroker({ workers: 3 });
    const takers = [new Taker(broker, 'plain'), new Taker(broker, 'member')];
    await takers[0]?.come(to, ['t']);
    await takers[1]?.come(to, [filter]);
    for (const taker of takers) await taker.lose();
    const writer = new Writer(broker, 'writer');
    await writer.come(origin);
    // One of those who are asked to flush takes its time, and the worker that the session was for dies.
    const slow = peersOf(broker, third);
    const onWord = slow.onWord.bind(slow);
    let answer = (): void => undefined;
    slow.onWord = (peer, word) => {
      if (word[0] !== 'flush') onWord(peer, word);
      else {
        slow.onWord = onWord;
        answer = () => onWord(peer, word);
      }
    };
    const idle = answer;
    const mayStart = holdSuccessors(slow);
    const coming = writer.come(to).catch(() => undefined);
    await until('the question', () => answer !== idle);
    broker.kill(to);
    await coming;
    await writer.come(origin);
    writer.publish('t', 2);
    writer.publish('t', 2);
    await turns();
    answer();
    await turns();
    mayStart();
    await writer.untilBelow(1);
    await recovered(broker);
    assert.equal(writer.acked.length, 2);
    for (const taker of takers) {
      await taker.come(origin);
      await taker.untilAll(writer.acked);
      assert.deepEqual(twice(taker.payloads), []);
    }
  }
});
