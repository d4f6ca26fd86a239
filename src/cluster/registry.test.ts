import assert from 'node:assert/strict';
import test from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { VirtualClock } from '#base/clock';
import { type GivenUp, type GiveUp, Registry } from './registry.ts';

interface Asked {
  readonly worker: number;
  readonly order: GiveUp;
  readonly settle: (outcome: GivenUp | Error) => Promise<void>;
}

interface Bench {
  readonly registry: Registry;
  readonly clock: VirtualClock;
  readonly asked: Asked[];
  /** Grants, refusals and orders as they were said: `grant 1 c`, `ask 0 c`. */
  readonly said: string[];
  readonly faults: unknown[];
  readonly claim: (worker: number, clientId: string, cleanStart?: boolean) => void;
}

function bench(options: { claimsMax?: number } = {}): Bench {
  const clock = new VirtualClock();
  const asked: Asked[] = [];
  const said: string[] = [];
  const faults: unknown[] = [];
  const registry = new Registry({
    clock,
    ...options,
    ask(worker, order) {
      said.push(`ask ${worker} ${order.clientId}`);
      const { promise, resolve, reject } = Promise.withResolvers<GivenUp>();
      const settle = async (outcome: GivenUp | Error): Promise<void> => {
        if (outcome instanceof Error) reject(outcome);
        else resolve(outcome);
        await turn();
      };
      asked.push({ worker, order, settle });
      return promise;
    },
    onFault: (error) => faults.push(error),
  });
  const claim = (worker: number, clientId: string, cleanStart = false): void => {
    const request = { clientId, cleanStart, provenUsername: 'ann', mountpoint: 'm/' };
    registry.claim(worker, request, (refusal) => {
      said.push(refusal?.message ?? `grant ${worker} ${clientId}`);
    });
  };
  return { registry, clock, asked, said, faults, claim };
}

test('a Registry grants at once what nobody owns and what the claimant owns', () => {
  const { registry, said, claim } = bench();
  claim(1, 'c');
  claim(1, 'c');
  assert.deepEqual(said, ['grant 1 c', 'grant 1 c']);
  assert.equal(registry.ownerOf('c'), 1);
  assert.equal(registry.size, 1);
  assert.equal(registry.busy, 0);
});

test('a Registry tells the owner who asks for what, and grants when it has given up', async () => {
  for (const outcome of ['ended', 'moved'] as const) {
    const { registry, said, asked, claim } = bench();
    registry.adopt(0, ['c']);
    claim(2, 'c', true);
    assert.deepEqual(asked[0]?.order, {
      clientId: 'c',
      cleanStart: true,
      provenUsername: 'ann',
      mountpoint: 'm/',
      to: 2,
    });
    assert.equal(registry.ownerOf('c'), 0);
    assert.deepEqual([registry.busy, registry.waiting], [1, 1]);
    await asked[0]?.settle(outcome);
    assert.deepEqual(said, ['ask 0 c', 'grant 2 c']);
    assert.equal(registry.ownerOf('c'), 2);
    assert.deepEqual([registry.busy, registry.waiting], [0, 0]);
  }
});

test('a Registry serves all claims of one id in turn, and answers before it asks the same worker', async () => {
  const { registry, said, asked, claim } = bench();
  claim(0, 'c');
  claim(1, 'c');
  claim(1, 'c');
  claim(0, 'c');
  claim(2, 'c');
  for (let i = 0; i < 3; i += 1) await asked[i]?.settle('moved');
  assert.deepEqual(said, [
    ...['grant 0 c', 'ask 0 c', 'grant 1 c', 'grant 1 c', 'ask 1 c'],
    ...['grant 0 c', 'ask 0 c', 'grant 2 c'],
  ]);
  assert.equal(registry.busy, 0);
});

test('a Registry does not let one id wait for another', async () => {
  const { said, asked, claim } = bench();
  claim(0, 'a');
  claim(1, 'a');
  claim(1, 'b');
  await asked[0]?.settle('ended');
  assert.deepEqual(said, ['grant 0 a', 'ask 0 a', 'grant 1 b', 'grant 1 a']);
});

test('a Registry frees an id when its owner releases it, and ignores anybody else', () => {
  const { registry, claim } = bench();
  claim(0, 'c');
  registry.release(1, 'c');
  assert.equal(registry.ownerOf('c'), 0);
  registry.release(0, 'c');
  assert.equal(registry.ownerOf('c'), undefined);
  assert.equal(registry.size, 0);
  registry.release(0, 'c');
});

test('a release that crosses with an order to give up frees the id for nobody but the claimant', async () => {
  const { registry, said, asked, claim } = bench();
  claim(0, 'c');
  claim(1, 'c');
  registry.release(0, 'c');
  claim(2, 'c');
  assert.deepEqual(said, ['grant 0 c', 'ask 0 c']);
  await asked[0]?.settle('ended');
  assert.deepEqual(said.slice(2), ['grant 1 c', 'ask 1 c']);
});

test('a release does not count when its worker dies: the successor knows what came to disk', async () => {
  const { registry, said, asked, claim } = bench();
  registry.adopt(0, ['c', 'd']);
  claim(1, 'c');
  registry.release(0, 'c');
  const settled = registry.down(0);
  registry.release(0, 'd');
  await asked[0]?.settle(new Error('Worker 0 died'));
  await settled;
  assert.deepEqual([...registry.ownedBy(0)], ['c', 'd']);
  assert.deepEqual(said, ['ask 0 c']);
});

test('a release that follows a refusal to give up counts, though it is heard before it', async () => {
  const { registry, said, asked, faults, claim } = bench();
  claim(0, 'c');
  claim(1, 'c');
  const settled = asked[0]?.settle(new Error('Disk full'));
  registry.release(0, 'c');
  await settled;
  assert.deepEqual(said[2], 'Cannot claim "c": worker 0 did not give it up');
  assert.equal(registry.ownerOf('c'), undefined);
  assert.equal(faults.length, 1);
});

test('a claim fails and the next is served when a live owner does not give up', async () => {
  const { registry, said, asked, faults, claim } = bench();
  claim(0, 'c');
  claim(1, 'c');
  claim(2, 'c');
  await asked[0]?.settle(new Error('Disk full'));
  assert.equal(registry.ownerOf('c'), 0);
  assert.deepEqual(faults, [new Error('Disk full')]);
  await asked[1]?.settle('ended');
  assert.deepEqual(said, [
    ...['grant 0 c', 'ask 0 c'],
    ...['Cannot claim "c": worker 0 did not give it up', 'ask 0 c', 'grant 2 c'],
  ]);
  assert.equal(registry.busy, 0);
});

test('a claim waits for the successor of an owner that died with the order, and is tried again', async () => {
  const { registry, said, asked, faults, claim } = bench();
  registry.adopt(0, ['c']);
  claim(1, 'c');
  claim(2, 'c');
  let isSettled = false;
  const settled = registry.down(0).then(() => {
    isSettled = true;
  });
  await turn();
  assert(!isSettled, 'what the dead worker owned is not known while its order is open');
  assert.throws(() => [...registry.ownedBy(0)], /before its last order is settled/);
  await asked[0]?.settle(new Error('Worker 0 died'));
  await settled;
  assert.deepEqual([...registry.ownedBy(0)], ['c']);
  assert.deepEqual(said, ['ask 0 c']);
  registry.up(0, ['c']);
  await asked[1]?.settle('moved');
  assert.deepEqual(said, ['ask 0 c', 'ask 0 c', 'grant 1 c', 'ask 1 c']);
  assert.deepEqual(faults, []);
});

test('a claim for an id of a worker that is down waits, and gets it when the successor has no such session', async () => {
  const { registry, said, clock, claim } = bench();
  registry.adopt(0, ['kept', 'lost', 'other']);
  await registry.down(0);
  claim(1, 'lost');
  claim(2, 'lost');
  claim(2, 'new');
  assert.deepEqual(said, ['grant 2 new']);
  registry.up(0, ['kept']);
  assert.deepEqual(said, ['grant 2 new', 'grant 1 lost', 'ask 1 lost']);
  assert.equal(registry.ownerOf('kept'), 0);
  assert.equal(registry.ownerOf('other'), undefined);
  assert.equal(clock.timerCount, 0);
});

test('a claim for an id of a worker that stays down is refused after the deadline, each after its own', async () => {
  const { registry, said, clock, claim } = bench();
  registry.adopt(2, ['c']);
  await registry.down(2);
  claim(0, 'c');
  clock.advance(20_000);
  claim(1, 'c');
  clock.advance(9_999);
  assert.deepEqual(said, []);
  clock.advance(1);
  assert.deepEqual(said, ['Cannot claim "c": worker 2 is down']);
  clock.advance(19_999);
  assert.equal(said.length, 1);
  clock.advance(1);
  assert.equal(said.length, 2);
  assert.deepEqual([registry.busy, registry.waiting, clock.timerCount], [0, 0, 0]);
  assert.equal(registry.ownerOf('c'), 2);
});

test('a claim that waited long for a live owner has its whole patience for the dead one', async () => {
  const { registry, said, asked, clock, claim } = bench();
  registry.adopt(2, ['c']);
  claim(0, 'c');
  clock.advance(60_000);
  const settled = registry.down(2);
  await asked[0]?.settle(new Error('Worker 2 died'));
  await settled;
  clock.advance(29_999);
  assert.deepEqual(said, ['ask 2 c']);
  clock.advance(1);
  assert.deepEqual(said, ['ask 2 c', 'Cannot claim "c": worker 2 is down']);
});

test('the claims of a worker that dies are dropped, and never answered to its successor', async () => {
  const { registry, said, asked, claim } = bench();
  claim(0, 'c');
  claim(1, 'c');
  claim(2, 'c');
  claim(1, 'c');
  const settled = registry.down(2);
  assert.equal(registry.waiting, 2);
  registry.release(2, 'c');
  claim(2, 'c');
  await settled;
  registry.up(2, []);
  await asked[0]?.settle('moved');
  assert.deepEqual(said, ['grant 0 c', 'ask 0 c', 'grant 1 c', 'grant 1 c']);
  assert.deepEqual([registry.busy, registry.waiting], [0, 0]);
});

test('the next in line waits on when a claimant dies that waited for an owner that is down', async () => {
  const { registry, said, clock, claim } = bench();
  registry.adopt(0, ['c', 'd']);
  await registry.down(0);
  claim(1, 'c');
  claim(2, 'c');
  claim(1, 'd');
  await registry.down(1);
  assert.deepEqual([registry.busy, registry.waiting, clock.timerCount], [1, 1, 1]);
  registry.up(0, []);
  assert.deepEqual(said, ['grant 2 c']);
});

test('a session that ended for a claimant that died leaves the id to nobody, or to the next in line', async () => {
  const { registry, said, asked, claim } = bench();
  registry.adopt(0, ['c', 'd']);
  claim(1, 'c');
  claim(1, 'd');
  claim(2, 'd');
  const settled = registry.down(1);
  await asked[0]?.settle('ended');
  await asked[1]?.settle('ended');
  await settled;
  assert.equal(registry.ownerOf('c'), undefined);
  assert.deepEqual(said, ['ask 0 c', 'ask 0 d', 'grant 2 d']);
  assert.deepEqual([...registry.ownedBy(1)], []);
});

test('a session that moved to a claimant that died is for its successor, and the next in line waits for that', async () => {
  const { registry, said, asked, claim } = bench();
  registry.adopt(0, ['c']);
  claim(1, 'c');
  claim(2, 'c');
  const settled = registry.down(1);
  await asked[0]?.settle('moved');
  await settled;
  assert.deepEqual([...registry.ownedBy(1)], ['c']);
  assert.deepEqual(said, ['ask 0 c']);
  registry.up(1, ['c']);
  assert.deepEqual(said, ['ask 0 c', 'ask 1 c']);
  await asked[1]?.settle('moved');
  assert.equal(registry.ownerOf('c'), 2);
});

test('a session stays where it is when both its giver and the claimant die', async () => {
  const { registry, said, asked, faults, claim } = bench();
  registry.adopt(0, ['c']);
  claim(1, 'c');
  const settled = Promise.all([registry.down(0), registry.down(1)]);
  await asked[0]?.settle(new Error('Both died'));
  await settled;
  assert.deepEqual([...registry.ownedBy(0)], ['c']);
  assert.deepEqual([...registry.ownedBy(1)], []);
  assert.deepEqual([registry.busy, registry.waiting], [0, 0]);
  assert.deepEqual(said, ['ask 0 c']);
  assert.deepEqual(faults, []);
});

test('a giver that keeps the session because the claimant died is no fault', async () => {
  const { registry, asked, faults, claim } = bench();
  registry.adopt(0, ['c']);
  claim(1, 'c');
  const settled = registry.down(1);
  await asked[0]?.settle(new Error('The claimant died'));
  await settled;
  assert.equal(registry.ownerOf('c'), 0);
  assert.deepEqual(faults, []);
  assert.equal(registry.busy, 0);
});

test('a worker that dies twice before a successor is up is down once', async () => {
  const { registry, said, claim } = bench();
  registry.adopt(0, ['c']);
  await registry.down(0);
  claim(1, 'c');
  await registry.down(0);
  registry.up(0, []);
  assert.deepEqual(said, ['grant 1 c']);
});

test('a Registry refuses more claims than may wait, and goes on granting what waits for nobody', async () => {
  const { said, asked, claim } = bench({ claimsMax: 2 });
  claim(0, 'c');
  claim(1, 'c');
  claim(2, 'c');
  claim(3, 'c');
  claim(3, 'd');
  assert.deepEqual(said.slice(2), ['Cannot claim "c": 2 claims are waiting already', 'grant 3 d']);
  await asked[0]?.settle('ended');
  claim(3, 'c');
  assert.equal(said.length, 6, 'there is room again');
});

test('a worker may release in the breath in which it is granted', async () => {
  const asked = Promise.withResolvers<GivenUp>();
  const registry = new Registry({
    clock: new VirtualClock(),
    ask: () => asked.promise,
    onFault: assert.ifError,
  });
  registry.adopt(0, ['c']);
  const request = { clientId: 'c', cleanStart: false, provenUsername: undefined, mountpoint: '' };
  registry.claim(1, request, () => registry.release(1, 'c'));
  asked.resolve('ended');
  await turn();
  assert.deepEqual([registry.size, registry.busy], [0, 0]);
});

test('an ask that throws is a refusal to give up', async () => {
  const faults: unknown[] = [];
  const answers: unknown[] = [];
  const registry = new Registry({
    clock: new VirtualClock(),
    ask: () => {
      throw new Error('Port closed');
    },
    onFault: (error) => faults.push(error),
  });
  registry.adopt(0, ['c']);
  const request = { clientId: 'c', cleanStart: false, provenUsername: undefined, mountpoint: '' };
  registry.claim(1, request, (refusal) => answers.push(refusal?.message));
  await turn();
  assert.deepEqual(faults, [new Error('Port closed')]);
  assert.deepEqual(answers, ['Cannot claim "c": worker 0 did not give it up']);
  assert.equal(registry.busy, 0);
});

test('a Registry does not believe what cannot be', async () => {
  const { registry } = bench();
  registry.adopt(0, ['c']);
  assert.throws(() => registry.adopt(1, ['c']), /restored by one worker only/);
  assert.throws(() => registry.up(0, []), /was down/);
  await registry.down(1);
  assert.throws(() => registry.up(1, ['c']), /restores what its worker owned/);
});
