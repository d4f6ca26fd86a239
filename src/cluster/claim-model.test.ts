// Workers, clients that come and go, deaths and successors, against one registry, in any order of
// events: what holds at every instant, and what holds when all is quiet.

import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import test from 'node:test';
import { ClaimWorld } from './claim-fixture.ts';

const seed = Number(process.env['SEED'] ?? randomInt(2 ** 31));
const runs = 150;
const users = [undefined, 'ann', 'bob'];

test('one worker at most owns an id and holds its session, whatever crosses and whoever dies', async (t) => {
  t.diagnostic(`SEED=${seed}`);
  const seen = { deaths: 0, moves: 0 };
  for (let run = 0; run < runs; run += 1) {
    try {
      await live(seed + run, seen);
    } catch (error) {
      throw new Error(`SEED=${seed + run} fails as the first run`, { cause: error });
    }
  }
  assert(seen.deaths > runs / 4, 'workers die in this test');
  assert(seen.moves > runs, 'sessions move in this test');
});

test('of 1000 CONNECTs with one id at three workers exactly one is in at the end', async (t) => {
  t.diagnostic(`SEED=${seed}`);
  const world = new ClaimWorld(3, seed);
  // So that they come in as they came.
  world.pauseShare = 0;
  const last: number[] = [];
  for (let i = 0; i < 1000; i += 1) last[i % 3] = connect(world, i % 3, 'c', i % 2 === 0);
  await world.drain();
  checkQuiet(world, ['c']);
  const open = connections(world, 'c');
  assert.equal(open.length, 1);
  assert(last.includes(open[0] ?? 0), 'the last of a worker wins');
});

async function live(from: number, seen: { deaths: number; moves: number }): Promise<void> {
  const world = new ClaimWorld(2 + (from % 3), from);
  const idCount = 1 + world.below(4);
  const ids = Array.from({ length: idCount }, (_, i) => `client ${i}`);
  const idOf = (): string => ids[world.below(idCount)] ?? '';
  for (let step = 0; step < 250; step += 1) {
    const before = ids.map((id) => world.registry.ownerOf(id));
    await act(world, idOf(), seen);
    world.check();
    ids.forEach((id, i) => {
      const owner = world.registry.ownerOf(id);
      const isMove = owner !== undefined && before[i] !== undefined && owner !== before[i];
      if (isMove && world.store.has(id)) seen.moves += 1;
    });
  }
  await world.drain();
  checkQuiet(world, ids);
  await connectAtOnce(world, ids);
  await connectOnce(world, ids);
  assert.deepEqual(world.faults, []);
}

async function act(world: ClaimWorld, id: string, seen: { deaths: number }): Promise<void> {
  const living = world.living.filter(({ isOpen }) => isOpen);
  const worker = living[world.below(living.length)];
  const dice = world.random();
  if (worker === undefined || dice < 0.55) {
    await world.deliver();
  } else if (dice < 0.8) {
    connect(world, worker.index, id, world.random() < 0.3, users[world.below(8)]);
  } else if (dice < 0.9) {
    worker.leave(id);
  } else if (dice < 0.97) {
    for (const number of worker.attempts.keys()) {
      if (world.random() < 0.5) worker.abandon(number, world.random() < 0.5);
    }
  } else if (dice < 0.98) {
    world.clock.advance(20_000);
  } else if (dice < 0.99) {
    world.kill(worker);
    seen.deaths += 1;
  }
}

function connect(
  world: ClaimWorld,
  worker: number,
  clientId: string,
  cleanStart: boolean,
  provenUsername?: string,
): number {
  const isPersistent = world.random() < 0.7;
  const request = { clientId, cleanStart, provenUsername, mountpoint: '', isPersistent };
  return world.worker(worker).connect(request);
}

function connections(world: ClaimWorld, id: string): number[] {
  return world.living
    .map((worker) => worker.sessions.get(id)?.connection)
    .filter((connection) => connection !== undefined);
}

/** Everything has been said: nobody waits, all agree, and what is on disk has one holder. */
function checkQuiet(world: ClaimWorld, ids: readonly string[]): void {
  const { registry, living } = world;
  assert.equal(living.length, world.workers.length, 'every dead worker has a successor');
  assert.equal(registry.busy, 0);
  assert.equal(registry.waiting, 0);
  assert.equal(world.clock.timerCount, 0);
  let owned = 0;
  for (const worker of living) {
    assert.equal(worker.attempts.size, 0, `${worker.name} waits`);
    assert.equal(worker.claims.busy, 0);
    owned += worker.claims.size;
    for (const id of ids) {
      const isOwner = registry.ownerOf(id) === worker.index;
      assert.equal(worker.claims.owns(id), isOwner, `${worker.name} and the registry on ${id}`);
      assert.equal(worker.sessions.has(id), isOwner, `${worker.name} owns and holds ${id}`);
    }
  }
  assert.equal(registry.size, owned);
  for (const id of ids) {
    const holder = living.find((worker) => worker.sessions.has(id));
    assert.equal(holder?.sessions.get(id)?.isPersistent ?? false, world.store.has(id), id);
  }
}

async function connectAtOnce(world: ClaimWorld, ids: readonly string[]): Promise<void> {
  for (let i = 0; i < 20; i += 1) {
    const worker = world.below(world.workers.length);
    connect(world, worker, ids[i % ids.length] ?? '', i % 3 === 0);
  }
  await world.drain();
  checkQuiet(world, ids);
  for (const id of ids) assert.equal(connections(world, id).length, 1, id);
}

async function connectOnce(world: ClaimWorld, ids: readonly string[]): Promise<void> {
  for (const id of ids) {
    const worker = world.below(world.workers.length);
    const number = connect(world, worker, id, world.random() < 0.5);
    await world.drain();
    assert.deepEqual(connections(world, id), [number]);
    assert.equal(world.registry.ownerOf(id), worker);
  }
  checkQuiet(world, ids);
}
