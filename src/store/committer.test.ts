import assert from 'node:assert/strict';
import test from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { VirtualClock } from '#base/clock';
import { SlowEngine } from '#test/slow-engine';
import { Committer } from './committer.ts';
import { entriesOf, key } from './engine-fixture.ts';
import { Table } from './table.ts';

interface Bench {
  readonly committer: Committer;
  readonly engine: SlowEngine;
  readonly clock: VirtualClock;
  /** What `onTrouble` was told: a message, or `over`. */
  readonly troubles: string[];
  readonly faults: unknown[];
  readonly put: (name: string, value: string, isLasting?: boolean) => void;
  readonly stored: () => [string, string][];
}

function bench(): Bench {
  const engine = new SlowEngine();
  const clock = new VirtualClock();
  const troubles: string[] = [];
  const faults: unknown[] = [];
  const committer = new Committer(engine, {
    clock,
    onTrouble: (error) => troubles.push(error === undefined ? 'over' : (error as Error).message),
    onFault: (error) => faults.push(error),
  });
  return {
    committer,
    engine,
    clock,
    troubles,
    faults,
    put: (name, value, isLasting) =>
      void committer.open.put(Table.records, key(name), key(value), isLasting),
    stored: () => entriesOf(engine, Table.records),
  };
}

/** Whether a promise has been settled by now. */
async function isSettled(promise: Promise<void>): Promise<boolean> {
  let settled = false;
  const note = (): void => {
    settled = true;
  };
  promise.then(note, note);
  await turn();
  return settled;
}

/** Lets the next try after a failure happen, whatever its delay. */
async function retry({ clock }: Bench): Promise<void> {
  await turn();
  clock.advance(1000);
  await turn();
}

test('what is told in one turn is one commit, and is there when it is flushed', async () => {
  const { committer, engine, put, stored } = bench();
  put('a', '1');
  put('b', '1');
  put('a', '2');
  assert.deepEqual(stored(), []);
  await committer.flushed();
  assert.equal(engine.begun, 1);
  assert.deepEqual(stored(), [
    ['a', '2'],
    ['b', '1'],
  ]);
});

test('a flush waits for the disk, and what is told meanwhile is the next commit', async () => {
  const { committer, engine, put, stored } = bench();
  engine.hold();
  put('a', '1');
  const first = committer.flushed();
  const one = await engine.next();
  assert.equal(committer.flushed(), first, 'nothing was told since');
  put('b', '1');
  const second = committer.flushed();
  await turn();
  put('c', '1');
  assert.equal(committer.flushed(), second, 'neighbours wait together');
  assert.equal(engine.begun, 1, 'one at a time');
  assert.equal(await isSettled(first), false);
  one.resolve();
  await first;
  const two = await engine.next();
  assert.deepEqual(two.writes, ['put records', 'put records']);
  assert.equal(await isSettled(second), false);
  two.resolve();
  await second;
  assert.equal(stored().length, 3);
});

test('a journal to which nothing was told is flushed at once and writes nothing', async () => {
  const { committer, engine, clock } = bench();
  await committer.flushed();
  await turn();
  assert.equal(engine.begun, 0);
  assert.equal(clock.timerCount, 0);
});

test('those who want to know are told once, with the batch that was open', async () => {
  const { committer, engine, put } = bench();
  engine.hold();
  const told: string[] = [];
  put('a', '1');
  committer.onSettled((isFlushed) => told.push(`one ${isFlushed}`));
  const one = await engine.next();
  put('b', '1');
  committer.onSettled((isFlushed) => told.push(`two ${isFlushed}`));
  one.resolve();
  const two = await engine.next();
  assert.deepEqual(told, ['one true']);
  two.reject();
  await turn();
  assert.deepEqual(told, ['one true', 'two false']);
});

test('one who throws when told of a flush takes it from nobody else', async () => {
  const { committer, faults, put } = bench();
  let told = 0;
  put('a', '1');
  committer.onSettled(() => {
    throw new Error('careless');
  });
  committer.onSettled(() => told++);
  await committer.flushed();
  assert.equal(told, 1);
  assert.deepEqual(
    faults.map((fault) => (fault as Error).message),
    ['careless'],
  );
  put('b', '1');
  await committer.flushed();
});

test('who is told of a flush may tell more, which is flushed next', async () => {
  const { committer, put, stored } = bench();
  put('a', '1');
  committer.onSettled(() => put('b', '1'));
  await committer.flushed();
  await committer.flushed();
  assert.equal(stored().length, 2);
});

test('a batch that fails is refused to those who wait; only what lasts goes ahead of the next', async () => {
  const tried = bench();
  const { committer, engine, put, stored } = tried;
  engine.hold();
  put('brief', '1');
  put('lasting', '1', true);
  committer.open.remove(Table.records, key('gone'), true);
  committer.open.refer(Table.bodies, key('body'), -1, true);
  committer.open.refer(Table.bodies, key('body'), 1);
  const first = committer.flushed();
  const one = await engine.next();
  put('lasting', '2');
  const second = committer.flushed();
  one.reject(new Error('the disk is full'));
  await assert.rejects(first, /the disk is full/);
  assert.equal(await isSettled(second), false, 'the next batch is a try of its own');
  await retry(tried);
  const two = await engine.next();
  assert.deepEqual(two.writes, ['put records', 'remove records', 'refer bodies']);
  two.resolve();
  const three = await engine.next();
  assert.deepEqual(three.writes, ['put records']);
  three.resolve();
  await second;
  assert.deepEqual(stored(), [['lasting', '2']]);
});

test('what lasts is tried until it is there, and whoever asks for a flush waits for that', async () => {
  const tried = bench();
  const { committer, engine, put, stored } = tried;
  engine.fail();
  put('a', '1', true);
  const first = committer.flushed();
  await assert.rejects(first);
  for (let i = 0; i < 3; i++) {
    const flushed = committer.flushed();
    await retry(tried);
    await assert.rejects(flushed);
  }
  assert.equal(committer.isFlushed(1), false);
  const last = committer.flushed();
  engine.pass();
  await retry(tried);
  await last;
  assert.deepEqual(stored(), [['a', '1']]);
  assert.equal(committer.isFlushed(1), true);
});

test('what is owed is the last write of each key, however often it failed', async () => {
  const tried = bench();
  const { committer, engine, put, stored } = tried;
  engine.fail();
  for (let i = 0; i < 50; i++) {
    put('a', `${i} ${'x'.repeat(1000)}`, true);
    put('b', `${i}`, true);
    committer.open.remove(Table.records, key('b'), true);
    committer.open.refer(Table.bodies, key('body'), i % 2 === 0 ? 3 : -3, true);
    await Promise.all([committer.flushed().catch(() => {}), retry(tried)]);
  }
  assert.ok(committer.pendingBytes < 1500, `${committer.pendingBytes} bytes are kept`);
  engine.hold();
  await retry(tried);
  const owed = await engine.next();
  assert.deepEqual(owed.writes, ['put records', 'remove records']);
  engine.pass();
  await committer.flushed();
  assert.deepEqual(stored(), [['a', `49 ${'x'.repeat(1000)}`]]);
});

test('what is owed is written although the disk does not take what is new', async () => {
  const tried = bench();
  const { committer, engine, troubles, put, stored } = tried;
  engine.fail();
  put('lasting', '1', true);
  await committer.flushed().catch(() => {});
  put('brief', '1');
  const flushed = committer.flushed();
  engine.hold();
  await retry(tried);
  (await engine.next()).resolve();
  (await engine.next()).reject();
  await assert.rejects(flushed);
  assert.deepEqual(stored(), [['lasting', '1']]);
  assert.equal(troubles.length, 1);
});

test('whoever waits for lasting writes alone does not wait for the others, nor for ever', async () => {
  const tried = bench();
  const { committer, engine, put } = tried;
  await committer.lastingFlushed();
  engine.hold();
  put('a', '1', true);
  const first = committer.lastingFlushed();
  const one = await engine.next();
  const second = committer.lastingFlushed();
  put('b', '1', true);
  put('c', '1');
  const third = committer.lastingFlushed();
  one.reject();
  await retry(tried);
  assert.deepEqual(await Promise.all([first, second, third].map(isSettled)), [false, false, false]);
  const owed = await engine.next();
  owed.resolve();
  await first;
  await second;
  assert.equal(await isSettled(third), false);
  (await engine.next()).reject();
  await retry(tried);
  (await engine.next()).resolve();
  await third;
  // Nothing lasting among them: there is nothing to wait for but the end of the try.
  put('d', '1');
  const last = committer.lastingFlushed();
  (await engine.next()).reject();
  await retry(tried);
  (await engine.next()).reject();
  await last;
});

test('lasting writes do not end trouble: what could be refused has to be taken', async () => {
  const tried = bench();
  const { committer, engine, troubles, put } = tried;
  engine.fail();
  put('a', '1');
  await committer.flushed().catch(() => {});
  engine.hold();
  await retry(tried);
  const probe = await engine.next();
  assert.deepEqual(probe.writes, ['put meta']);
  put('b', '1', true);
  probe.reject();
  await retry(tried);
  (await engine.next()).reject();
  await retry(tried);
  const lasting = await engine.next();
  assert.deepEqual(lasting.writes, ['put records']);
  lasting.resolve();
  (await engine.next()).reject();
  await retry(tried);
  assert.equal(troubles.length, 1);
  (await engine.next()).resolve();
  await committer.flushed();
  assert.equal(troubles.at(-1), 'over');
});

test('tries after a failure come at longer and longer intervals, up to a second', async () => {
  const { engine, clock, put } = bench();
  engine.fail();
  put('a', '1', true);
  await engine.until(1);
  const waits: number[] = [];
  for (let i = 2; i < 9; i++) {
    await turn();
    let waitedMs = 0;
    for (; engine.begun < i; waitedMs += 10) clock.advance(10);
    waits.push(waitedMs);
  }
  assert.deepEqual(waits, [50, 100, 200, 400, 800, 1000, 1000]);
});

test('after a success the first failure is tried again soon', async () => {
  const tried = bench();
  const { committer, engine, clock, put } = tried;
  engine.fail();
  put('a', '1', true);
  await engine.until(1);
  await retry(tried);
  await retry(tried);
  engine.pass();
  await retry(tried);
  await committer.flushed();
  engine.fail();
  put('b', '1');
  await committer.flushed().catch(() => {});
  const before = engine.begun;
  await turn();
  clock.advance(50);
  assert.equal(engine.begun, before + 1);
});

test('trouble is told once when it begins and once when it is over', async () => {
  const tried = bench();
  const { committer, engine, troubles, put } = tried;
  put('a', '1');
  await committer.flushed();
  assert.deepEqual(troubles, []);
  for (let episode = 1; episode <= 2; episode++) {
    engine.fail();
    put('b', '1');
    await committer.flushed().catch(() => {});
    await retry(tried);
    await retry(tried);
    assert.equal(troubles.length, 2 * episode - 1);
    engine.pass();
    await retry(tried);
    await committer.flushed();
    put('c', '1');
    await committer.flushed();
    assert.equal(troubles.length, 2 * episode);
  }
  assert.deepEqual(troubles, [
    'Cannot write: the disk is full',
    'over',
    'Cannot write: the disk is full',
    'over',
  ]);
});

test('the end of trouble is found out although nobody writes anything', async () => {
  const tried = bench();
  const { committer, engine, troubles, put, stored } = tried;
  engine.fail();
  put('a', '1');
  await committer.flushed().catch(() => {});
  engine.pass();
  await retry(tried);
  assert.deepEqual(troubles.at(-1), 'over');
  assert.deepEqual(stored(), []);
});

test('writes are kept apart although batches share their memory', async () => {
  const { committer, put, stored } = bench();
  const expected: [string, string][] = [];
  for (let round = 0; round < 5; round++) {
    for (let i = 0; i < 5 - round; i++) {
      const name = `${round}-${i}`;
      expected.push([name, `value of ${name}`]);
      put(name, `value of ${name}`);
    }
    await committer.flushed();
  }
  assert.deepEqual(stored(), expected);
});

test('a write of the open batch is taken back, also behind writes that are owed', async () => {
  const tried = bench();
  const { committer, engine, put, stored } = tried;
  engine.fail();
  put('owed', '1', true);
  await committer.flushed().catch(() => {});
  engine.pass();
  const { open } = committer;
  open.put(Table.records, key('a'), key('1'));
  open.cancel(open.size - 1);
  open.put(Table.records, key('b'), key('1'));
  const flushed = committer.flushed();
  await retry(tried);
  await flushed;
  assert.deepEqual(stored(), [
    ['b', '1'],
    ['owed', '1'],
  ]);
});

test('bytes that are told count until they are flushed or refused', async () => {
  const tried = bench();
  const { committer, engine, put } = tried;
  engine.hold();
  assert.equal(committer.pendingBytes, 0);
  put('a', 'x'.repeat(1000));
  const told = committer.pendingBytes;
  assert.ok(told > 1000);
  const one = await engine.next();
  assert.equal(committer.pendingBytes, told);
  put('b', 'x'.repeat(1000));
  assert.equal(committer.pendingBytes, 2 * told);
  one.resolve();
  const two = await engine.next();
  assert.equal(committer.pendingBytes, told);
  two.reject();
  await turn();
  assert.ok(committer.pendingBytes < 100, 'but for the probe');
});

test('closing writes what is left, also behind a commit that is under way', async () => {
  const { committer, engine, put, stored } = bench();
  engine.hold();
  put('a', '1');
  const one = await engine.next();
  put('b', '1');
  const closing = committer.close();
  one.resolve();
  (await engine.next()).resolve();
  await closing;
  assert.equal(stored().length, 2);
});

test('closing does not wait for ever for a disk that fails', async () => {
  const tried = bench();
  const { committer, engine, put } = tried;
  engine.fail();
  put('a', '1', true);
  await committer.flushed().catch(() => {});
  const closing = committer.close();
  await retry(tried);
  await closing;
  const { begun } = engine;
  await retry(tried);
  assert.equal(engine.begun, begun, 'and nothing is tried afterwards');
});
